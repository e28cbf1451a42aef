import { demandLogin } from '../auth/signed-in.ts'
import type { Schemas } from '../contract/schemas.ts'
import { listChangePage, partLimits } from '../db/changes.ts'
import type { Database } from '../db/database.ts'
import { saveCursor } from '../db/devices.ts'
import { type Progress, readProgress } from '../db/progress.ts'
import { settleDevice } from '../db/rejections.ts'
import { bytesOf } from '../db/rows.ts'
import { lockUser } from '../db/users.ts'
import { continueFrom } from '../protocol/cursor.ts'
import { type Device, unknownDevice } from './device.ts'
import { toSyncEvent } from './event.ts'

const maxBytes = 8 * 1024 * 1024
const cursorAgeMs = 60_000

export interface PullParts {
  database: Pick<Database, 'db' | 'write'>
  clock: () => number
  metrics: { countPull(changes: number): void }
}

/**
 * The changes after `since` in order of sequence numbers, at most `limit` and about 8 MiB of them, in parts. Each part is
 * a response of its own up to there; the last one is returned, once the device's cursor is stored.
 */
export async function* pull(
  parts: PullParts,
  device: Device,
  since: number,
  limit: number,
): AsyncGenerator<Schemas['PullResponse'], Schemas['PullResponse']> {
  const { database } = parts
  // What is written from now on is left to the next pull: a change of an entity that was sent would come twice.
  const progress = await readProgress(database.db, device.userId, device.deviceId)
  const { last_stamp, epoch } = progress
  let [cursor, left, bytesLeft] = [continueFrom(since, last_stamp), limit, maxBytes]
  for (;;) {
    const limits = { rows: Math.min(left + 1, partLimits.rows), bytes: Math.min(bytesLeft, partLimits.bytes) }
    const isBehind = cursor < last_stamp
    const rows = isBehind ? await listChangePage(database.db, device.userId, cursor, limits, last_stamp) : []
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
    if (device.deviceId !== unknownDevice) await keepCursor(parts, device, progress, cursor)
    parts.metrics.countPull(limit - left)
    return { changes, last_sync_timestamp: cursor, has_more, epoch }
  }
}

/** Writes only if the cursor has moved or `last_sync` is stale: most pulls find nothing new, and should not write. */
async function keepCursor(
  { database, clock }: PullParts,
  { userId, loginId, deviceId }: Device,
  before: Progress,
  cursor: number,
): Promise<void> {
  const now = clock()
  const isKnown = before.last_sync !== null
  const isFresh = before.cursor === cursor && Math.abs(now - (before.last_sync ?? 0)) < cursorAgeMs
  // A device that has pulled the winner over its change knows that it lost.
  const settles = before.first_winner !== null && before.first_winner <= cursor
  if (isFresh && !settles) return
  await database.write(async (trx) => {
    // A push writes the same rows under the user's lock; without it, the two could lock in opposite orders.
    if (!isKnown || settles) await lockUser(trx, userId)
    await demandLogin(trx, loginId)
    if (settles) await settleDevice(trx, userId, deviceId, cursor)
    await saveCursor(trx, { user_id: userId, device_id: deviceId, cursor, last_sync: now })
  }, userId)
}
