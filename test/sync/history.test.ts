/** Rules that the model in history-model.test.ts leaves out: defaults, limits, other devices, erasure. */
import t from 'tap'
import type { Schemas } from '../../src/service/contract/schemas.ts'
import { buildApp, type TestApp, type TestUser } from '../support/app.ts'
import { change, pullAll, push } from '../support/changes.ts'
import { pick } from '../support/pick.ts'
import { countUsage, usage } from '../support/usage.ts'

const dayMs = 86_400_000
const app = await buildApp(t)
let people = 0

/** A different user for each test, whose first sequence number is `start`. */
async function open(of: TestApp = app) {
  const start = Date.now() + people * 1000
  of.setClock(start)
  const name = `ada ${++people}`
  const ada = await of.user(name)
  const get = async (path: string) => (await ada.call('GET', path)).body
  const put = (id: string, text: string, device?: string) =>
    ada.call('PUT', `/api/v1/bookmarks/${id}`, { body: content(text), ...by(device) })
  const versions = async (id: string): Promise<Schemas['Version'][]> =>
    (await get(`/api/v1/bookmarks/${id}/versions`)).versions
  return { start, name, ada, get, put, versions }
}

const content = (text: string) => ({ encrypted_data: text, data_hash: `hash-of-${text.slice(0, 20)}` })
const by = (device?: string) => ({ headers: device === undefined ? {} : { 'x-device-id': device } })
const create = (user: TestUser, id: string, text: string) =>
  user.call('POST', '/api/v1/bookmarks', { body: { id, ...content(text) } })
const texts = (versions: Schemas['Version'][]) => versions.map(({ encrypted_data }) => encrypted_data)

t.test('A push that replaces entities of two types keeps the ciphertexts of both', async (t) => {
  const { start, ada, versions } = await open()
  for (const [edit, text] of ['the first', 'the second version'].entries()) {
    const made = { entity_id: 'x', timestamp: start + edit, ...content(text) }
    await push(ada, change({ entity_type: 'bookmark', ...made }), change({ entity_type: 'group', ...made }))
  }
  t.same(texts(await versions('x')), ['the first'])
  t.same(await countUsage(app.context, ada.userId), await usage(app.context, ada.userId))
})

t.test('A bookmark’s versions are listed newest first, each with its time and why it was replaced', async (t) => {
  const { start, ada, put, versions } = await open()
  t.same((await ada.call('GET', '/api/v1/bookmarks/x/versions')).body, { error: 'Bookmark not found' })
  await create(ada, 'x', 'one')
  t.same(await versions('x'), [], 'a create makes no version')
  await put('x', 'two', 'laptop')
  const rejected = change({ entity_id: 'x', timestamp: 1, device_id: 'phone', operation: 'update', ...content('lost') })
  await push(ada, rejected)
  await put('x', 'three', 'tablet')
  await ada.call('DELETE', '/api/v1/bookmarks/x', by('tablet'))
  const kept = await versions('x')
  t.match(kept, [
    { operation: 'update', device_id: 'tablet', encrypted_data: 'three', reason: 'superseded' },
    { operation: 'update', device_id: 'laptop', encrypted_data: 'two', reason: 'overwritten', settled_at: null },
    { version_id: rejected.id, device_id: 'phone', encrypted_data: 'lost', reason: 'rejected', began: null },
    { operation: 'create', encrypted_data: 'one', data_hash: 'hash-of-one', reason: 'overwritten', began: start },
  ])
  const current = kept.filter(({ began }) => began !== null)
  t.same(pick(current.slice(0, -1), 'began'), pick(current.slice(1), 'ended'), 'without a gap')
  t.ok(kept.every(({ erased_at }) => erased_at >= start + 30 * dayMs && erased_at < start + 31 * dayMs))
  const byId = new Map(kept.map((version) => [version.version_id, version]))
  t.equal(byId.get(kept[3]?.replaced_by as string)?.encrypted_data, 'two')

  const paged: unknown[] = []
  for (let after = ''; ; ) {
    const { body } = await ada.call('GET', `/api/v1/bookmarks/x/versions?limit=3${after}`)
    paged.push(...body.versions)
    if (body.next === null) break
    after = `&after=${body.next}`
  }
  t.same(paged, kept, 'page by page')
})

t.test('A page ends early after 512 KiB of ciphertext', async (t) => {
  const { ada, put, get } = await open()
  await create(ada, 'x', 'x'.repeat(262_144))
  for (const _ of Array(4)) await put('x', 'x'.repeat(262_144))
  const { versions, next } = await get('/api/v1/bookmarks/x/versions')
  t.equal(versions.length, 2)
  t.equal((await get(`/api/v1/bookmarks/x/versions?after=${next}`)).versions.length, 2)
})

