import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../engine/database.ts'
import { type Placeholders, query } from '../engine/query.ts'
import type { PageLimits } from './changes.ts'
import { ciphertextOf } from './ciphertexts.ts'
import type { RecordRow } from './records.ts'

/** A bookmark with the columns that REST and exports need. */
export type BookmarkRow = Pick<RecordRow, (typeof bookmarkColumns)[number] | 'encrypted_data'>

const bookmarkColumns = [
  'entity_id',
  'data_hash',
  'created_at',
  'updated_at',
  'deleted_at',
] as const satisfies (keyof RecordRow)[]

export const { first: findBookmark } = query((db, { userId, id }: Placeholders<{ userId: string; id: string }>) =>
  liveBookmarks(db, userId).select(bookmarkColumns).select(ciphertextOf(userId)).where('entity_id', '=', id),
)

/** True if the bookmark has a record, even a deleted one. */
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

/** A bookmark's position in the newest-first list. */
export type ListKey = Pick<RecordRow, 'created_at' | 'entity_id'>

/** The start of a page in the newest-first list: `skip` bookmarks after `after`, or after the beginning. */
export interface ListStart {
  after?: ListKey | undefined
  skip: number
}

/** Finds the position of the page's first bookmark, using only the index. */
export async function nthNewest(db: Db, userId: string, { after, skip }: ListStart): Promise<ListKey | undefined> {
  return nth.first(db, { userId, ...(after ?? beforeAll), skip })
}

/** Comes before every bookmark. */
const beforeAll: ListKey = { created_at: Number.MAX_SAFE_INTEGER, entity_id: '' }

const nth = query(
  (db, { userId, created_at, entity_id, skip }: Placeholders<ListKey & { userId: string; skip: number }>) =>
    liveBookmarks(db, userId)
      .select(['created_at', 'entity_id'])
      .where(isAfter(created_at, entity_id))
      .orderBy('created_at', 'desc')
      .orderBy('entity_id', 'desc')
      .offset(skip)
      .limit(sql.lit(1)),
)

function isAfter(created_at: RawBuilder<number>, entity_id: RawBuilder<string>) {
  return sql<boolean>`(created_at, entity_id) < (${created_at}, ${entity_id})`
}

/** Live bookmarks, newest first, up to the limits. */
export async function listNewest(
  db: Db,
  userId: string,
  { after, skip }: ListStart,
  { rows, bytes }: PageLimits,
): Promise<BookmarkRow[]> {
  return newest.all(db, { userId, ...(after ?? beforeAll), skip, rows, bytes })
}

interface Page extends PageLimits, ListKey {
  userId: string
  skip: number
}

const newest = query((db, { userId, created_at, entity_id, skip, rows, bytes }: Placeholders<Page>) =>
  newestFirst(
    db,
    userId,
    liveBookmarks(db, userId).where(isAfter(created_at, entity_id)).offset(skip).limit(rows),
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
    .select([...bookmarkColumns, 'bytes', 'data_sequence', 'encrypted_data'])
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

/** Live bookmarks after the id `after`, ordered by id. Exports read them in short pages, while other requests run. */
export const { all: listById } = query(
  (db, { userId, after, limit }: Placeholders<{ userId: string; after: string; limit: number }>) =>
    liveBookmarks(db, userId)
      .select(bookmarkColumns)
      .select(ciphertextOf(userId))
      .where('entity_id', '>', after)
      .orderBy('entity_id')
      .limit(limit),
)

/** The type is a literal: for a parameter, the databases would not use the index that is limited to live bookmarks. */
function liveBookmarks(db: Db, userId: RawBuilder<string>) {
  return db
    .selectFrom('records')
    .where('user_id', '=', userId)
    .where('entity_type', '=', sql.lit('bookmark'))
    .where('deleted_at', 'is', null)
}
