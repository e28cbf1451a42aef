import t from 'tap'
import openapi from '../../generated/openapi.json' with { type: 'json' }
import type { PlaintextBookmark } from '../../src/client/bookmark.ts'
import { deriveKeys } from '../../src/client/crypto/keys.ts'
import { decryptBookmark, encryptBookmark } from '../../src/client/crypto/record.ts'
import { openChunks, openExport } from '../../src/client/export-file/export-file.ts'
import { buildApp } from '../support/app.ts'
import { change, pullAll, push } from '../support/changes.ts'
import { checkOpened } from '../support/contract.ts'
import { snapshot } from '../support/database.ts'
import { createdExport } from '../support/exports.ts'

const app = await buildApp(t)
const ada = await app.user('ada')
const keys = deriveKeys(new Uint8Array(32).fill(3))

const star: PlaintextBookmark = {
  id: 'stars:kysely',
  title: 'kysely — «type-safe» 🚀',
  url: 'https://github.example/kysely-org/kysely?a=b#c',
  parentId: 'folder:1',
  dateAdded: '2026-11-21T08:00:00.000Z',
  dateModified: '2026-11-21T09:00:00.000Z',
  folder: 'Databases',
  path: 'Work/Databases',
  tags: ['sql', 'ключ', ''],
  favicon: 'data:image/png;base64,iVBORw0KGgo=',
  domain: 'github.example',
  source: 'stars',
  name: 'kysely',
  full_name: 'kysely-org/kysely',
  stargazers_count: 12000.5,
  description: null,
  owner: { login: 'kysely-org', avatar_url: 'https://github.example/kysely.png' },
  position: 'a1',
  color: 'blue',
  dateVisited: '2026-11-21T09:30:00.000Z',
  visits: ['2026-11-21T09:30:00.000Z', '2026-11-21T08:00:00.000Z'],
  visitCount: 2,
  type: 'separator',
  attributes: { personal_toolbar_folder: 'true' },
  extra: { color: 'red' },
}

/** The number of bookmarks that the first test makes: one with all fields, and one per source. */
const made = 5

/** A bookmark as a second device sees it after a first one has pushed it. */
async function roundTrip(bookmark: PlaintextBookmark): Promise<PlaintextBookmark> {
  const { id } = bookmark
  const pushed = change({ entity_id: id, ...encryptBookmark(keys, bookmark) })
  await push(ada, pushed)
  const { changes } = await pullAll(ada)
  const event = changes.find(({ entity_id }) => entity_id === id)
  return decryptBookmark(keys, { id, encrypted_data: event?.encrypted_data ?? '', data_hash: event?.data_hash ?? '' })
}

t.test('A second device has each field of a bookmark as the first one wrote it', async (t) => {
  const { PlaintextBookmark: schema } = openapi.components.schemas
  t.same(Object.keys(star).sort(), Object.keys(schema.properties).sort(), 'all are here')
  t.same(await roundTrip(star), star)
  for (const source of schema.properties.source.enum as PlaintextBookmark['source'][]) {
    const least = { id: `least of ${source}`, title: '', source }
    t.same(await roundTrip(least), least, 'a bookmark with only the required fields')
    const described = { ...least, description: 'Not null.' }
    t.same(await roundTrip(described), described)
  }
})

t.test('What the service stores has the ciphertext, and no plaintext', async (t) => {
  const stored = await snapshot(app.context)
  const { data } = (await ada.call('GET', '/api/v1/bookmarks')).body
  t.ok(data.length > 0 && data.every((it: { encrypted_data: string }) => stored.includes(it.encrypted_data)))
  for (const text of ['type-safe', 'Databases', 'github']) t.notOk(stored.includes(text), text)
})

t.test('Export file (binary download)', async (t) => {
  await ada.call('PUT', '/api/v1/account/export-key', { body: { key: Buffer.from(keys.exportKey).toString('base64') } })
  const before = Date.now()
  const { id } = await createdExport(ada)
  const { raw } = await ada.call('GET', `/api/v1/exports/${id}`)
  const file = new Uint8Array(raw)
  const opened = checkOpened('OpenedExport', await openExport(file, { exportKey: keys.exportKey, keys }))

  t.test("The file is encrypted with XChaCha20-Poly1305 under the user's encryption key.", async (t) => {
    t.equal(raw.subarray(0, 5).toString('latin1'), 'EBSX\x01')
    t.notOk(raw.includes('exported_at'), 'the file has no plaintext')
    const chunks: Uint8Array[] = []
    for await (const chunk of openChunks(file, keys.exportKey)) chunks.push(chunk.slice())
    const sealed = JSON.parse(Buffer.concat(chunks).toString()).bookmarks
    t.equal(sealed.length, made)
    t.ok(
      sealed.every((it: object) => 'encrypted_data' in it && !('title' in it)),
      "the file contains the client's ciphertext",
    )
    const other = { exportKey: new Uint8Array(32), keys }
    await t.rejects(openExport(file, other), /another export key/, 'another key does not open it')
  })
  const { exported_at, bookmarks, ...counted } = opened
  t.same(counted, { version: '1', bookmark_count: made })
  const at = new Date(exported_at)
  t.equal(at.toISOString(), exported_at)
  t.ok(at.getTime() >= before && at.getTime() <= Date.now())
  t.equal(bookmarks.length, made)
  t.same(
    bookmarks.find((bookmark) => bookmark.id === star.id),
    star,
  )
})