t.test('The trash lists restorable bookmarks, the last deleted first; purged ones are gone', async (t) => {
  const { start, ada, get } = await open()
  for (const id of ['x', 'y', 'z']) await create(ada, id, `text of ${id}`)
  for (const id of ['y', 'x']) await ada.call('DELETE', `/api/v1/bookmarks/${id}`)
  const { bookmarks } = await get('/api/v1/trash')
  t.match(bookmarks, [
    { id: 'x', ...content('text of x') },
    { id: 'y', ...content('text of y') },
  ])
  t.ok(bookmarks.every(({ erased_at }: Schemas['DeletedBookmark']) => Math.abs(erased_at - start - 30 * dayMs) < 1000))
  const first = await get('/api/v1/trash?limit=1')
  t.same(
    [first.bookmarks, (await get(`/api/v1/trash?after=${first.next}`)).bookmarks],
    [[bookmarks[0]], [bookmarks[1]]],
  )

  t.equal((await ada.call('DELETE', '/api/v1/trash/z')).status, 404, 'a bookmark that is not deleted cannot be purged')
  for (const _ of ['once', 'and again']) t.equal((await ada.call('DELETE', '/api/v1/trash/x')).status, 200)
  t.same((await get('/api/v1/trash')).bookmarks, [bookmarks[1]])
  t.same((await get('/api/v1/bookmarks/x/versions')).versions, [])
  const left = { bytes: 'text of ytext of z'.length, records: 3 }
  t.same([await usage(app.context, ada.userId), await countUsage(app.context, ada.userId)], [left, left])
  t.equal((await ada.call('POST', '/api/v1/bookmarks/x/restore')).body.error, 'Version not found')
  t.equal((await pullAll(ada)).changes.find(({ entity_id }) => entity_id === 'x')?.data_hash, 'hash-of-text of x')
  const older = change({ entity_id: 'x', timestamp: 1 })
  t.equal((await push(ada, older)).body.conflicts.length, 1)
})

t.test('After a large import, a rewind to now changes nothing, and to before an edit undoes only that', async (t) => {
  const { start, ada } = await open()
  const rewind = async (to: number, dry_run = true) =>
    (await ada.call('POST', '/api/v1/sync/rewind', { body: { to, dry_run } })).body
  for (const part of ['a', 'b', 'c']) {
    const bookmarks = Array.from({ length: 100 }, (_, index) => ({ id: `${part}${index}`, ...content('imported') }))
    await ada.call('POST', '/api/v1/sync/import', { body: { bookmarks } })
    app.setClock(start + 10)
  }
  app.setClock(start + 20)
  await ada.call('PUT', '/api/v1/bookmarks/a0', { body: content('edited') })
  app.setClock(start + 30)
  const nothing = { restored: 0, deleted: 0, unchanged: 300, beyond_retention: 0, next: null }
  for (const to of [start + 30, start + 25]) t.same(await rewind(to), nothing)
  t.same(await rewind(start + 15), { ...nothing, restored: 1, unchanged: 299 })
  t.same(await rewind(start + 5), { ...nothing, restored: 1, deleted: 200, unchanged: 99 }, 'the first import')
  const { cursor } = await pullAll(ada)
  t.match(await rewind(start + 15, false), { restored: 1 })
  t.match(await rewind(start + 30), { restored: 0 }, 'to now')
  t.match(await rewind(cursor, false), { restored: 1, deleted: 0 }, 'a rewind to the cursor before the edit')
})

t.test('By default, a version that only looks re-encrypted is restored if no other is left', async (t) => {
  const { ada, versions, get } = await open()
  const pushX = (fields: object) => push(ada, change({ entity_id: 'x', ...fields }))
  await pushX({ id: 'edit', ...content('good') })
  for (const id of ['edit', 'edit~001'])
    await pushX({ id, operation: 'update', encrypted_data: `junk as ${id}`, data_hash: content('good').data_hash })
  const { status, body } = await ada.call('POST', '/api/v1/bookmarks/x/restore', { body: {} })
  t.match([status, body.encrypted_data], [200, 'junk as edit'])
  t.same(texts(await versions('x')), ['junk as edit~001', 'junk as edit', 'good'])
  await ada.call('POST', '/api/v1/bookmarks/x/restore', { body: { version_id: 'edit' } })
  t.equal((await get('/api/v1/bookmarks/x')).encrypted_data, 'good')
})

t.test('Of several versions with the same id, the first to arrive is settled or restored', async (t) => {
  const { ada, put, get } = await open()
  await create(ada, 'x', 'one')
  const lost = { id: 'lost', entity_id: 'x', operation: 'update', timestamp: 1, device_id: 'phone' } as const
  for (const text of ['first', 'second', 'third']) await push(ada, change({ ...lost, ...content(text) }))
  const conflicts = async () => texts((await get('/api/v1/sync/conflicts')).conflicts)
  t.same(await conflicts(), ['third', 'second', 'first'])
  for (const _ of ['open', 'settled']) {
    await ada.call('POST', '/api/v1/bookmarks/x/restore', { body: { version_id: 'lost' } })
    t.equal((await get('/api/v1/bookmarks/x')).encrypted_data, 'first')
    t.same(await conflicts(), ['third', 'second'])
  }
  const settle = () => ada.call('DELETE', '/api/v1/sync/conflicts/lost')
  t.equal((await settle()).status, 200)
  t.same(await conflicts(), ['third'])
  await put('x', 'four')
  t.equal((await settle()).status, 200)
  t.equal((await settle()).status, 404)
})
