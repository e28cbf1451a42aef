import type { Keys } from '../../crypto/keys.ts'
import { encryptBookmark } from '../../crypto/record.ts'
import type { Clock } from '../../timing/clock.ts'
import type { Draft } from '../store/draft.ts'
import type { Replica } from '../store/replica.ts'
import { latestTimestamp } from '../store/row.ts'
import { correctedNow, isAhead, nextTick } from '../store/service-clock.ts'
import type { Refusal, Row, Waiting } from '../store/store.ts'
import { demandNewest, keysOf } from './key-marks.ts'

const mostChanges = 500
/** Many times as much as one change may have. */
const mostBytes = 4 * 1024 * 1024
/** The approximate size of a change without its ciphertext. */
const overheadBytes = 600

interface BatchParts {
  replica: Replica
  userId: string
  keys: Keys
  clock: Clock
}

/** The next changes to push, one of each bookmark. */
export function nextBatch({ replica, userId }: BatchParts): Waiting[] {
  const batch: Waiting[] = []
  let bytes = 0
  for (const id of replica.waiting) {
    const next = nextOf(replica.rows.get(id))
    if (next?.change.user_id !== userId) continue
    bytes += overheadBytes + (next.change.encrypted_data?.length ?? 0)
    if (batch.length === mostChanges || bytes > mostBytes) break
    batch.push(next)
  }
  return batch
}

/**
 * Marks the changes of these bookmarks as sent before they are, because from then on the service may have them. Each is
 * returned as it was before, so its `sent` tells whether the service may have had it earlier.
 *
 * @throws RecordError `unknown-key`: another tab has newer keys
 */
export async function markSent(parts: BatchParts, ids: readonly string[]): Promise<Waiting[]> {
  if (ids.length === 0) return []
  const { replica, userId, keys, clock } = parts
  return replica.commit(ids, 'remote', (draft) => {
    demandNewest(draft.meta, keys)
    return ids.flatMap((id) => {
      const row = draft.get(id)
      const next = nextOf(row)
      if (next?.change.user_id !== userId) return []
      const place = row.waiting.indexOf(next)
      // It takes the place of the refused ones before it, of which the service may have one nevertheless.
      const sent = row.waiting.slice(0, place + 1).some((one) => one.sent)
      const before = next.sent ? next : { ...next, sent, change: restamped(draft, row, underNewest(keys, next), clock) }
      if (place > 0 || !next.sent) {
        draft.set({ ...row, waiting: [{ ...before, sent: true }, ...row.waiting.slice(place + 1)] })
      }
      return before
    })
  })
}

/** The change, which was never sent, under the newest keys if they were rotated since it was made. */
function underNewest(keys: Keys, { change, bookmark }: Waiting): Waiting['change'] {
  const isOld = bookmark && keysOf(keys.older, change.encrypted_data?.slice(0, 12))
  return isOld ? { ...change, ...encryptBookmark(keys, bookmark) } : change
}

/** The change, which was never sent, as made now if it was made while this device's clock was far ahead. */
function restamped(draft: Draft, row: Row, change: Waiting['change'], clock: Clock): Waiting['change'] {
  if (!isAhead(change.timestamp, correctedNow(clock, draft.meta))) return change
  const earlier = row.waiting.map((one) => one.change).filter(({ id }) => id !== change.id)
  const tick = nextTick(clock, draft.meta)
  draft.setMeta({ lastTick: tick })
  return { ...change, timestamp: Math.max(tick, latestTimestamp(row, earlier) + 1) }
}

/**
 * Unmarks changes that the service refused, except those that had been sent earlier. With a `refusal`, they are not sent
 * again by themselves; `error` reports it. Returns how many were found.
 */
export async function returnBatch(
  replica: Replica,
  batch: readonly Waiting[],
  refusal?: Refusal,
  error?: Error,
): Promise<number> {
  if (batch.length === 0) return 0
  return replica.commit(idsOf(batch), 'remote', (draft) => {
    let found = 0
    for (const waiting of batch) {
      const row = draft.get(waiting.change.entity_id)
      const place = row.waiting.findIndex(({ change }) => change.id === waiting.change.id)
      if (place === -1) continue
      found++
      const behind = row.waiting.slice(place + 1)
      const returned = refusal ? { ...waiting, refusal } : waiting
      // An edit made in the meantime replaces it.
      draft.set({ ...row, waiting: behind.length > 0 && !waiting.sent ? behind : [returned, ...behind] })
      if (error && behind.length === 0) draft.errors.push({ error, id: row.id })
    }
    return found
  })
}

export function idsOf(batch: readonly Waiting[]): string[] {
  return batch.map(({ change }) => change.entity_id)
}

/** Refused changes are not sent again, but an edit made after them is. */
function nextOf(row: Row | undefined): Waiting | undefined {
  return row?.waiting.find(({ refusal }) => refusal === undefined)
}
