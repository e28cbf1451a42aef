import { sql } from 'kysely'
import { quotas } from '../../../../generated/limits.ts'
import type { Db, Trx } from '../engine/database.ts'
import { isOneOf, type Placeholders, query } from '../engine/query.ts'
import type { Schema } from '../schema.ts'
import { currentEpoch } from './epoch.ts'
import { lockUser } from './users.ts'

export type Device = Schema['devices']
type LastSync = Pick<Device, 'user_id' | 'device_id' | 'last_sync'>

/** The most devices per user. */
const { devices: maxDevices } = quotas

export const { first: findDevice } = query(
  (db, { userId, deviceId }: Placeholders<{ userId: string; deviceId: string }>) =>
    db
      .selectFrom('devices')
      .select(['user_id', 'device_id', 'cursor', 'last_sync'])
      .where('user_id', '=', userId)
      .where('device_id', '=', deviceId),
)

/** The cursors of these devices, except unknown ones. */
export async function findCursors(
  trx: Trx,
  userId: string,
  deviceIds: ReadonlySet<string>,
): Promise<Map<string, number>> {
  const rows = await cursors.all(trx, { userId, ids: [...deviceIds] })
  return new Map(rows.map(({ device_id, cursor }) => [device_id, cursor]))
}

const cursors = query((db, { userId, ids }: Placeholders<{ userId: string; ids: string[] }>) =>
  db
    .selectFrom('devices')
    .select(['device_id', 'cursor'])
    .where('user_id', '=', userId)
    .where(isOneOf(db, 'device_id', ids)),
)

/** The most advanced cursor and the latest sync of the user's devices. */
export async function summarizeDevices(db: Db, userId: string): Promise<Pick<Device, 'cursor' | 'last_sync'>> {
  const { cursor, last_sync } = await latest.one(db, { userId })
  return { cursor: cursor ?? 0, last_sync: last_sync ?? 0 }
}

const latest = query((db, { userId }: Placeholders<{ userId: string }>) =>
  db
    .selectFrom('devices')
    .select(({ fn }) => [fn.max('cursor').as('cursor'), fn.max('last_sync').as('last_sync')])
    .where('user_id', '=', userId),
)

/** A user's devices after the id `after`, ordered by id. */
export const { all: listDevices } = query(
  (db, { userId, after, limit }: Placeholders<{ userId: string; after: string; limit: number }>) =>
    db
      .selectFrom('devices')
      .select(['user_id', 'device_id', 'encrypted_name', 'cursor', 'last_sync'])
      .where('user_id', '=', userId)
      .where('device_id', '>', after)
      .orderBy('device_id')
      .limit(limit),
)

export async function countDevices(db: Db, userId: string): Promise<number> {
  return Number((await counted.one(db, { userId })).count)
}

const counted = query((db, { userId }: Placeholders<{ userId: string }>) =>
  db
    .selectFrom('devices')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('user_id', '=', userId),
)

/** Returns false if the device is not known. */
export async function renameDevice(
  trx: Trx,
  userId: string,
  deviceId: string,
  name: Device['encrypted_name'],
): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('devices')
    .set({ encrypted_name: name })
    .where('user_id', '=', userId)
    .where('device_id', '=', deviceId)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Returns false if the device was not known. */
export async function deleteDevice(trx: Trx, userId: string, deviceId: string): Promise<boolean> {
  const { numDeletedRows } = await trx
    .deleteFrom('devices')
    .where('user_id', '=', userId)
    .where('device_id', '=', deviceId)
    .executeTakeFirst()
  return numDeletedRows > 0n
}

/** Stores when a known device synced. Returns false if it is not known. */
export async function updateSync(trx: Trx, device: LastSync, cursor?: number): Promise<boolean> {
  const saved = cursor === undefined ? savedLastSync.run(trx, device) : savedCursor.run(trx, { ...device, cursor })
  return (await saved) > 0
}

/** Stores when a device, new or known, synced. A push gives no cursor: its device has not seen others' changes. */
export async function saveSync(trx: Trx, device: LastSync, cursor?: number): Promise<void> {
  if (await updateSync(trx, device, cursor)) return
  // Otherwise, simultaneous requests could exceed the limit of devices.
  await lockUser(trx, device.user_id)
  const { last_sync } = device
  await trx
    .insertInto('devices')
    .values({ ...device, cursor: cursor ?? 0 })
    .onConflict((conflict) =>
      conflict.columns(['user_id', 'device_id']).doUpdateSet({ last_sync, ...(cursor !== undefined && { cursor }) }),
    )
    .execute()
  await forgotten.run(trx, device)
}

const savedCursor = query(
  (db, { user_id, device_id, cursor, last_sync }: Placeholders<LastSync & Pick<Device, 'cursor'>>) =>
    db
      .updateTable('devices')
      .set({ cursor, last_sync })
      .where('user_id', '=', user_id)
      .where('device_id', '=', device_id),
)

const savedLastSync = query((db, { user_id, device_id, last_sync }: Placeholders<LastSync>) =>
  db.updateTable('devices').set({ last_sync }).where('user_id', '=', user_id).where('device_id', '=', device_id),
)

/** The most devices to forget when a new one comes. Usually, it is one. */
const forgottenAtOnce = 10

/** Makes room for a new device by forgetting those seen least recently. */
const forgotten = query((db, { user_id, device_id }: Placeholders<Pick<Device, 'user_id' | 'device_id'>>) =>
  db
    .deleteFrom('devices')
    .where('user_id', '=', user_id)
    .where(
      'device_id',
      'in',
      db
        .selectFrom('devices')
        .select('device_id')
        .where('user_id', '=', user_id)
        .where('device_id', '<>', device_id)
        .orderBy('last_sync', 'desc')
        .orderBy('device_id')
        .limit(sql.lit(forgottenAtOnce))
        .offset(sql.lit(maxDevices - 1)),
    ),
)

/** The user's last sequence number and its epoch: all that a pull needs if nothing is new. */
export interface LastSequence {
  last_sequence: number
  epoch: string
}

/** How far a device has pulled, and how far it could. */
export interface Progress extends LastSequence {
  /** This and `last_sync` are null if the device is not known. */
  cursor: number | null
  last_sync: number | null
}

export const { one: readLastSequence } = query(
  (db, { userId }: Placeholders<{ userId: string }>) =>
    db.selectFrom('users').select(['last_sequence', currentEpoch]).where('id', '=', userId),
  { userId: 'text' },
)

export const { one: readProgress } = query(
  (db, { userId, deviceId }: Placeholders<{ userId: string; deviceId: string }>) =>
    db
      .selectFrom('users')
      .leftJoin('devices', (join) =>
        join.onRef('devices.user_id', '=', 'users.id').on('devices.device_id', '=', deviceId),
      )
      .select(['last_sequence', currentEpoch, 'cursor', 'last_sync'])
      .where('users.id', '=', userId)
      .$castTo<Progress>(),
  { userId: 'text', deviceId: 'text' },
)
