import { sql } from 'kysely'
import type { Db } from './database.ts'
import type { RecordsTable } from './schema.ts'

export type Row = RecordsTable
export type EntityKey = Pick<Row, 'entity_type' | 'entity_id'>

/** An entity as the key of a map: ids hold no control characters. */
export function entityKey({ entity_type, entity_id }: EntityKey): string {
  return `${entity_type}\0${entity_id}`
}

type Version = Omit<Row, 'encrypted_data' | 'user_id' | 'conflict_resolved' | 'resolution_strategy'>

/** What decides who wins, without the ciphertext: a push may meet 10,000 stored versions of 256 KiB. */
export interface StoredVersion extends Version {
  /** Length of the ciphertext. */
  bytes: number
}

/** Unlike `length`, `octet_length` reads no ciphertext, on either database. */
export const bytes = sql<number>`coalesce(octet_length(encrypted_data), 0)`

export const versionColumns = [
  'entity_type',
  'entity_id',
  'data_hash',
  'created_at',
  'updated_at',
  'deleted_at',
  'stamp',
  'event_id',
  'operation',
  'timestamp',
  'device_id',
  'overwritten',
] as const satisfies (keyof Version)[]

export const columns = [
  ...versionColumns,
  'user_id',
  'encrypted_data',
  'conflict_resolved',
  'resolution_strategy',
] as const satisfies (keyof Row)[]

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

/** Live bookmarks with an id after `after`, by id: short pages for exports, whatever changes meanwhile. */
export async function listById(db: Db, userId: string, after: string, limit: number): Promise<Row[]> {
  return liveBookmarks(db, userId).where('entity_id', '>', after).orderBy('entity_id').limit(limit).execute()
}

/** The type stands in the statement itself, as it does in the condition of the index of live bookmarks. */
function liveBookmarks(db: Db, userId: string) {
  return db
    .selectFrom('records')
    .selectAll()
    .where('user_id', '=', userId)
    .where('entity_type', '=', sql.lit('bookmark'))
    .where('deleted_at', 'is', null)
}

/** Changes after `since` that other devices made, counted up to `most`. */
export async function countChanges(
  db: Db,
  userId: string,
  since: number,
  deviceId: string,
  most: number,
): Promise<number> {
  const { count } = await db
    .selectFrom(
      db
        .selectFrom('records')
        .select('stamp')
        .where('user_id', '=', userId)
        .where('stamp', '>', since)
        .where('device_id', '<>', deviceId)
        .limit(most)
        .as('pending'),
    )
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return Number(count)
}
