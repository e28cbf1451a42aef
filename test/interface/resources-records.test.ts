import t from 'tap'
import { deriveKeys } from '../../src/client/crypto/keys.ts'
import { encryptBookmark } from '../../src/client/crypto/record.ts'
import { buildApp } from '../support/app.ts'
import { change, pullAll } from '../support/changes.ts'
import { findStored } from '../support/database.ts'

const app = await buildApp(t)
const keys = deriveKeys(new Uint8Array(32).fill(1))
const content = encryptBookmark(keys, { id: 'b1', title: 'Title', source: 'bookmarks' })

t.test('Bookmark record', async (t) => {
  const ada = await app.user('ada')
  const at = (now: number) => app.setClock(now)
  t.teardown(() => app.setClock(undefined))
  at(1_763_700_000_000)
  const { body: created } = await ada.call('POST', '/api/v1/bookmarks', { body: { id: 'b1', ...content } })
  at(1_763_700_000_500)
  const next = encryptBookmark(keys, { id: 'b1', title: 'Other', source: 'bookmarks' })
  const { body: updated } = await ada.call('PUT', '/api/v1/bookmarks/b1', { body: next })
  at(1_763_700_001_000)
  await ada.call('DELETE', '/api/v1/bookmarks/b1')
  const kept = await findStored(app.context, ada.userId)

  t.test('Bookmark record | id | string | Bookmark identifier', async (t) => {
    t.equal(created.id, 'b1')
    t.equal(updated.id, 'b1')
    const { body: unnamed } = await ada.call('POST', '/api/v1/bookmarks', { body: content })
    t.match(unnamed.id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/, 'else a UUIDv7')
  })
  t.test('Bookmark record | encrypted_data | string | Base64-encoded encrypted bookmark JSON', async (t) => {
    t.equal(created.encrypted_data, content.encrypted_data)
    t.equal(updated.encrypted_data, next.encrypted_data)
    t.equal(kept.encrypted_data, next.encrypted_data, 'a deleted record keeps it')
  })
  t.test('Bookmark record | data_hash | string | SHA-256 hash of the plaintext data', async (t) => {
    t.match(created.data_hash, /^[0-9a-f]{64}$/)
    t.equal(created.data_hash, content.data_hash)
    t.equal(updated.data_hash, next.data_hash)
  })
  t.equal(created.created_at, 1_763_700_000_000, 'Bookmark record | created_at | integer | Unix ms')
  t.equal(updated.created_at, 1_763_700_000_000, 'it never changes')
  t.equal(created.updated_at, 1_763_700_000_000, 'Bookmark record | updated_at | integer | Unix ms')
  t.equal(updated.updated_at, 1_763_700_000_500)
  t.test('Bookmark record | deleted_at | Null while live; set on soft delete', async (t) => {
    t.equal(created.deleted_at, null)
    t.equal(updated.deleted_at, null)
    t.equal(kept.deleted_at, 1_763_700_001_000)
  })
  t.test('Bookmark record: nothing else', async (t) => {
    const fields = ['id', 'encrypted_data', 'data_hash', 'created_at', 'updated_at', 'deleted_at']
    t.same(Object.keys(created).sort(), fields.sort())
  })
})

t.test('Sync event', async (t) => {
  const ada = await app.user('ada events')
  const pushed = [
    change({ entity_id: 'b1', timestamp: 1000, device_id: 'phone', operation: 'create' }),
    change({ entity_id: 'h1', timestamp: 2000, device_id: 'phone', operation: 'update', entity_type: 'history' }),
    change({ entity_id: 'g1', timestamp: 3000, device_id: 'desk', operation: 'delete', entity_type: 'group' }),
  ]
  await ada.call('POST', '/api/v1/sync/push', { body: { changes: pushed } })
  const { changes: events, cursor } = await pullAll(ada)
  const all = (field: string) => events.map((event) => (event as Record<string, unknown>)[field])

  const rows: Record<string, unknown[]> = {
    'id | string | Unique sync event id': pushed.map(({ id }) => id),
    'user_id | string | User who made the change': [ada.userId, ada.userId, ada.userId],
    'entity_type | string | One of: bookmark, history, group': ['bookmark', 'history', 'group'],
    'entity_id | string | Affected entity id': ['b1', 'h1', 'g1'],
    'operation | string | One of: create, update, delete': ['create', 'update', 'delete'],
    'timestamp | integer | When the change occurred (Unix ms)': [1000, 2000, 3000],
    'device_id | string | Device that made the change': ['phone', 'phone', 'desk'],
    'encrypted_data | string | Encrypted data; present for create and update': [
      pushed[0]?.encrypted_data,
      pushed[1]?.encrypted_data,
      undefined,
    ],
    'data_hash | string | Integrity hash': [pushed[0]?.data_hash, pushed[1]?.data_hash, undefined],
  }
  for (const [row, values] of Object.entries(rows)) {
    t.strictSame(all(String(row.split(' ')[0])), values, `Sync event | ${row}`)
  }

  async function pushOver(fields: Parameters<typeof change>[0]) {
    await ada.call('POST', '/api/v1/sync/push', { body: { changes: [change(fields)] } })
    return (await pullAll(ada)).changes.find(({ entity_id }) => entity_id === fields.entity_id)
  }
  t.test('Sync event | conflict_resolved | boolean | Whether this event resolved a conflict', async (t) => {
    t.strictSame(all('conflict_resolved'), [false, false, false])
    const seen = await pushOver({ entity_id: 'h1', entity_type: 'history', timestamp: 2500, base: cursor })
    t.equal(seen?.conflict_resolved, false, 'an edit of the version that was seen')
    const unseen = await pushOver({ entity_id: 'b1', timestamp: 1500, device_id: 'desk', base: 0 })
    t.equal(unseen?.conflict_resolved, true, 'one of a version that was not')
  })
  t.test('Sync event | resolution_strategy | string or null | How the conflict was resolved', async (t) => {
    t.strictSame(all('resolution_strategy'), [null, null, null])
    const newer = await pushOver({ entity_id: 'b1', timestamp: 1600, device_id: 'phone', base: 0 })
    t.equal(newer?.resolution_strategy, 'last_write_wins')
    const tied = await pushOver({ entity_id: 'b1', timestamp: 1600, device_id: 'tablet' })
    t.hasStrict(tied, { resolution_strategy: 'device_id', conflict_resolved: true })
  })
})

