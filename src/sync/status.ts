import type { Schemas } from '../contract/schemas.ts'
import type { Database } from '../db/database.ts'
import { findDevice, summarizeDevices } from '../db/devices.ts'
import { countChanges } from '../db/records.ts'
import { countRejections } from '../db/rejections.ts'
import { findCounters } from '../db/users.ts'

/** `pending_changes` is counted up to this, which means this many or more. */
const maxPending = 10_000

/** The status of a device or, without one, of all of the user's devices together. */
export async function readStatus(
  { database }: { database: Pick<Database, 'db'> },
  userId: string,
  deviceId: string | undefined,
): Promise<Schemas['SyncStatus']> {
  const { db } = database
  const device = deviceId === undefined ? await summarizeDevices(db, userId) : await findDevice(db, userId, deviceId)
  const { live_bookmarks } = await findCounters(db, userId)
  return {
    user_id: userId,
    last_sync: device?.last_sync ?? 0,
    pending_changes: await countChanges(db, userId, device?.cursor ?? 0, deviceId ?? '', maxPending),
    conflict_count: await countRejections(db, userId),
    total_bookmarks: live_bookmarks,
  }
}
