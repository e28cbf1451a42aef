import t from 'tap'
import { deriveKeys } from '../../src/client/crypto/keys.ts'
import { decryptBookmark, encryptBookmark } from '../../src/client/crypto/record.ts'
import { openExport } from '../../src/client/export-file/export-file.ts'
import { openDevice } from '../realtime/device.ts'
import { buildApp } from '../support/app.ts'
import { openBrowser } from '../support/browser.ts'
import { change, pullAll } from '../support/changes.ts'
import { snapshot } from '../support/database.ts'
import { createdExport } from '../support/exports.ts'
import { buildWithMock } from '../support/mock-service.ts'

const app = await buildApp(t)
const content = { encrypted_data: 'AWVuY3J5cHRlZA==', data_hash: 'hash' }

t.test('The server holds ciphertext and an integrity hash; it never needs the plaintext.', async (t) => {
  const app = await buildApp(t)
  const ada = await app.user('ada')
  const keys = deriveKeys(new Uint8Array(32).fill(7))
  const bookmark = {
    id: 'b1',
    title: 'A very private title',
    url: 'https://private.example/secret',
    source: 'bookmarks',
  } as const
  const sealed = encryptBookmark(keys, bookmark)
  await ada.call('POST', '/api/v1/bookmarks', { body: { id: 'b1', ...sealed } })
  const { body } = await ada.call('GET', '/api/v1/bookmarks/b1')
  t.hasStrict(body, sealed, 'it gives back what it was given')
  t.same(decryptBookmark(keys, body), bookmark, 'and only the client can open it')
  const stored = await snapshot(app.context)
  t.ok(stored.includes(sealed.encrypted_data), 'the ciphertext is stored')
  t.notOk(stored.includes('private'), 'the plaintext is not')
})

t.test('1. It offers create, read, update and soft-delete of encrypted bookmark records.', async (t) => {
  const ada = await app.user('ada')
  const { body: created } = await ada.call('POST', '/api/v1/bookmarks', { body: content })
  const path = `/api/v1/bookmarks/${created.id}`
  t.hasStrict((await ada.call('GET', path)).body, content)
  t.hasStrict((await ada.call('PUT', path, { body: { ...content, data_hash: 'other' } })).body, { data_hash: 'other' })
  t.hasStrict((await ada.call('DELETE', path)).body, { success: true })
  t.equal((await ada.call('GET', path)).status, 404)
})

t.test("2. It synchronises changes between a user's devices.", async (t) => {
  const ada = await app.user('ada sync')
  const origin = await app.listen()
  const phone = await openDevice(t, origin, ada, { deviceId: 'phone' })
  const older = change({ entity_id: 'b1', timestamp: 1000, device_id: 'laptop' })
  const newer = change({ entity_id: 'b1', timestamp: 2000, device_id: 'desk' })
  const push = (event: object) => ada.call('POST', '/api/v1/sync/push', { body: { changes: [event] } })

  t.hasStrict((await push(newer)).body, { accepted: 1 }, 'clients push local changes')
  const { changes, cursor } = await pullAll(ada)
  t.same(ids(changes), [newer.id], 'clients pull changes')
  t.same((await pullAll(ada, { since: cursor })).changes, [], 'since a timestamp')
  t.hasStrict((await push(older)).body, { accepted: 0, conflicts: [{ entity_id: 'b1', resolution: 'rejected' }] })
  t.same(ids((await pullAll(ada)).changes), [newer.id], 'conflicts are resolved automatically on push')
  t.hasStrict(await phone.nextSync(), { event: { id: newer.id } }, 'a WebSocket channel carries real-time sync events')
})

t.test('3. It bulk-imports bookmarks.', async (t) => {
  const ada = await app.user('ada import')
  const bookmarks = Array.from({ length: 500 }, (_, index) => ({ id: `b${index}`, ...content }))
  const { body } = await ada.call('POST', '/api/v1/sync/import', { body: { bookmarks } })
  t.hasStrict(body, { imported: 500 })
  t.same(body.errors, [])
  t.equal((await ada.call('GET', '/api/v1/bookmarks?limit=1000')).body.data.length, 500)
})

t.test('4. It creates, lists, downloads and deletes encrypted export files.', async (t) => {
  const ada = await app.user('ada export')
  const keys = deriveKeys(new Uint8Array(32).fill(8))
  const bookmark = { id: 'b1', title: 'Kept', source: 'bookmarks' } as const
  await ada.call('POST', '/api/v1/bookmarks', { body: { id: 'b1', ...encryptBookmark(keys, bookmark) } })
  const { id } = await createdExport(ada)
  t.same(ids((await ada.call('GET', '/api/v1/exports')).body.exports), [id])
  const { raw } = await ada.call('GET', `/api/v1/exports/${id}`)
  const { body: key } = await ada.call('GET', '/api/v1/account/export-key')
  const opened = await openExport(new Uint8Array(raw), { exportKey: Buffer.from(key.key, 'base64'), keys })
  t.same(opened.bookmarks, [bookmark])
  t.hasStrict((await ada.call('DELETE', `/api/v1/exports/${id}`)).body, { success: true })
  t.same((await ada.call('GET', '/api/v1/exports')).body.exports, [])
})

t.test('5. It authenticates users through OAuth 2.0 with an external identity provider.', async (t) => {
  const { call } = await buildWithMock(t)
  const browser = openBrowser(call)
  t.equal((await browser.call('GET', '/api/v1/bookmarks')).status, 401)
  await browser.signIn('Ada')
  t.equal((await browser.call('GET', '/api/v1/bookmarks')).status, 200, 'and keeps the session in cookies')
})

t.test('6. It reports its own health.', async (t) => {
  t.hasStrict((await app.call('GET', '/api/v1/health')).body, { name: 'encrypted-bookmark-sync' })
})

t.test("All data endpoints act only on the authenticated user's data.", async (t) => {
  const [ada, bob] = [await app.user('ada own'), await app.user('bob own')]
  const mine = await ada.call('POST', '/api/v1/bookmarks', { body: { id: 'mine', ...content } })
  await bob.call('POST', '/api/v1/bookmarks', { body: { id: 'mine', ...content, data_hash: 'his' } })
  await bob.call('DELETE', '/api/v1/bookmarks/mine')
  t.same((await ada.call('GET', '/api/v1/bookmarks')).body.data, [mine.body], 'one id for two users: two records')
  t.hasStrict((await ada.call('GET', '/api/v1/sync/status')).body, { total_bookmarks: 1, user_id: ada.userId })
})

function ids(items: { id: string }[]): string[] {
  return items.map(({ id }) => id)
}
