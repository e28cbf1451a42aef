import type { PlaintextBookmark } from '../../bookmark.ts'
import { paced } from '../../timing/paced.ts'
import type { Replica } from '../store/replica.ts'
import { isQuarantined } from '../store/row.ts'
import type { Refusal, Row, Waiting } from '../store/store.ts'

/** An edit that the service refused. */
export interface Quarantined extends Refusal {
  id: string
  /** The bookmark as it was put here, or null if it was deleted here. */
  bookmark: PlaintextBookmark | null
}

export function listRefused({ quarantined, rows }: Replica): Quarantined[] {
  return [...quarantined].flatMap((id) => {
    const last = rows.get(id)?.waiting.at(-1)
    return last?.refusal ? { id, bookmark: last.bookmark, ...last.refusal } : []
  })
}

/** The user tries refused edits again. */
export async function retryRefused(parts: { replica: Replica }, ids?: readonly string[]): Promise<void> {
  await changeRefused(parts.replica, ids ?? [...parts.replica.quarantined], 'local', released)
}

/** Tries again what exceeded the quota, which may have room by now. */
export async function retryOverQuota({ replica }: { replica: Replica }): Promise<void> {
  const ids = listRefused(replica).flatMap(({ id, reason }) => (reason === 'quota' ? id : []))
  await changeRefused(replica, ids, 'remote', released)
}

/** The user gives refused edits up. */
export async function dropRefused(parts: { replica: Replica }, ids: readonly string[]): Promise<void> {
  await changeRefused(parts.replica, ids, 'local', (row) => ({ ...row, waiting: [] }))
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
  return { ...row, waiting: row.waiting.map(withoutRefusal) }
}

function withoutRefusal({ refusal: _, ...waiting }: Waiting): Waiting {
  return waiting
}