t.test('ConflictInfo', async (t) => {
  const ada = await app.user('ada conflicts')
  const winner = change({ entity_id: 'b1', timestamp: 2000, device_id: 'desk' })
  const loser = change({ entity_id: 'b1', timestamp: 1000, device_id: 'phone' })
  await ada.call('POST', '/api/v1/sync/push', { body: { changes: [winner] } })
  const { body } = await ada.call('POST', '/api/v1/sync/push', { body: { changes: [loser] } })
  const [conflict] = body.conflicts

  t.equal(conflict.entity_id, 'b1', 'ConflictInfo | entity_id | string | Entity whose change lost')
  t.equal(conflict.event_id, loser.id, 'and which change')
  t.equal(
    conflict.reason,
    'Last write wins: the version of 2000 by desk is newer',
    'ConflictInfo | reason | string | Human-readable reason',
  )
  t.equal(conflict.resolution, 'rejected', "ConflictInfo | resolution | string | Outcome; the value 'rejected' occurs")
})

t.test('ImportBookmark and its error item', async (t) => {
  const ada = await app.user('ada imports')
  const now = 1_763_700_000_000
  app.setClock(now)
  t.teardown(() => app.setClock(undefined))
  async function importOne(bookmark: object) {
    const { body } = await ada.call('POST', '/api/v1/sync/import', { body: { bookmarks: [bookmark] } })
    return body
  }
  const find = async (id: string) => (await ada.call('GET', `/api/v1/bookmarks/${id}`)).body

  t.test('ImportBookmark | id | string | yes | Unique id', async (t) => {
    t.same((await importOne({ id: 'i1', ...content })).imported_ids, ['i1'])
    const missing = await ada.call('POST', '/api/v1/sync/import', { body: { bookmarks: [content] } })
    t.same([missing.status, missing.body], [400, { error: 'Invalid bookmarks format' }])
  })
  for (const field of ['encrypted_data', 'data_hash'] as const) {
    const note = field === 'data_hash' ? 'Integrity hash' : 'Encrypted bookmark'
    t.test(`ImportBookmark | ${field} | string | yes | ${note}`, async (t) => {
      const id = `of ${field}`
      const { [field]: _, ...rest } = content
      t.same((await importOne({ id, ...rest })).errors, [{ id, error: `${field} is required` }])
      const { errors } = await importOne({ id, ...content, [field]: 7 })
      t.match(errors, [{ id, error: new RegExp(`^${field} must be a string`) }])
      t.equal((await importOne({ id, ...content })).imported, 1)
      t.equal((await find(encodeURIComponent(id)))[field], content[field])
    })
  }
  t.test('ImportBookmark | date_added | integer | no | Original creation, Unix SECONDS', async (t) => {
    await importOne({ id: 'added', ...content, date_added: 1_600_000_000 })
    t.hasStrict(await find('added'), { created_at: 1_600_000_000_000, updated_at: 1_600_000_000_000 })
    await importOne({ id: 'undated', ...content })
    t.hasStrict(await find('undated'), { created_at: now, updated_at: now }, 'without it: now')
    const { errors } = await importOne({ id: 'ms', ...content, date_added: now })
    t.same(errors, [{ id: 'ms', error: 'date_added is not in seconds' }])
  })
  t.test('ImportBookmark | date_modified | integer | no | Original modification, Unix SECONDS', async (t) => {
    await importOne({ id: 'modified', ...content, date_added: 1_600_000_000, date_modified: 1_600_000_500 })
    t.hasStrict(await find('modified'), { created_at: 1_600_000_000_000, updated_at: 1_600_000_500_000 })
    const { errors } = await importOne({ id: 'ms', ...content, date_modified: now })
    t.same(errors, [{ id: 'ms', error: 'date_modified is not in seconds' }])
  })
  t.test('Import error item | id | string; error | string', async (t) => {
    t.same((await importOne({ id: 'i1', ...content })).errors, [{ id: 'i1', error: 'Bookmark already exists' }])
  })
})
