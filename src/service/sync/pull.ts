import { continueFrom } from '../../protocol/sequence.ts'
import { demandLogin } from '../auth/sessions.ts'
import type { Schemas } from '../contract/schemas.ts'
import type { Database, Db } from '../db/engine/database.ts'
import { type Answer, onceAnswered } from '../db/engine/query.ts'
import { listChangePage, partLimits } from '../db/tables/changes.ts'
import { bytesOf } from '../db/tables/ciphertexts.ts'
import { removeRejectionsOf } from '../db/tables/conflicts.ts'
import { type End, type Progress, readEnd, readProgress, saveSync } from '../db/tables/devices.ts'
import { lockUser } from '../db/tables/users.ts'
import { type Caller, unknownDevice } from './change.ts'
import { toSyncEvent } from './event.ts'

const maxBytes = 8 * 1024 * 1024
const cursorAgeMs = 60_000

type PullResponse = Schemas['PullResponse']

export interface PullParts {
  database: Pick<Database, 'db' | 'write'>
  clock: () => number
  metrics: { countPull(changes: number): void }
}

/**
 * The changes after `since` in order of sequence numbers, at most `limit` and about 8 MiB of them, in parts. Each part is
 * a response of its own up to there; the last one is returned, once the device's cursor is stored. If there are none, which
 * is what most pulls find, the response needs no parts.
 */
export function pull(parts: PullParts, caller: Caller, since: number, limit: number): Answer<Pulled> {
  const { db } = parts.database
  const { userId, deviceId } = caller
  // Whatever is written from now on is left to the next pull: a change of an entity that was sent would come twice.
  if (deviceId === unknownDevice)
    return onceAnswered(readEnd(db, { userId }), (end) => pullUpTo(parts, caller, { since, limit }, end))
  return onceAnswered(readProgress(db, { userId, deviceId }), (progress) =>
    pullUpTo(parts, caller, { since, limit }, progress, progress),
  )
}

type Pulled = { body: PullResponse } | { parts: AsyncGenerator<PullResponse, PullResponse> }

function pullUpTo(
  parts: PullParts,
  caller: Caller,
  { since, limit }: { since: number; limit: number },
  end: End,
  progress?: Progress,
): Answer<Pulled> {
  const { db } = parts.database
  const { userId } = caller
  const finish = (sent: number, cursor: number) => {
    const count = () => parts.metrics.countPull(sent)
    const kept = progress && keepCursor(parts, caller, progress, cursor)
    return kept ? kept.then(count) : count()
  }
  const from = continueFrom(since, end.last_stamp)
  if (from < end.last_stamp) return { parts: readParts(db, userId, { ...end, from, limit, finish }) }
  const body = { changes: [], last_sync_timestamp: from, has_more: false, epoch: end.epoch }
  return onceAnswered(finish(0, from), () => ({ body }))
}

interface Range extends End {
  from: number
  limit: number
  finish(sent: number, cursor: number): Answer<void>
}

async function* readParts(
  db: Db,
  userId: string,
  { from, limit, last_stamp, epoch, finish }: Range,
): AsyncGenerator<PullResponse, PullResponse> {
  let [cursor, left, bytesLeft] = [from, limit, maxBytes]
  for (;;) {
    const limits = { rows: Math.min(left + 1, partLimits.rows), bytes: Math.min(bytesLeft, partLimits.bytes) }
    const isBehind = cursor < last_stamp
    const rows = isBehind ? await listChangePage(db, userId, cursor, limits, last_stamp) : []
    const bytes = bytesOf(rows)
    const sent = rows.slice(0, left)
    cursor = sent.at(-1)?.stamp ?? cursor
    left -= sent.length
    bytesLeft -= bytes
    const has_more = rows.length > sent.length || bytesLeft <= 0
    const isPart = !has_more && (rows.length === limits.rows || bytes >= limits.bytes)
    const changes = sent.map(toSyncEvent)
    if (isPart) {
      yield { changes, last_sync_timestamp: cursor, has_more: true, epoch }
      continue
    }
    if (left === limit) cursor = last_stamp
    await finish(limit - left, cursor)
    return { changes, last_sync_timestamp: cursor, has_more, epoch }
  }
}

/** Writes only if the cursor has moved or `last_sync` is stale: most pulls find nothing new, and should not write. */
function keepCursor(
  { database, clock }: PullParts,
  { userId, loginId, deviceId }: Caller,
  before: Progress,
  cursor: number,
): Promise<void> | undefined {
  const now = clock()
  const isKnown = before.last_sync !== null
  const isFresh = before.cursor === cursor && Math.abs(now - (before.last_sync ?? 0)) < cursorAgeMs
  const settles = before.first_rejecting !== null && before.first_rejecting <= cursor
  if (isFresh && !settles) return undefined
  return database.write(async (trx) => {
    // A push writes the same rows under the user's lock; without it, the two could lock in opposite orders.
    if (!isKnown || settles) await lockUser(trx, userId)
    await demandLogin(trx, { userId, loginId })
    if (settles) await removeRejectionsOf(trx, { userId, deviceId, cursor })
    await saveSync(trx, { user_id: userId, device_id: deviceId, last_sync: now }, cursor)
  }, userId)
}
