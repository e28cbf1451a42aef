import { sql } from 'kysely'
import type { Db } from './database.ts'
import type { Row } from './rows.ts'

export async function findBookmark(db: Db, userId: string, id: string): Promise<Row | undefined> {
  return liveBookmarks(db, userId).where('entity_id', '=', id).executeTakeFirst()
}

/** Live bookmarks, newest first. */
export async function listNewest(db: Db, userId: string, limit: number, offset: number): Promise<Row[]> {
  return liveBookmarks(db, userId)
    .orderBy('created_at', 'desc')
    .orderBy('entity_id', 'desc')
    .limit(limit)
    .offset(offset)
    .execute()
}

/** Live bookmarks after the id `after`, by id, so that exports can read short pages while bookmarks change. */
export async function listById(db: Db, userId: string, after: string, limit: number): Promise<Row[]> {
  return liveBookmarks(db, userId).where('entity_id', '>', after).orderBy('entity_id').limit(limit).execute()
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

/** The number of changes after `since` that other devices made, counted up to `max`. */
export async function countChanges(
  db: Db,
  userId: string,
  since: number,
  deviceId: string,
  max: number,
): Promise<number> {
  const { count } = await db
    .selectFrom(
      db
        .selectFrom('records')
        .select('stamp')
        .where('user_id', '=', userId)
        .where('stamp', '>', since)
        .where('device_id', '<>', deviceId)
        .limit(max)
        .as('pending'),
    )
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return Number(count)
}
