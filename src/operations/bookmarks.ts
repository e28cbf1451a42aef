import { v7 as uuidv7 } from 'uuid'
import { ServiceError } from '../contract/errors.ts'
import type { Schemas } from '../contract/schemas.ts'
import type { Database } from '../db/database.ts'
import { findBookmark, listNewest } from '../db/records.ts'
import type { Row } from '../db/rows.ts'
import { findCounters } from '../db/users.ts'
import { createRecord, deleteRecord, type RestParts, updateRecord } from '../sync/rest.ts'
import type { Operations } from './operation.ts'

interface Parts extends RestParts {
  database: RestParts['database'] & Pick<Database, 'db'>
}

export const bookmarkOperations: Operations<
  'listBookmarks' | 'createBookmark' | 'getBookmark' | 'updateBookmark' | 'deleteBookmark',
  Parts
> = {
  async listBookmarks({ session, query: { page, limit } }, { database: { db } }) {
    const rows = await listNewest(db, session.userId, limit, (page - 1) * limit)
    const { live_bookmarks: total } = await findCounters(db, session.userId)
    return { status: 200, body: { data: rows.map(toBookmark), meta: { total, page, limit } } }
  },

  async createBookmark({ session, headers, body }, parts) {
    const device = { userId: session.userId, deviceId: headers['x-device-id'] }
    const row = await createRecord(parts, device, body.id ?? uuidv7(), body)
    return { status: 201, body: toBookmark(row) }
  },

  async getBookmark({ session, params }, { database: { db } }) {
    const row = await findBookmark(db, session.userId, params.id)
    if (!row) throw new ServiceError('BookmarkNotFound')
    return { status: 200, body: toBookmark(row) }
  },

  async updateBookmark({ session, headers, params, body }, parts) {
    const device = { userId: session.userId, deviceId: headers['x-device-id'] }
    return { status: 200, body: toBookmark(await updateRecord(parts, device, params.id, body)) }
  },

  async deleteBookmark({ session, headers, params }, parts) {
    await deleteRecord(parts, { userId: session.userId, deviceId: headers['x-device-id'] }, params.id)
    return { status: 200, body: { success: true } }
  },
}

function toBookmark({
  entity_id: id,
  encrypted_data,
  data_hash,
  created_at,
  updated_at,
  deleted_at,
}: Row): Schemas['Bookmark'] {
  return { id, encrypted_data: encrypted_data ?? '', data_hash: data_hash ?? '', created_at, updated_at, deleted_at }
}
