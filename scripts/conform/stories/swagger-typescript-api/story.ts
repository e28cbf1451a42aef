/** The story of ../README.md with the client that swagger-typescript-api generates. */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { Api, type Change, EntityType, Operation, type SyncEvent } from './client'

const { api } = new Api({
  baseUrl: process.env.BASE_URL ?? '',
  baseApiParams: { headers: { authorization: `Bearer ${process.env.SESSION}`, 'x-device-id': 'laptop' } },
})

const content = { encrypted_data: 'opaque, not base64', data_hash: 'e3b0c442' }
const now = Date.now()

// Create and list.
const { data: created } = await api.createBookmark({ id: 'one', ...content })
assert.ok(created.created_at >= now - 60_000)
assert.equal(created.deleted_at, null)
const { data: page } = await api.listBookmarks({ limit: 10 })
assert.deepEqual(page, { data: [created], meta: { total: 1, page: 1, limit: 10 } })

// Push: the edit of `one` is older than what is stored.
const edit = (entity_id: string, timestamp: number): Change => ({
  ...{ id: `edit of ${entity_id}`, entity_type: EntityType.Bookmark, entity_id, operation: Operation.Update },
  ...{ timestamp, device_id: 'laptop', ...content },
})
const { data: pushed } = await api.pushChanges({ changes: [edit('one', 1000), edit('two', now)] })
assert.deepEqual(pushed.accepted_ids, ['edit of two'])
assert.deepEqual(
  pushed.conflicts.map(({ entity_id, resolution }) => [entity_id, resolution]),
  [['one', 'rejected']],
)

// Pull, one change a page.
const pulled: SyncEvent[] = []
for (let since = 0, more = true; more; ) {
  const { data } = await api.pullChanges({ since, limit: 1 })
  pulled.push(...data.changes)
  since = data.last_sync_timestamp
  more = data.has_more
}
assert.deepEqual(
  pulled.map(({ entity_id, encrypted_data }) => [entity_id, encrypted_data]),
  [
    ['one', content.encrypted_data],
    ['two', content.encrypted_data],
  ],
)

// Import: one bookmark is there already, another one's date is in milliseconds.
const { data: imported } = await api.importBookmarks({
  bookmarks: [
    { id: 'three', ...content, date_added: 1_700_000_000 },
    { id: 'one', ...content },
    { id: 'four', ...content, date_added: 1_700_000_000_000 },
  ],
})
assert.deepEqual(imported.imported_ids, ['three'])
assert.deepEqual(
  imported.errors.map(({ id }) => id),
  ['one', 'four'],
)
const { data: three } = await api.getBookmark('three')
assert.equal(three.created_at, 1_700_000_000_000)

// Export.
const { data: started } = await api.createExport()
assert.equal(started.size_bytes, null)
let finished = started
while (finished.status !== 'completed') {
  await sleep(100)
  const { data } = await api.listExports()
  finished = data.exports.find(({ id }) => id === started.id) ?? assert.fail('the export is not listed')
}
assert.equal(finished.bookmark_count, 3)
const { data: file } = await api.downloadExport(finished.id, { format: 'blob' })
assert.equal(file.size, finished.size_bytes)
assert.equal(await file.slice(0, 5).text(), 'EBSX\u0001')

// Delete, and look at the status and the session.
const { data: deleted } = await api.deleteBookmark('three')
assert.equal(deleted.success, true)
const { data: status } = await api.getSyncStatus()
assert.equal(status.total_bookmarks, 2)
assert.ok(status.last_sync >= now - 60_000)
const { data: session } = await api.getSession()
assert.deepEqual([session.authenticated, session.user.user_id], [true, status.user_id])

// An error.
const nothing = await api.getBookmark('nothing').catch((answer: unknown) => answer)
assert(nothing instanceof Response)
assert.equal(nothing.status, 404)
assert('error' in nothing)
assert.deepEqual(nothing.error, { error: 'Bookmark not found' })

// Sign out.
const { data: ended } = await api.logout()
assert.equal(ended.success, true)
const refused = await api.getSession().catch((answer: unknown) => answer)
assert(refused instanceof Response)
assert.equal(refused.status, 401)
