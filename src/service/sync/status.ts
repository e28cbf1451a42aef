import type { Schemas } from '../contract/schemas.ts'
import type { Database } from '../db/engine/database.ts'
import { countChanges } from '../db/tables/changes.ts'
import { countConflicts } from '../db/tables/conflicts.ts'
import { findDevice, summarizeDevices } from '../db/tables/devices.ts'
import { allTypes, typeList } from '../db/tables/records.ts'
import { findCounters } from '../db/tables/users.ts'
import { digestOfTypes } from './digest.ts'

type EntityType = Schemas['EntityType']

/** `pending_changes` and `conflict_count` are counted up to this number, which means this many or more. */
const maxCount = 10_000

/** The status of a device or of all the user's devices together. `types` limits its pending changes and digest. */
export async function readStatus(
  { database }: { database: Pick<Database, 'db'> },
  userId: string,
  deviceId: string | undefined,
  types: EntityType[] | undefined,
): Promise<Schemas['SyncStatus']> {
  const { db } = database
  const device =
    deviceId === undefined ? await summarizeDevices(db, userId) : await findDevice(db, { userId, deviceId })
  const user = await findCounters(db, userId)
  const { live_bookmarks, last_sequence, epoch } = user
  const cursor = device?.cursor ?? 0
  const typesCounted = types ? typeList(types) : allTypes
  return {
    user_id: userId,
    last_sync: device?.last_sync ?? 0,
    pending_changes:
      cursor < last_sequence ? await countChanges(db, userId, cursor, deviceId ?? '', typesCounted, maxCount) : 0,
    conflict_count: await countConflicts(db, userId, maxCount),
    total_bookmarks: live_bookmarks,
    epoch,
    digest: types ? digestOfTypes(user, types) : user.digest,
  }
}
