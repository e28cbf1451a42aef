/** A person's laptop, with the client that hey-api generates: see ../README.md. */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Change,
  createBookmark,
  createExport,
  deleteBookmark,
  downloadExport,
  getBookmark,
  getSession,
  getSyncStatus,
  importBookmarks,
  listBookmarks,
  listExports,
  logout,
  pullChanges,
  pushChanges,
  type SyncEvent,
} from './client'
import { client } from './client/client.gen'

const baseUrl = process.env.BASE_URL ?? ''
client.setConfig({ baseUrl, auth: process.env.SESSION, headers: { 'x-device-id': 'laptop' } })
const throwOnError = true

const content = { encrypted_data: 'opaque, not base64', data_hash: 'e3b0c442' }
const now = Date.now()

// Create and list.
const { data: created } = await createBookmark({ body: { id: 'one', ...content }, throwOnError })
assert.ok(created.created_at >= now - 60_000)
assert.equal(created.deleted_at, null)
const { data: page } = await listBookmarks({ query: { limit: 10 }, throwOnError })
assert.deepEqual(page, { data: [created], meta: { total: 1, page: 1, limit: 10 } })

// Push: the edit of `one` is older than what is stored.
const edit = (entity_id: string, timestamp: number): Change => ({
  ...{ id: `edit of ${entity_id}`, entity_type: 'bookmark', entity_id, operation: 'update' },
  ...{ timestamp, device_id: 'laptop', ...content },
})
const { data: pushed } = await pushChanges({ body: { changes: [edit('one', 1000), edit('two', now)] }, throwOnError })
assert.deepEqual(pushed.accepted_ids, ['edit of two'])
assert.deepEqual(
  pushed.conflicts.map(({ entity_id, resolution }) => [entity_id, resolution]),
  [['one', 'rejected']],
)

// Pull, one change a page.
const pulled: SyncEvent[] = []
for (let since = 0, more = true; more; ) {
  const { data } = await pullChanges({ body: { since, limit: 1 }, throwOnError })
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
const { data: imported } = await importBookmarks({
  body: {
    bookmarks: [
      { id: 'three', ...content, date_added: 1_700_000_000 },
      { id: 'one', ...content },
      { id: 'four', ...content, date_added: 1_700_000_000_000 },
    ],
  },
  throwOnError,
})
assert.deepEqual(imported.imported_ids, ['three'])
assert.deepEqual(
  imported.errors.map(({ id }) => id),
  ['one', 'four'],
)
const { data: three } = await getBookmark({ path: { id: 'three' }, throwOnError })
assert.equal(three.created_at, 1_700_000_000_000)

// Export.
const { data: started } = await createExport({ throwOnError })
assert.equal(started.size_bytes, null)
let finished = started
while (finished.status !== 'completed') {
  await sleep(100)
  const { data } = await listExports({ throwOnError })
  finished = data.exports.find(({ id }) => id === started.id) ?? assert.fail('the export is not listed')
}
assert.equal(finished.bookmark_count, 3)
const { data: file } = await downloadExport({ path: { id: finished.id }, throwOnError, parseAs: 'blob' })
assert.equal(file.size, finished.size_bytes)
assert.equal(await file.slice(0, 5).text(), 'EBSX\u0001')

// Delete, and look at the status and the session.
const { data: deleted } = await deleteBookmark({ path: { id: 'three' }, throwOnError })
assert.equal(deleted.success, true)
const { data: status } = await getSyncStatus({ throwOnError })
assert.equal(status.total_bookmarks, 2)
assert.ok(status.last_sync >= now - 60_000)
const { data: session } = await getSession({ throwOnError })
assert.deepEqual([session.authenticated, session.user.user_id], [true, status.user_id])

// An error.
const { response, error } = await getBookmark({ path: { id: 'nothing' } })
assert.equal(response?.status, 404)
assert.deepEqual(error, { error: 'Bookmark not found' })

// Sign out.
const { data: ended } = await logout({ throwOnError })
assert.equal(ended.success, true)
const { response: refused, error: signedOut } = await getSession()
assert.equal(refused?.status, 401)
assert.deepEqual(signedOut, { authenticated: false })
