import { v7 as uuidv7 } from 'uuid'
import { type SealedEdit, sealAll } from '../edits/seal.ts'
import type { Emitter } from '../store/emitter.ts'
import { correctedNow } from '../store/service-clock.ts'
import type { Row, Version, Waiting } from '../store/store.ts'
import { nameOf, type TakeParts, takePage } from './take.ts'
import type { Transport } from './transport.ts'

export interface RestoreParts extends TakeParts {
  transport: Transport
  emitter: Pick<Emitter, 'emit'>
}

/**
 * Pulls everything from a service that was restored from a backup. What it has lost or has in an older version becomes a
 * pending change again, as the event that it was, so that devices which know it already see nothing new.
 */
export async function restore(parts: RestoreParts, signal: AbortSignal): Promise<void> {
  const { replica, keys, clock, emitter } = parts
  const before = replica.meta.cursor
  const { there, older, ...position } = await pullFromStart(parts, signal)
  // Up to here, everything that the service has is known; later changes come from devices that may not know ours.
  const base = Math.min(before, position.cursor)
  const isLost = ({ id, version }: Row) => version !== null && (!there.has(id) || older.has(id))
  const lost = [...replica.rows.values()].filter(isLost)
  const contents = lost.flatMap(({ version, waiting }) => (waiting.length > 0 ? [] : (version?.bookmark ?? [])))
  const sealed = new Map((await sealAll(keys, contents)).map((edit) => [edit.id, edit]))
  signal.throwIfAborted()
  const ids = [...new Set([...lost.map(({ id }) => id), ...replica.waiting])]
  const pushed = await replica.commit(ids, 'remote', (draft) => {
    const again: Row[] = []
    for (const id of ids) {
      const row = draft.get(id)
      // An edit on top of what the service has again was made by somebody who had seen it.
      const seen = (one: Waiting) => (isLost(row) || one.overwrites ? Math.min(one.change.base, base) : position.cursor)
      const waiting = row.waiting.map((one) => ({ ...one, change: { ...one.change, base: seen(one) } }))
      const edit = sealed.get(id)
      if (!isLost(row)) draft.set({ ...row, waiting })
      else if (waiting.length > 0) draft.set({ ...bare(row, older), waiting })
      else if (row.version && (edit || !row.version.bookmark)) {
        again.push(row)
        draft.set({ ...bare(row, older), waiting: [toWaiting(parts, id, row.version, edit, base)] })
      }
    }
    draft.setMeta({ ...position, lastSync: correctedNow(clock, draft.meta) })
    return again
  })
  const kept = pushed.filter(({ id, version }) => version?.bookmark && !older.has(id)).length
  if (pushed.length > 0) emitter.emit('restored', { kept, pushed: pushed.length })
}

async function pullFromStart(parts: RestoreParts, signal: AbortSignal) {
  const { transport, replica } = parts
  const there = new Set<string>()
  const older = new Map<string, Version>()
  let [cursor, pulled, witness] = [0, 0, '']
  for (let hasMore = true; hasMore; ) {
    const page = await transport.pull({ since: cursor }, { signal })
    signal.throwIfAborted()
    // The old cursor stays until all is there, so that after an interruption the restore is noticed again.
    const meta = { cursor: Math.max(replica.meta.cursor, page.last_sync_timestamp) }
    await takePage({ ...parts, older }, page.changes, 0, meta, signal)
    for (const { entity_type, entity_id } of page.changes) if (entity_type === 'bookmark') there.add(entity_id)
    cursor = page.last_sync_timestamp
    const last = page.changes.at(-1)
    if (last) [pulled, witness] = [cursor, nameOf(last)]
    hasMore = page.has_more
  }
  return { there, older, cursor, pulled, witness }
}

/** The row as the service has it. A delete that it has lost comes again from the device that made it. */
function bare(row: Row, older: ReadonlyMap<string, Version>): Row {
  const version = older.get(row.id)
  return {
    ...row,
    version: version?.bookmark || version?.operation === 'delete' ? version : null,
    held: null,
    unreadable: null,
  }
}

function toWaiting(
  { userId, deviceId }: TakeParts,
  id: string,
  { event_id, timestamp, device_id, operation, data_hash, bookmark }: Version,
  edit: SealedEdit | undefined,
  base: number,
): Waiting {
  const change = {
    id: event_id,
    user_id: userId,
    entity_type: 'bookmark' as const,
    entity_id: id,
    timestamp,
    device_id,
    operation,
    base,
  }
  if (!edit) return { change, bookmark: null, sent: false }
  // Another client may write the same bookmark in other bytes: then it cannot be the same event.
  const own = edit.sealed.data_hash === data_hash ? {} : { id: uuidv7(), timestamp: timestamp + 1, device_id: deviceId }
  return { change: { ...change, ...edit.sealed, ...own }, bookmark, sent: false }
}
