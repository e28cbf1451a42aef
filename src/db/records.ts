import { sql } from 'kysely'
import type { PageLimits } from './changes.ts'
import type { Database, Db, Trx } from './database.ts'
import { type Ciphertext, ciphertext, ciphertexts, type Row, records } from './rows.ts'

export async function findBookmark(db: Db, userId: string, id: string): Promise<Row | undefined> {
  return liveBookmarks(db, userId).select(ciphertext).where('entity_id', '=', id).executeTakeFirst()
}

/** Where in the newest-first list a page begins: after that many bookmarks, or after the last one of the page before. */
export type ListStart = { skip: number } | { after: Pick<Row, 'created_at' | 'entity_id'> }

/** Live bookmarks, newest first, up to the limits. */
export async function listNewest(
  db: Db,
  userId: string,
  start: ListStart,
  { rows, bytes }: PageLimits,
): Promise<Row[]> {
  const sums = db
    .selectFrom(newestFirst(db, userId, start).limit(rows).as('records'))
    .selectAll()
    .select(sql<number>`sum(bytes) over (order by created_at desc, entity_id desc) - bytes`.as('before'))
  return db
    .selectFrom(sums.as('records'))
    .selectAll()
    .select(ciphertext)
    .where('before', '<', bytes)
    .orderBy('created_at', 'desc')
    .orderBy('entity_id', 'desc')
    .execute()
}

function newestFirst(db: Db, userId: string, start: ListStart) {
  const list = liveBookmarks(db, userId).orderBy('created_at', 'desc').orderBy('entity_id', 'desc')
  if ('skip' in start) return list.offset(start.skip)
  const { created_at, entity_id } = start.after
  return list.where(sql<boolean>`(created_at, entity_id) < (${created_at}, ${entity_id})`)
}

/** Live bookmarks after the id `after`, by id, so that exports can read short pages while bookmarks change. */
export async function listById(db: Db, userId: string, after: string, limit: number): Promise<Row[]> {
  return liveBookmarks(db, userId)
    .select(ciphertext)
    .where('entity_id', '>', after)
    .orderBy('entity_id')
    .limit(limit)
    .execute()
}

/** The type is a literal in the statement, as it is in the condition of the index on live bookmarks. */
function liveBookmarks(db: Db, userId: string) {
  return db
    .selectFrom('records')
    .selectAll()
    .where('user_id', '=', userId)
    .where('entity_type', '=', sql.lit('bookmark'))
    .where('deleted_at', 'is', null)
}

/** Writes the records, and the ciphertexts of those that have one of their own. */
export async function saveRecords({ upsert }: Pick<Database, 'upsert'>, trx: Trx, rows: Row[]): Promise<void> {
  await upsert(trx, records, rows)
  await upsert(trx, ciphertexts, rows.flatMap(toCiphertext))
}

function toCiphertext({ user_id, data_stamp, encrypted_data }: Row): Ciphertext[] {
  return data_stamp === null || encrypted_data === null ? [] : [{ user_id, stamp: data_stamp, encrypted_data }]
}

/**
 * The number of changes after `since` that other devices made, counted up to `max`. Goes from device to device, so that
 * neither a device's own changes nor those before `since` are looked at, however many there are. With more than `max`
 * devices, it is `max`.
 */
export async function countChanges(
  db: Db,
  userId: string,
  since: number,
  deviceId: string,
  max: number,
): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    with recursive walk (device_id, devices, counted) as (
      select (select min(device_id) from records where user_id = ${userId}), 0, cast(0 as bigint)
      union all
      select
        (select min(device_id) from records where user_id = ${userId} and device_id > walk.device_id),
        devices + 1,
        counted + (
          select count(*) from (
            select 1 from records
            where user_id = ${userId} and device_id = walk.device_id and walk.device_id <> ${deviceId} and stamp > ${since}
            limit ${max}
          ) as changes
        )
      from walk where walk.device_id is not null and devices <= ${max} and counted < ${max}
    )
    select case when max(devices) > ${max} then ${max} else max(counted) end as count from walk`.execute(db)
  return Math.min(max, Number(rows[0]?.count))
}
