import { paced } from '../../timing/paced.ts'
import type { Engine } from '../engine.ts'
import { passageOf } from '../exchange/passage.ts'
import { type RecordName, rowKey } from '../store/key.ts'
import type { Replica } from '../store/replica.ts'
import { isQuarantined } from '../store/row.ts'
import type { Refusal, Row } from '../store/store.ts'
import { listRefused } from './quarantine.ts'

/** A bookmark's id, or the name of any record, such as an element of `quarantined`. */
export type Named = string | RecordName

/** Lets the next push send refused edits again, as the user asked. Default: all. */
export async function retryRefused(parts: Engine, names?: Named | readonly Named[]): Promise<void> {
  passageOf(parts).widen(true)
  await changeRefused(parts.replica, names ? keysOf(names) : [...parts.replica.quarantined], 'local', released)
}

function keysOf(names: Named | readonly Named[]): string[] {
  return [names].flat().map((name) => (typeof name === 'string' ? name : rowKey(name.id, name.entityType)))
}

/** Lets the next push send edits again that were refused for these reasons: the quota, for example, may suffice by now. */
export async function retryHeldBack({ replica }: Engine, reasons: readonly Refusal['reason'][]): Promise<void> {
  const refused = listRefused(replica).filter(({ reason }) => reasons.includes(reason))
  const ids = keysOf(refused)
  await changeRefused(replica, ids, 'remote', released)
}

/** Discards refused edits, as the user asked. */
export async function dropRefused(parts: Engine, names: Named | readonly Named[]): Promise<void> {
  await changeRefused(parts.replica, keysOf(names), 'local', (row) => ({ ...row, waiting: [] }))
}

async function changeRefused(
  replica: Replica,
  ids: readonly string[],
  origin: 'local' | 'remote',
  change: (row: Row) => Row,
): Promise<void> {
  if (ids.length === 0) return
  await replica.commit(ids, origin, (draft) =>
    paced(ids, (id) => {
      const row = draft.get(id)
      if (isQuarantined(row)) draft.set(change(row))
    }),
  )
}

function released(row: Row): Row {
  return { ...row, waiting: row.waiting.map(({ refusal: _, ...waiting }) => waiting) }
}
