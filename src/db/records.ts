import { sql } from 'kysely'
import type { Database, Db, Trx } from './database.ts'
import { type Ciphertext, ciphertext, ciphertexts, type Row, records } from './rows.ts'

export async function findBookmark(db: Db, userId: string, id: string): Promise<Row | undefined> {
  return liveBookmarks(db, userId).select(ciphertext).where('entity_id', '=', id).executeTakeFirst()
}

/** Live bookmarks, newest first. */
export async function listNewest(db: Db, userId: string, limit: number, offset: number): Promise<Row[]> {
  const page = liveBookmarks(db, userId)
    .orderBy('created_at', 'desc')
    .orderBy('entity_id', 'desc')
    .limit(limit)
    .offset(offset)
  // Around the page, because Postgres also computes the columns of the rows that an offset skips.
  return db
    .selectFrom(page.as('records'))
    .selectAll()
    .select(ciphertext)
    .orderBy('created_at', 'desc')
    .orderBy('entity_id', 'desc')
    .execute()
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
