/** The story of ../README.md with the client that orval generates, or kubb. */
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

const content = { encrypted_data: 'opaque, not base64', data_hash: 'e3b0c442' }
const now = Date.now()

// Create and list.
const created = await createBookmark({ id: 'one', ...content })
assert(created.status === 201)
assert(created.data.created_at >= now - 60_000)
assert.equal(created.data.deleted_at, null)
const page = await listBookmarks({ limit: 10 })
assert.deepEqual(page.data, { data: [created.data], meta: { total: 1, page: 1, limit: 10 } })

// Push: the edit of `one` is older than what is stored.
const edit = (entity_id: string, timestamp: number): Change => ({
  ...{ id: `edit of ${entity_id}`, entity_type: 'bookmark', entity_id, operation: 'update' },
  ...{ timestamp, device_id: 'laptop', ...content },
})
const pushed = await pushChanges({ changes: [edit('one', 1000), edit('two', now)] })
assert(pushed.status === 200)
assert.deepEqual(pushed.data.accepted_ids, ['edit of two'])
assert.deepEqual(
  pushed.data.conflicts.map(({ entity_id, resolution }) => [entity_id, resolution]),
  [['one', 'rejected']],
)

// Pull, one change a page.
const pulled: SyncEvent[] = []
for (let since = 0, more = true; more; ) {
  const { status, data } = await pullChanges({ since, limit: 1 })
  assert(status === 200)
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
const imported = await importBookmarks({
  bookmarks: [
    { id: 'three', ...content, date_added: 1_700_000_000 },
    { id: 'one', ...content },
    { id: 'four', ...content, date_added: 1_700_000_000_000 },
  ],
})
assert(imported.status === 200)
assert.deepEqual(imported.data.imported_ids, ['three'])
assert.deepEqual(
  imported.data.errors.map(({ id }) => id),
  ['one', 'four'],
)
const three = await getBookmark('three')
assert(three.status === 200)
assert.equal(three.data.created_at, 1_700_000_000_000)

// Export.
const started = await createExport()
assert(started.status === 201)
assert.equal(started.data.size_bytes, null)
let finished = started.data
while (finished.status !== 'completed') {
  await sleep(100)
  const { status, data } = await listExports()
  assert(status === 200)
  finished = data.exports.find(({ id }) => id === finished.id) ?? assert.fail('the export is not listed')
}
assert.equal(finished.bookmark_count, 3)
const file = await downloadExport(finished.id)
assert(file.status === 200)
assert.equal(file.data.size, finished.size_bytes)
assert.equal(await file.data.slice(0, 5).text(), 'EBSX\u0001')

// Delete, and look at the status and the session.
const deleted = await deleteBookmark('three')
assert(deleted.status === 200)
assert.equal(deleted.data.success, true)
const status = await getSyncStatus()
assert(status.status === 200)
assert.equal(status.data.total_bookmarks, 2)
assert(status.data.last_sync >= now - 60_000)
const session = await getSession()
assert(session.status === 200)
assert.deepEqual([session.data.authenticated, session.data.user.user_id], [true, status.data.user_id])

// An error.
const nothing = await getBookmark('nothing')
assert(nothing.status === 404)
assert.deepEqual(nothing.data, { error: 'Bookmark not found' })

// Sign out.
const ended = await logout()
assert(ended.status === 200)
assert.equal(ended.data.success, true)
const refused = await getSession()
assert(refused.status === 401)
assert.deepEqual(refused.data, { authenticated: false })
