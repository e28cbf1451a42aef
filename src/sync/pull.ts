import type { Schemas } from '../contract/schemas.ts'
import { listChangePage } from '../db/changes.ts'
import type { Database } from '../db/database.ts'
import { findDevice, saveCursor } from '../db/devices.ts'
import { hasPulledWinner, settleDevice } from '../db/rejections.ts'
import type { Row } from '../db/rows.ts'
import { findCounters, lockUser } from '../db/users.ts'
import { type Device, unknownDevice } from './device.ts'
import { toSyncEvent } from './event.ts'

const maxBytes = 8 * 1024 * 1024
const cursorAgeMs = 60_000

export interface PullParts {
  database: Pick<Database, 'db' | 'write'>
  clock: () => number
  metrics: { countPull(changes: number): void }
}

/** The changes after `since` in order of sequence numbers, at most `limit` and about 8 MiB of them. */
export async function pull(
  parts: PullParts,
  device: Device,
  since: number,
  limit: number,
): Promise<Schemas['PullResponse']> {
  // Read before the changes: what is written in between has a greater sequence number, and is not skipped.
  const { last_stamp } = await findCounters(parts.database.db, device.userId)
  const { rows, hasMore } = await readPage(parts, device.userId, since, limit)
  const cursor = rows.at(-1)?.stamp ?? last_stamp
  if (device.deviceId !== unknownDevice) await keepCursor(parts, device, cursor)
  parts.metrics.countPull(rows.length)
  return { changes: rows.map(toSyncEvent), last_sync_timestamp: cursor, has_more: hasMore }
}

async function readPage(
  { database }: PullParts,
  userId: string,
  since: number,
  limit: number,
): Promise<{ rows: Row[]; hasMore: boolean }> {
  const rows = await listChangePage(database.db, userId, since, { rows: limit + 1, bytes: maxBytes })
  const bytes = rows.reduce((sum, { encrypted_data }) => sum + (encrypted_data?.length ?? 0), 0)
  return { rows: rows.slice(0, limit), hasMore: rows.length > limit || bytes >= maxBytes }
}

/** Writes only if the cursor has moved or `last_sync` is stale: most pulls find nothing new, and should not write. */
async function keepCursor({ database, clock }: PullParts, { userId, deviceId }: Device, cursor: number): Promise<void> {
  const now = clock()
  const known = await findDevice(database.db, userId, deviceId)
  const settles = await hasPulledWinner(database.db, userId, deviceId, cursor)
  const fresh = known !== undefined && known.cursor === cursor && Math.abs(now - known.last_sync) < cursorAgeMs
  if (fresh && !settles) return
  await database.write(async (trx) => {
    // A push writes the same rows under the user's lock; without it, the two could lock in opposite orders.
    if (!known || settles) await lockUser(trx, userId)
    if (settles) await settleDevice(trx, userId, deviceId, cursor)
    await saveCursor(trx, { user_id: userId, device_id: deviceId, cursor, last_sync: now })
  }, userId)
}
