import { type RawBuilder, sql } from 'kysely'
import type { PageLimits } from './changes.ts'
import type { Database, Db, Trx } from './database.ts'
import { type Placeholders, query } from './query.ts'
import {
  type Ciphertext,
  ciphertextOf,
  ciphertexts,
  type EntityKey,
  type Row,
  records,
  type StoredVersion,
  versionColumns,
} from './rows.ts'

/** A bookmark, as REST and exports have it. */
export type BookmarkRow = Pick<Row, (typeof bookmarkColumns)[number] | 'encrypted_data'>

const bookmarkColumns = [
  'entity_id',
  'data_hash',
  'created_at',
  'updated_at',
  'deleted_at',
] as const satisfies (keyof Row)[]

export async function findBookmark(db: Db, userId: string, id: string): Promise<BookmarkRow | undefined> {
  return bookmark.first(db, { userId, id })
}

const bookmark = query((db, { userId, id }: Placeholders<{ userId: string; id: string }>) =>
  liveBookmarks(db, userId).select(bookmarkColumns).select(ciphertextOf(userId)).where('entity_id', '=', id),
)

/** Whether there is or was such a bookmark. */
export async function isKnown(db: Db, userId: string, id: string): Promise<boolean> {
  return (await known.first(db, { userId, id })) !== undefined
}

const known = query((db, { userId, id }: Placeholders<{ userId: string; id: string }>) =>
  db
    .selectFrom('records')
    .select('entity_id')
    .where('user_id', '=', userId)
    .where('entity_type', '=', sql.lit('bookmark'))
    .where('entity_id', '=', id),
)

/** Where in the newest-first list a page begins: after that many bookmarks, or after the last one of the page before. */
export type ListStart = { skip: number } | { after: Pick<Row, 'created_at' | 'entity_id'> }

/** Live bookmarks, newest first, up to the limits. */
export async function listNewest(
  db: Db,
  userId: string,
  start: ListStart,
  { rows, bytes }: PageLimits,
): Promise<BookmarkRow[]> {
  if ('skip' in start) return newest.all(db, { userId, skip: start.skip, rows, bytes })
  return newestAfter.all(db, { userId, ...start.after, rows, bytes })
}

interface Page extends PageLimits {
  userId: string
}

const newest = query((db, { userId, skip, rows, bytes }: Placeholders<Page & { skip: number }>) =>
  newestFirst(db, userId, liveBookmarks(db, userId).offset(skip).limit(rows), bytes),
)

const newestAfter = query(
  (db, { userId, created_at, entity_id, rows, bytes }: Placeholders<Page & Pick<Row, 'created_at' | 'entity_id'>>) =>
    newestFirst(
      db,
      userId,
      liveBookmarks(db, userId)
        .where(sql<boolean>`(created_at, entity_id) < (${created_at}, ${entity_id})`)
        .limit(rows),
      bytes,
    ),
)

function newestFirst(
  db: Db,
  userId: RawBuilder<string>,
  page: ReturnType<typeof liveBookmarks>,
  bytes: RawBuilder<number>,
) {
  const rows = page
    .select([...bookmarkColumns, 'bytes', 'data_stamp'])
    .orderBy('created_at', 'desc')
    .orderBy('entity_id', 'desc')
  const sums = db
    .selectFrom(rows.as('records'))
    .selectAll()
    .select(sql<number>`sum(bytes) over (order by created_at desc, entity_id desc) - bytes`.as('before'))
  return db
    .selectFrom(sums.as('records'))
    .select(bookmarkColumns)
    .select(ciphertextOf(userId))
    .where('before', '<', bytes)
    .orderBy('created_at', 'desc')
    .orderBy('entity_id', 'desc')
}

/** Live bookmarks after the id `after`, by id, so that exports can read short pages while bookmarks change. */
export async function listById(db: Db, userId: string, after: string, limit: number): Promise<BookmarkRow[]> {
  return nextById.all(db, { userId, after, limit })
}

