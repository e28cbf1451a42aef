import t from 'tap'
import openapi from '../../generated/openapi.json' with { type: 'json' }
import type { PlaintextBookmark } from '../../src/client/bookmark.ts'
import { deriveKeys } from '../../src/client/crypto/keys.ts'
import { decryptBookmark, encryptBookmark } from '../../src/client/crypto/record.ts'
import { openChunks, openExport } from '../../src/client/export-file/export-file.ts'
import { buildApp } from '../support/app.ts'
import { change, pullAll } from '../support/changes.ts'
import { checkOpened } from '../support/contract.ts'
import { createdExport } from '../support/exports.ts'

const app = await buildApp(t)
const ada = await app.user('ada')
const keys = deriveKeys(new Uint8Array(32).fill(3))
const schema = openapi.components.schemas.PlaintextBookmark
const properties: Record<string, { type: string | string[] }> = schema.properties

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
}

/** A bookmark as a second device sees it after a first one has pushed it. */
async function roundTrip(bookmark: PlaintextBookmark): Promise<PlaintextBookmark> {
  const { id } = bookmark
  const pushed = change({ entity_id: id, ...encryptBookmark(keys, bookmark) })
  await ada.call('POST', '/api/v1/sync/push', { body: { changes: [pushed] } })
  const { changes } = await pullAll(ada)
  const event = changes.find(({ entity_id }) => entity_id === id)
  return decryptBookmark(keys, { id, encrypted_data: event?.encrypted_data ?? '', data_hash: event?.data_hash ?? '' })
}

const back: Record<string, unknown> = await roundTrip(star)
const sent: Record<string, unknown> = star

const rows: [field: string, type: string, required: string, notes: string][] = [
  ['id', 'string', 'yes', 'Unique identifier'],
  ['title', 'string', 'yes', ''],
  ['url', 'string', 'no', 'Optional, since folders have none'],
  ['parentId', 'string', 'no', 'Parent folder id'],
  ['dateAdded', 'string', 'no', 'ISO 8601'],
  ['dateModified', 'string', 'no', 'ISO 8601'],
  ['folder', 'string', 'no', 'Folder name'],
  ['path', 'string', 'no', 'Full path'],
  ['tags', 'string[]', 'no', 'User-defined'],
  ['favicon', 'string', 'no', 'URL or data URI'],
  ['domain', 'string', 'no', 'Extracted domain'],
  ['source', 'string', 'yes', 'One of: bookmarks, history, groups, stars'],
  ['name', 'string', 'no', 'Repository name (starred repositories)'],
  ['full_name', 'string', 'no', 'owner/repo form (starred repositories)'],
  ['stargazers_count', 'number', 'no', 'Star count (starred repositories)'],
  ['description', 'string or null', 'no', 'Repository description (starred repositories)'],
  ['owner', 'object', 'no', 'Holds login (string) and avatar_url (string) (starred repositories)'],
]
for (const [field, type, required, notes] of rows) {
  t.test(`Plaintext bookmark | ${field} | ${type} | ${required} | ${notes}`, async (t) => {
    t.same(back[field], sent[field], 'a second device has it as the first one wrote it')
    const documented = properties[field]?.type
    t.same(documented, type === 'string[]' ? 'array' : type === 'string or null' ? ['string', 'null'] : type)
    t.equal(schema.required.includes(field), required === 'yes')
  })
}

t.test('Plaintext bookmark: the types of what is inside tags, source and owner', async (t) => {
  t.equal(schema.properties.tags.items.type, 'string')
  t.same(schema.properties.source.enum, ['bookmarks', 'history', 'groups', 'stars'])
  const owner = schema.properties.owner.properties
  t.same([owner.login.type, owner.avatar_url.type], ['string', 'string'])
})

for (const source of ['bookmarks', 'history', 'groups', 'stars'] as const) {
  t.test(`Plaintext bookmark | source | ${source} makes the round trip`, async (t) => {
    const least = { id: `least of ${source}`, title: '', source }
    t.same(await roundTrip(least), least, 'with only the required fields')
    const described = { ...least, description: 'Not null.' }
    t.same(await roundTrip(described), described)
  })
}

t.test('Export file (binary download)', async (t) => {
  await ada.call('PUT', '/api/v1/account/export-key', {
    body: { key: Buffer.from(keys.exportKey).toString('base64') },
  })
  const before = Date.now()
  const { id } = await createdExport(ada)
  const { raw } = await ada.call('GET', `/api/v1/exports/${id}`)
  const file = new Uint8Array(raw)
  const opened = checkOpened('OpenedExport', await openExport(file, { exportKey: keys.exportKey, keys }))

  t.test("The file is encrypted with XChaCha20-Poly1305 under the user's encryption key.", async (t) => {
    t.equal(raw.subarray(0, 5).toString('latin1'), 'EBSX\x01')
    t.notOk(raw.includes('exported_at'), 'not in the clear')
    const chunks: Uint8Array[] = []
    for await (const chunk of openChunks(file, keys.exportKey)) chunks.push(chunk.slice())
    const sealed = JSON.parse(Buffer.concat(chunks).toString()).bookmarks
    t.equal(sealed.length, 5)
    t.ok(
      sealed.every((it: object) => 'encrypted_data' in it && !('title' in it)),
      "inside is the client's ciphertext",
    )
    const other = { exportKey: new Uint8Array(32), keys }
    await t.rejects(openExport(file, other), /another export key/, 'another key does not open it')
  })
  t.equal(opened.version, '1', 'Export file | version | string')
  t.test('Export file | exported_at | string (ISO 8601)', async (t) => {
    const at = new Date(opened.exported_at)
    t.equal(at.toISOString(), opened.exported_at)
    t.ok(at.getTime() >= before && at.getTime() <= Date.now())
  })
  t.equal(opened.bookmark_count, 5, 'Export file | bookmark_count | integer')
  t.equal(opened.bookmarks.length, 5, 'Export file | bookmarks | array of plaintext bookmarks')
  t.same(
    opened.bookmarks.find((bookmark) => bookmark.id === star.id),
    star,
  )
})
