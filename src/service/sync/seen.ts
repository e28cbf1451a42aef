import { continueFrom } from '../../protocol/cursor.ts'
import type { MadeBy, SeenUpTo } from '../../protocol/decide.ts'
import type { Trx } from '../db/engine/database.ts'
import { findCursors } from '../db/tables/devices.ts'
import type { Stored } from '../db/tables/records.ts'
import type { LockedUser } from '../db/tables/users.ts'
import { unknownDevice } from './device.ts'

/** Reads the cursors of the devices that replace another device's version without saying what they had seen. */
export async function readSeen<Change extends MadeBy>(
  trx: Trx,
  user: LockedUser,
  entities: Change[][],
  stored: (Stored | undefined)[],
): Promise<SeenUpTo> {
  const others = entities.flatMap((changes, index) => {
    const maker = stored[index]?.device_id
    return maker === undefined ? [] : changes.filter(({ device_id, base }) => base === undefined && device_id !== maker)
  })
  const deviceIds = new Set(others.map(({ device_id }) => device_id).filter((id) => id !== unknownDevice))
  const cursors = await findCursors(trx, user.id, deviceIds)
  return ({ device_id, base }) => continueFrom(base ?? cursors.get(device_id) ?? 0, user.last_stamp)
}

/** A request without a device id counts as having seen what it replaces. */
export function baseOf(deviceId: string, stored: Stored | undefined): Pick<MadeBy, 'base'> {
  return deviceId === unknownDevice && stored ? { base: stored.stamp } : {}
}
