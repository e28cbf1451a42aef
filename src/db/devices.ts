import type { Db, Trx } from './database.ts'
import type { Schema } from './schema.ts'

export type Device = Schema['devices']

export async function findDevice(db: Db, userId: string, deviceId: string): Promise<Device | undefined> {
  return db
    .selectFrom('devices')
    .selectAll()
    .where('user_id', '=', userId)
    .where('device_id', '=', deviceId)
    .executeTakeFirst()
}

/** The foremost cursor and the last sync of all of the user's devices. */
export async function summarizeDevices(db: Db, userId: string): Promise<Pick<Device, 'cursor' | 'last_sync'>> {
  const { cursor, last_sync } = await db
    .selectFrom('devices')
    .select(({ fn }) => [fn.max('cursor').as('cursor'), fn.max('last_sync').as('last_sync')])
    .where('user_id', '=', userId)
    .executeTakeFirstOrThrow()
  return { cursor: cursor ?? 0, last_sync: last_sync ?? 0 }
}

export async function saveCursor(trx: Trx, device: Device): Promise<void> {
  const { cursor, last_sync } = device
  await trx
    .insertInto('devices')
    .values(device)
    .onConflict((conflict) => conflict.columns(['user_id', 'device_id']).doUpdateSet({ cursor, last_sync }))
    .execute()
}

/** A push moves no cursor: the device has not seen what others wrote. */
export async function saveLastSync(trx: Trx, userId: string, deviceId: string, lastSync: number): Promise<void> {
  await trx
    .insertInto('devices')
    .values({ user_id: userId, device_id: deviceId, cursor: 0, last_sync: lastSync })
    .onConflict((conflict) => conflict.columns(['user_id', 'device_id']).doUpdateSet({ last_sync: lastSync }))
    .execute()
}
