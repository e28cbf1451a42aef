/** The story of ../README.md, with the typescript-fetch client of openapi-generator. */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  AuthApi,
  BookmarksApi,
  type Change,
  Configuration,
  type ConfigurationParameters,
  ExportsApi,
  ResponseError,
  SyncApi,
  type SyncEvent,
} from './client'

const settings: ConfigurationParameters = {
  basePath: process.env.BASE_URL ?? '',
  headers: { cookie: `service_session=${process.env.SESSION}` },
}
const configuration = new Configuration(settings)
const auth = new AuthApi(configuration)
const bookmarks = new BookmarksApi(configuration)
const sync = new SyncApi(configuration)
const exports = new ExportsApi(configuration)

const xDeviceId = 'laptop'
const content = { encryptedData: 'opaque, not base64', dataHash: 'e3b0c442' }
const now = Date.now()

// From here on, each call names the user of the session.
settings.apiKey = (await auth.getSession()).user.userId

const created = await bookmarks.createBookmark({ bookmarkToCreate: { id: 'one', ...content }, xDeviceId })
assert(created.createdAt >= now - 60_000)
assert.equal(created.deletedAt, null)
const page = await bookmarks.listBookmarks({ limit: 10 })
assert.deepEqual(page, { data: [created], meta: { total: 1, page: 1, limit: 10 } })

// The edit of `one` is older than the stored version.
const edit = (entityId: string, timestamp: number): Change => ({
  ...{ id: `edit of ${entityId}`, entityType: 'bookmark', entityId, operation: 'update' },
  ...{ timestamp, deviceId: xDeviceId, ...content },
})
const pushed = await sync.pushChanges({ pushRequest: { changes: [edit('one', 1000), edit('two', now)] }, xDeviceId })
assert.deepEqual(pushed.acceptedIds, ['edit of two'])
assert.deepEqual(
  pushed.conflicts.map(({ entityId, resolution }) => [entityId, resolution]),
  [['one', 'rejected']],
)

const pulled: SyncEvent[] = []
for (let since = 0, more = true; more; ) {
  const answer = await sync.pullChanges({ pullRequest: { since, limit: 1 }, xDeviceId })
  pulled.push(...answer.changes)
  since = answer.lastSyncTimestamp
  more = answer.hasMore
}
assert.deepEqual(
  pulled.map(({ entityId, encryptedData }) => [entityId, encryptedData]),
  [
    ['one', content.encryptedData],
    ['two', content.encryptedData],
  ],
)

// `one` exists already, and the date of `four` is in milliseconds, not seconds.
const imported = await sync.importBookmarks({
  importRequest: {
    bookmarks: [
      { id: 'three', ...content, dateAdded: 1_700_000_000 },
      { id: 'one', ...content },
      { id: 'four', ...content, dateAdded: 1_700_000_000_000 },
    ],
  },
  xDeviceId,
})
assert.deepEqual(imported.importedIds, ['three'])
assert.deepEqual(
  imported.errors.map(({ id }) => id),
  ['one', 'four'],
)
const three = await bookmarks.getBookmark({ id: 'three' })
assert.equal(three.createdAt, 1_700_000_000_000)

const started = await exports.createExport()
assert.equal(started.sizeBytes, null)
let finished = started
while (finished.status !== 'completed') {
  await sleep(100)
  const list = await exports.listExports()
  finished = list.exports.find(({ id }) => id === started.id) ?? assert.fail('the export is not listed')
}
assert.equal(finished.bookmarkCount, 3)
const file = await exports.downloadExport({ id: finished.id })
assert.equal(file.size, finished.sizeBytes)
assert.equal(await file.slice(0, 5).text(), 'EBSX\u0001')

const deleted = await bookmarks.deleteBookmark({ id: 'three', xDeviceId })
assert.equal(deleted.success, true)
const status = await sync.getSyncStatus({ xDeviceId })
assert.equal(status.totalBookmarks, 2)
assert(status.lastSync >= now - 60_000)
const session = await auth.getSession()
assert.deepEqual([session.authenticated, session.user.userId], [true, status.userId])

// Refused: a bookmark that does not exist, and a call that names another user than the session's.
const error = await bookmarks.getBookmark({ id: 'nothing' }).catch((reason: unknown) => reason)
assert(error instanceof ResponseError)
assert.equal(error.response.status, 404)
assert.deepEqual(await error.response.json(), { error: 'Bookmark not found' })
settings.apiKey = 'somebody-else'
const forbidden = await bookmarks.listBookmarks().catch((reason: unknown) => reason)
assert(forbidden instanceof ResponseError)
assert.deepEqual(await forbidden.response.json(), { error: 'Forbidden user' })
settings.apiKey = status.userId

const ended = await auth.logout()
assert.equal(ended.success, true)
const refusal = await auth.getSession().catch((reason: unknown) => reason)
assert(refusal instanceof ResponseError)
assert.equal(refusal.response.status, 401)
