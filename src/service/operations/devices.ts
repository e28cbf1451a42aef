import { requireLogin } from '../auth/sessions.ts'
import { ServiceError } from '../contract/errors.ts'
import type { Database, Db } from '../db/engine/database.ts'
import { listNewestChanges } from '../db/tables/changes.ts'
import { type Device, deleteDevice, listDevices, renameDevice } from '../db/tables/devices.ts'
import { findCounters } from '../db/tables/users.ts'
import { done, type Operations } from './operation.ts'

interface Parts {
  database: Pick<Database, 'db' | 'write'>
}

/** Unpulled changes are counted among this many of the newest. Reading them takes some milliseconds. */
const newestChanges = 10_000

export const deviceOperations: Operations<'listDevices' | 'renameDevice' | 'forgetDevice', Parts> = {
  async listDevices({ session: { userId }, headers, query: { limit, after = '' } }, { database: { db } }) {
    const found = await listDevices(db, { userId, after, limit: limit + 1 })
    const page = found.slice(0, limit)
    const pending = await countPending(db, userId, page)
    const devices = page.map((device) => ({
      id: device.device_id,
      last_seen: device.last_sync,
      pending_changes: pending(device),
      current: device.device_id === headers['x-device-id'],
      encrypted_name: device.encrypted_name,
    }))
    return { status: 200, body: { devices, next: found.length > limit ? (page.at(-1)?.device_id ?? null) : null } }
  },

  async renameDevice({ session: { userId, loginId }, params: { id }, body: { encrypted_name } }, { database }) {
    const isKnown = await database.write(async (trx) => {
      await requireLogin(trx, { userId, loginId })
      return renameDevice(trx, userId, id, encrypted_name)
    }, userId)
    if (!isKnown) throw new ServiceError('DeviceNotFound')
    return { status: 200, body: done }
  },

  async forgetDevice({ session: { userId, loginId }, params: { id } }, { database }) {
    const isKnown = await database.write(async (trx) => {
      await requireLogin(trx, { userId, loginId })
      return deleteDevice(trx, userId, id)
    }, userId)
    if (!isKnown) throw new ServiceError('DeviceNotFound')
    return { status: 200, body: done }
  },
}

/** Returns a function that counts a device's unpulled changes by others. Reads the changes of all devices together. */
async function countPending(db: Db, userId: string, devices: Device[]): Promise<(device: Device) => number> {
  const { last_sequence } = await findCounters(db, userId)
  const since = Math.min(last_sequence, ...devices.map(({ cursor }) => cursor))
  const changes = since < last_sequence ? await listNewestChanges(db, userId, since, newestChanges) : []
  const own = Map.groupBy(changes, ({ device_id }) => device_id)
  return ({ device_id, cursor }) => countAbove(changes, cursor) - countAbove(own.get(device_id) ?? [], cursor)
}

/** The changes are in descending order. */
function countAbove(changes: { sequence: number }[], cursor: number): number {
  let [low, high] = [0, changes.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((changes[middle]?.sequence ?? 0) > cursor) low = middle + 1
    else high = middle
  }
  return low
}