const nextById = query((db, { userId, after, limit }: Placeholders<{ userId: string; after: string; limit: number }>) =>
  liveBookmarks(db, userId)
    .select(bookmarkColumns)
    .select(ciphertextOf(userId))
    .where('entity_id', '>', after)
    .orderBy('entity_id')
    .limit(limit),
)

/** Entities of every type after the one with this key, deleted ones too, by key and without ciphertext. */
export async function listStored(trx: Trx, userId: string, after: EntityKey, limit: number): Promise<StoredVersion[]> {
  return nextStored.all(trx, { userId, ...after, limit })
}

const nextStored = query(
  (db, { userId, entity_type, entity_id, limit }: Placeholders<EntityKey & { userId: string; limit: number }>) =>
    db
      .selectFrom('records')
      .select(versionColumns)
      .where('user_id', '=', userId)
      .where(sql<boolean>`(entity_type, entity_id) > (${entity_type}, ${entity_id})`)
      .orderBy('entity_type')
      .orderBy('entity_id')
      .limit(limit)
      .$castTo<StoredVersion>(),
)

export async function findCiphertext(trx: Trx, userId: string, stamp: number): Promise<string | undefined> {
  return (await data.first(trx, { userId, stamp }))?.encrypted_data
}

const data = query((db, { userId, stamp }: Placeholders<{ userId: string; stamp: number }>) =>
  db.selectFrom('ciphertexts').select('encrypted_data').where('user_id', '=', userId).where('stamp', '=', stamp),
)

/** The type is a literal in the statement, as it is in the condition of the index on live bookmarks. */
function liveBookmarks(db: Db, userId: RawBuilder<string>) {
  return db
    .selectFrom('records')
    .where('user_id', '=', userId)
    .where('entity_type', '=', sql.lit('bookmark'))
    .where('deleted_at', 'is', null)
}

/** Writes the records, and the ciphertexts of those that have one of their own. `edits` are those that were live, and are. */
export async function saveRecords(
  { inOrder, insert, upsert, edit }: Pick<Database, 'inOrder' | 'insert' | 'upsert' | 'edit'>,
  trx: Trx,
  rows: Row[],
  edits: ReadonlySet<Row> = new Set(),
): Promise<void> {
  const others = rows.filter((row) => !edits.has(row))
  const later = others.filter((row) => !isFirst(row))
  await inOrder([
    () => edit(trx, [...edits]),
    () => insert(trx, records, others.filter(isFirst)),
    () => upsert(trx, records, later),
    () => insert(trx, ciphertexts, rows.filter(hasOwnCiphertext)),
  ])
}

/** Of its entity, which the transaction has looked for under the user's lock. */
function isFirst({ first_stamp, stamp }: Row): boolean {
  return first_stamp === stamp
}

/** Such a row is also that of its ciphertext. */
function hasOwnCiphertext(row: Row): row is Row & Ciphertext {
  return row.data_stamp === row.stamp && row.encrypted_data !== null
}

/** The newest changes after `since`, at most `max`. */
export async function listNewestChanges(
  db: Db,
  userId: string,
  since: number,
  max: number,
): Promise<Pick<Row, 'stamp' | 'device_id'>[]> {
  return db
    .selectFrom('records')
    .select(['stamp', 'device_id'])
    .where('user_id', '=', userId)
    .where('stamp', '>', since)
    .orderBy('stamp', 'desc')
    .limit(max)
    .execute()
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
  const { count } = await changesOfOthers.one(db, { userId, since, deviceId, max })
  return Math.min(max, Number(count))
}

interface Counted {
  userId: string
  since: number
  deviceId: string
  max: number
}

const changesOfOthers = query(
  (_, { userId, since, deviceId, max }: Placeholders<Counted>) => sql<{ count: number }>`
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
    select case when max(devices) > ${max} then ${max} else max(counted) end as count from walk`,
)
