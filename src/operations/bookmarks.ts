import { v7 as uuidv7 } from 'uuid'
import type { Operations, Schemas } from '../contract.ts'
import { findBookmark, listNewest, type Row } from '../db/records.ts'
import { findCounters } from '../db/users.ts'
import { ServiceError } from '../errors.ts'
import { createRecord, deleteRecord, updateRecord } from '../sync/rest.ts'

export const bookmarkOperations: Operations<
  'listBookmarks' | 'createBookmark' | 'getBookmark' | 'updateBookmark' | 'deleteBookmark'
> = {
  async listBookmarks({ session, query: { page, limit } }, { database: { db } }) {
    const rows = await listNewest(db, session.userId, limit, (page - 1) * limit)
    const { live_bookmarks: total } = await findCounters(db, session.userId)
    return { status: 200, body: { data: rows.map(toBookmark), meta: { total, page, limit } } }
  },

  async createBookmark({ session, headers, body }, context) {
    const device = { userId: session.userId, deviceId: headers['x-device-id'] }
    const row = await createRecord(context, device, body.id ?? uuidv7(), body)
    return { status: 201, body: toBookmark(row) }
  },

  async getBookmark({ session, params }, { database: { db } }) {
    const row = await findBookmark(db, session.userId, params.id)
    if (!row) throw new ServiceError('BookmarkNotFound')
    return { status: 200, body: toBookmark(row) }
  },

  async updateBookmark({ session, headers, params, body }, context) {
    const device = { userId: session.userId, deviceId: headers['x-device-id'] }
    return { status: 200, body: toBookmark(await updateRecord(context, device, params.id, body)) }
  },

  async deleteBookmark({ session, headers, params }, context) {
    await deleteRecord(context, { userId: session.userId, deviceId: headers['x-device-id'] }, params.id)
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
