import { demandLogin } from '../auth/sessions.ts'
import type { Schemas } from '../contract/schemas.ts'
import type { Database, Db } from '../db/engine/database.ts'
import { type Answer, onceAnswered } from '../db/engine/query.ts'
import { listChangePage, partLimits } from '../db/tables/changes.ts'
import { bytesOf } from '../db/tables/ciphertexts.ts'
import { type End, type Progress, readEnd, readProgress, saveSync } from '../db/tables/devices.ts'
import { lockUser } from '../db/tables/users.ts'
import { type Caller, unknownDevice } from './change.ts'
import { toSyncEvent } from './event.ts'
import { continueFrom } from './numbers.ts'

const maxBytes = 2 * 1024 * 1024
/** The first part is read again if the response finds no place, so it is only as long as it takes to know that one is needed. */
const firstBytes = 64 * 1024
const cursorAgeMs = 60_000

type PullResponse = Schemas['PullResponse']

export interface PullParts {
  database: Pick<Database, 'db' | 'write'>
  clock: () => number
  metrics: { countPull(changes: number): void }
}

/**
 * The changes after `since` in order of sequence numbers, at most `limit` and about 2 MiB of them, in parts. Each part is
 * a response of its own up to there, and the last one is returned. Then `finish` stores the device's cursor. If there are no
 * changes, which is what most pulls find, the response needs no parts.
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

type Pulled = ({ body: PullResponse } | { parts: AsyncGenerator<PullResponse, PullResponse> }) & {
  finish(): Answer<void>
}

function pullUpTo(
  parts: PullParts,
  caller: Caller,
  { since, limit }: { since: number; limit: number },
  end: End,
  progress?: Progress,
): Pulled {
  const from = continueFrom(since, end.last_sequence)
  const range = { ...end, cursor: from, left: limit }
  const finish = () =>
    onceAnswered(progress && keepCursor(parts, caller, progress, range.cursor), () =>
      parts.metrics.countPull(limit - range.left),
    )
  if (from < end.last_sequence) return { parts: readParts(parts.database.db, caller.userId, range), finish }
  return { body: { changes: [], last_sync_timestamp: from, has_more: false, epoch: end.epoch }, finish }
}

interface Range extends End {
  /** Up to here, changes have been read. */
  cursor: number
  /** Changes that may still be read. */
  left: number
}

/** Keeps in the range how far it has come. */
async function* readParts(db: Db, userId: string, range: Range): AsyncGenerator<PullResponse, PullResponse> {
  const { last_sequence, epoch, left: limit } = range
  let bytesLeft = maxBytes
  for (;;) {
    const { cursor, left } = range
    const bytes = left === limit ? firstBytes : partLimits.bytes
    const limits = { rows: Math.min(left + 1, partLimits.rows), bytes: Math.min(bytesLeft, bytes) }
    const isBehind = cursor < last_sequence
    const rows = isBehind ? await listChangePage(db, userId, cursor, limits, last_sequence) : []
    const bytesRead = bytesOf(rows)
    const sent = rows.slice(0, left)
    range.cursor = sent.at(-1)?.sequence ?? cursor
    range.left -= sent.length
    bytesLeft -= bytesRead
    const has_more = rows.length > sent.length || bytesLeft <= 0
    const isPart = !has_more && (rows.length === limits.rows || bytesRead >= limits.bytes)
    if (!isPart && range.left === limit) range.cursor = last_sequence
    const part = {
      changes: sent.map(toSyncEvent),
      last_sync_timestamp: range.cursor,
      has_more: isPart || has_more,
      epoch,
    }
    if (!isPart) return part
    yield part
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
  if (isFresh) return undefined
  return database.write(async (trx) => {
    // A push writes the same rows under the user's lock; without it, the two could lock in opposite orders.
    if (!isKnown) await lockUser(trx, userId)
    await demandLogin(trx, { userId, loginId })
    await saveSync(trx, { user_id: userId, device_id: deviceId, last_sync: now }, cursor)
  }, userId)
}
