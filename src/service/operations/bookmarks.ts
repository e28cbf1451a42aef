import { ServiceError } from '../contract/errors.ts'
import type { Schemas } from '../contract/schemas.ts'
import type { Database } from '../db/engine/database.ts'
import { type BookmarkRow, findBookmark, listNewest } from '../db/tables/bookmarks.ts'
import { partLimits } from '../db/tables/changes.ts'
import { bytesOf } from '../db/tables/ciphertexts.ts'
import { findCounters } from '../db/tables/users.ts'
import { createRecord, deleteRecord, updateRecord } from '../sync/rest.ts'
import type { WriteParts } from '../sync/write.ts'
import { startAfter } from './deep-pages.ts'
import { done, type Operations } from './operation.ts'

interface Parts extends WriteParts {
  database: WriteParts['database'] & Pick<Database, 'db'>
}

export const bookmarkOperations: Operations<
  'listBookmarks' | 'createBookmark' | 'getBookmark' | 'updateBookmark' | 'deleteBookmark',
  Parts
> = {
  async listBookmarks({ session, query: { page, limit } }, { database }) {
    return { status: 200, parts: listInParts(database, session.userId, page, limit) }
  },

  async createBookmark({ caller, headers, body }, parts) {
    return { status: 201, body: toBookmark(await createRecord(parts, caller, body, headers['idempotency-key'])) }
  },

  async getBookmark({ session, params }, { database: { db } }) {
    const row = await findBookmark(db, { userId: session.userId, id: params.id })
    if (!row) throw new ServiceError('BookmarkNotFound')
    return { status: 200, body: toBookmark(row) }
  },

  async updateBookmark({ caller, params, body }, parts) {
    return { status: 200, body: toBookmark(await updateRecord(parts, caller, params.id, body)) }
  },

  async deleteBookmark({ caller, params }, parts) {
    await deleteRecord(parts, caller, params.id)
    return { status: 200, body: done }
  },
}

/** Bytes of ciphertext per part of a list. Each list that is read slowly holds one part in memory. */
const partBytes = 256 * 1024

/** Bookmarks deleted meanwhile are left out; new ones do not shift the others. */
async function* listInParts(
  database: Pick<Database, 'db'>,
  userId: string,
  page: number,
  limit: number,
): AsyncGenerator<Schemas['BookmarkPage'], Schemas['BookmarkPage']> {
  const user = await findCounters(database.db, userId)
  const total = user.live_bookmarks
  const meta = { total, page, limit }
  let start = await startAfter(database.db, user, (page - 1) * limit)
  for (let left = limit; ; ) {
    if (!start) return { data: [], meta }
    const limits = { rows: Math.min(left, partLimits.rows), bytes: partBytes }
    const rows = await listNewest(database.db, userId, start, limits)
    const data = rows.map(toBookmark)
    const last = rows.at(-1)
    left -= rows.length
    const isPart = left > 0 && (rows.length === limits.rows || bytesOf(rows) >= limits.bytes)
    if (!isPart || !last) return { data, meta }
    yield { data, meta }
    start = { after: last, skip: 0 }
  }
}

export function toBookmark({
  entity_id: id,
  encrypted_data,
  data_hash,
  created_at,
  updated_at,
  deleted_at,
}: BookmarkRow): Schemas['Bookmark'] {
  return { id, encrypted_data: encrypted_data ?? '', data_hash: data_hash ?? '', created_at, updated_at, deleted_at }
}
