import { uuidv7 } from '../../uuid.ts'
import { type SealedEdit, sealAll } from '../edits/seal.ts'
import type { Emitter } from '../store/emitter.ts'
import { correctedNow } from '../store/service-clock.ts'
import type { Row, Version, Waiting } from '../store/store.ts'
import { certainlyDescends, type TakeParts, takePage } from './take.ts'
import type { PullResponse, Transport } from './transport.ts'

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
  const { there, older, cursor, epoch } = await pullFromStart(parts, signal)
  // Up to here, everything that the service has is known; later changes come from devices that may not know ours.
  const base = Math.min(before, cursor)
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
      if (!isLost(row)) {
        draft.set({
          ...row,
          waiting: row.waiting.map((one) => rebased(one, one.overwrites ? Math.min(one.change.base, base) : cursor)),
        })
        continue
      }
      const version = row.version as Version
      const seen = Math.min(base, seenBy(version, older.get(id)))
      const state = seen < base ? { overwrites: true } : {}
      const edit = sealed.get(id)
      if (row.waiting.length > 0) {
        const waiting = row.waiting.map((one) => ({ ...rebased(one, Math.min(one.change.base, seen)), ...state }))
        draft.set({ ...bare(row, older), waiting: waiting.map(asSent) })
      } else if (edit || !version.bookmark) {
        again.push(row)
        draft.set({
          ...bare(row, older),
          waiting: [asSent({ ...toWaiting(parts, id, version, edit, seen), ...state })],
        })
      }
    }
    draft.setMeta({ cursor, epoch, isIncomplete: false, lastSync: correctedNow(clock, draft.meta) })
    return again
  })
  const kept = pushed.filter(({ id, version }) => version?.bookmark && !older.has(id)).length
  if (pushed.length > 0) emitter.emit('restored', { kept, pushed: pushed.length })
}

async function pullFromStart(parts: RestoreParts, signal: AbortSignal) {
  const { transport, replica } = parts
  const there = new Set<string>()
  const older = new Map<string, Version>()
  let page: PullResponse | undefined
  while (!page || page.has_more) {
    const { last_sync_timestamp: since, epoch } = page ?? { last_sync_timestamp: 0 }
    page = await transport.pull({ since }, { signal })
    signal.throwIfAborted()
    // Restored once more meanwhile.
    if (page.epoch !== (epoch ?? page.epoch)) return pullFromStart(parts, signal)
    // The old cursor and epoch stay until all is there, so that after an interruption the restore is noticed again.
    await takePage({ ...parts, older }, page.changes, 0, { cursor: replica.meta.cursor }, signal)
    for (const { entity_type, entity_id } of page.changes) if (entity_type === 'bookmark') there.add(entity_id)
  }
  return { there, older, cursor: page.last_sync_timestamp, epoch: page.epoch }
}

/**
 * Up to where the maker of a version that the service has lost had seen its changes, judging by what it has instead: what
 * was replaced unseen, its device is to be told of.
 */
function seenBy(version: Version, instead: Version | undefined): number {
  if (version.base !== undefined) return version.base
  return instead && !certainlyDescends(version, instead) ? 0 : Number.POSITIVE_INFINITY
}

function rebased(waiting: Waiting, base: number): Waiting {
  return { ...waiting, change: { ...waiting.change, base } }
}

/** Other devices may know what is lost: so nothing of it is taken back unsent, or is to get another timestamp. */
function asSent(waiting: Waiting): Waiting {
  return { ...waiting, sent: true }
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
