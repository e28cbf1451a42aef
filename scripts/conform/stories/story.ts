/** The story of ./README.md, for hey-api, orval, kubb and swagger-typescript-api, each with its own `laptop.ts`. */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { laptop } from './laptop'

interface Content {
  encrypted_data: string
  data_hash: string
}

interface Bookmark extends Content {
  id: string
  created_at: number
  deleted_at: number | null
}

export interface Edit extends Content {
  id: string
  entity_type: 'bookmark'
  entity_id: string
  operation: 'update'
  timestamp: number
  device_id: string
}

interface Export {
  id: string
  status: string
  size_bytes: number | null
  bookmark_count: number | null
}

/** Each call resolves to the body of a successful response. Its type must have the fields that the story reads. */
export interface Laptop {
  createBookmark(bookmark: Content & { id: string }): Promise<Bookmark>
  listBookmarks(query: { limit: number }): Promise<{ data: Bookmark[]; meta: object }>
  getBookmark(id: string): Promise<Bookmark>
  deleteBookmark(id: string): Promise<{ success: boolean }>
  pushChanges(
    changes: Edit[],
  ): Promise<{ accepted_ids: string[]; conflicts: { entity_id: string; resolution: string }[] }>
  pullChanges(body: { since: number; limit: number }): Promise<{
    changes: { entity_id: string; encrypted_data?: string }[]
    last_sync_timestamp: number
    has_more: boolean
  }>
  importBookmarks(
    bookmarks: (Content & { id: string; date_added?: number })[],
  ): Promise<{ imported_ids: string[]; errors: { id: string }[] }>
  createExport(): Promise<Export>
  listExports(): Promise<{ exports: Export[] }>
  downloadExport(id: string): Promise<Blob>
  getSyncStatus(): Promise<{ user_id: string; total_bookmarks: number; last_sync: number }>
  getSession(): Promise<{ authenticated: boolean; user: { user_id: string } }>
  logout(): Promise<{ success: boolean }>
  /** Adds this user to every later request. */
  actFor(userId: string): void
  /** The status and body of a refused call. `getBookmark` asks for the bookmark `nothing`, which does not exist. */
  refused(call: 'getBookmark' | 'getSession'): Promise<[status: number | undefined, body: unknown]>
}

const content = { encrypted_data: 'opaque, not base64', data_hash: 'e3b0c442' }
const now = Date.now()

// From here on, each call names the user of the session.
laptop.actFor((await laptop.getSession()).user.user_id)

const created = await laptop.createBookmark({ id: 'one', ...content })
assert(created.created_at >= now - 60_000)
assert.equal(created.deleted_at, null)
const page = await laptop.listBookmarks({ limit: 10 })
assert.deepEqual(page, { data: [created], meta: { total: 1, page: 1, limit: 10 } })

// The edit of `one` is older than the stored version.
const edit = (entity_id: string, timestamp: number): Edit => ({
  ...{ id: `edit of ${entity_id}`, entity_type: 'bookmark', entity_id, operation: 'update' },
  ...{ timestamp, device_id: 'laptop', ...content },
})
const pushed = await laptop.pushChanges([edit('one', 1000), edit('two', now)])
assert.deepEqual(pushed.accepted_ids, ['edit of two'])
assert.deepEqual(
  pushed.conflicts.map(({ entity_id, resolution }) => [entity_id, resolution]),
  [['one', 'rejected']],
)

const pulled: [string, string | undefined][] = []
for (let since = 0, more = true; more; ) {
  const { changes, last_sync_timestamp, has_more } = await laptop.pullChanges({ since, limit: 1 })
  for (const { entity_id, encrypted_data } of changes) pulled.push([entity_id, encrypted_data])
  since = last_sync_timestamp
  more = has_more
}
assert.deepEqual(pulled, [
  ['one', content.encrypted_data],
  ['two', content.encrypted_data],
])

// `one` exists already, and the date of `four` is in milliseconds, not seconds.
const imported = await laptop.importBookmarks([
  { id: 'three', ...content, date_added: 1_700_000_000 },
  { id: 'one', ...content },
  { id: 'four', ...content, date_added: 1_700_000_000_000 },
])
assert.deepEqual(imported.imported_ids, ['three'])
assert.deepEqual(
  imported.errors.map(({ id }) => id),
  ['one', 'four'],
)
assert.equal((await laptop.getBookmark('three')).created_at, 1_700_000_000_000)

let finished = await laptop.createExport()
assert.equal(finished.size_bytes, null)
while (finished.status !== 'completed') {
  await sleep(100)
  const { exports } = await laptop.listExports()
  finished = exports.find(({ id }) => id === finished.id) ?? assert.fail('the export is not listed')
}
assert.equal(finished.bookmark_count, 3)
const file = await laptop.downloadExport(finished.id)
assert.equal(file.size, finished.size_bytes)
assert.equal(await file.slice(0, 5).text(), 'EBSX\u0001')

assert.equal((await laptop.deleteBookmark('three')).success, true)
const status = await laptop.getSyncStatus()
assert.equal(status.total_bookmarks, 2)
assert(status.last_sync >= now - 60_000)
const session = await laptop.getSession()
assert.deepEqual([session.authenticated, session.user.user_id], [true, status.user_id])

// Refused: a bookmark that does not exist, and a call that names another user than the session's.
assert.deepEqual(await laptop.refused('getBookmark'), [404, { error: 'Bookmark not found' }])
laptop.actFor('somebody-else')
assert.deepEqual(await laptop.refused('getBookmark'), [403, { error: 'Forbidden user' }])
laptop.actFor(status.user_id)

assert.equal((await laptop.logout()).success, true)
assert.deepEqual(await laptop.refused('getSession'), [401, { authenticated: false }])
