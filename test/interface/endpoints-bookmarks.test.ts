import t from 'tap'
import { buildApp, type TestUser } from '../support/app.ts'
import { pullAll } from '../support/changes.ts'

const app = await buildApp(t)
const content = { encrypted_data: 'AWVuY3J5cHRlZA==', data_hash: 'hash' }
const id128 = `/?#%&+ ${'~'.repeat(121)}`

t.test('GET /api/v1/bookmarks | page (integer, default 1), limit (integer, default 100, max 1000)', async (t) => {
  const ada = await app.user('ada')
  const bookmarks = Array.from({ length: 1001 }, (_, index) => ({
    id: `b${String(index).padStart(4, '0')}`,
    ...content,
    date_added: 1_600_000_000 + Math.floor(index / 2),
  }))
  await ada.call('POST', '/api/v1/sync/import', { body: { bookmarks } })
  const newestFirst = bookmarks.map(({ id }) => id).reverse()
  const list = async (query: string) => (await ada.call('GET', `/api/v1/bookmarks${query}`)).body
  const pages: [query: string, first: number, count: number, page: number, limit: number][] = [
    ['', 0, 100, 1, 100],
    ['?page=2', 100, 100, 2, 100],
    ['?limit=7&page=3', 14, 7, 3, 7],
    ['?limit=1000', 0, 1000, 1, 1000],
    ['?limit=1000&page=2', 1000, 1, 2, 1000],
    ['?page=12', 1001, 0, 12, 100],
    ['?page=1000000&limit=1', 1001, 0, 1_000_000, 1],
  ]
  for (const [query, first, count, page, limit] of pages) {
    const { data, meta } = await list(query)
    t.same(idsOf(data), newestFirst.slice(first, first + count), `${query}: newest first, then by id`)
    t.same(meta, { total: 1001, page, limit })
  }
  await ada.call('DELETE', '/api/v1/bookmarks/b1000')
  const { data, meta } = await list('?limit=1')
  t.same([idsOf(data), meta.total], [['b0999'], 1000], 'deleted ones are left out')
})

t.test('GET /api/v1/bookmarks/:id | 200: bookmark record. 404: {error}', async (t) => {
  const ada = await app.user('ada get')
  const { body: created } = await ada.call('POST', '/api/v1/bookmarks', { body: { id: 'b1', ...content } })
  t.same((await ada.call('GET', '/api/v1/bookmarks/b1')).body, created)
  for (const id of ['b2', 'B1', 'b1%20', `${'a'.repeat(129)}`, '%00', '%C3%A9', `${'a'.repeat(9000)}`]) {
    const { status, body } = await ada.call('GET', `/api/v1/bookmarks/${id}`)
    t.same([status, body], [404, { error: 'Bookmark not found' }], id.slice(0, 20))
  }
})

t.test('POST /api/v1/bookmarks | encrypted_data, data_hash (strings, required) | 201. 400', async (t) => {
  const ada = await app.user('ada create')
  const { status, body } = await ada.call('POST', '/api/v1/bookmarks', { body: content })
  t.equal(status, 201)
  t.hasStrict(body, { ...content, deleted_at: null })
  for (const broken of [{ data_hash: 'x' }, { encrypted_data: 'x' }, { ...content, data_hash: 1 }]) {
    const { status, body } = await ada.call('POST', '/api/v1/bookmarks', { body: broken })
    t.same([status, body], [400, { error: 'Invalid request body' }])
  }
  t.test('its id', async (t) => {
    const given = await ada.call('POST', '/api/v1/bookmarks', { body: { id: id128, ...content } })
    t.same([given.status, given.body.id], [201, id128], 'the client may give one')
    t.equal((await ada.call('GET', `/api/v1/bookmarks/${encodeURIComponent(id128)}`)).body.id, id128)
    const again = await ada.call('POST', '/api/v1/bookmarks', { body: { id: id128, ...content } })
    t.same([again.status, again.body], [409, { error: 'Bookmark already exists' }])
  })
  t.test('the sizes of its fields', async (t) => {
    const largest = { encrypted_data: 'A'.repeat(262_144), data_hash: 'h'.repeat(128) }
    const stored = await ada.call('POST', '/api/v1/bookmarks', { body: largest })
    t.hasStrict(stored.body, largest)
    const tooLarge = [{ encrypted_data: 'A'.repeat(262_145) }, { data_hash: 'h'.repeat(129) }, { id: 'i'.repeat(129) }]
    const empty = [{ encrypted_data: '' }, { data_hash: '' }, { id: '' }]
    for (const field of [...tooLarge, ...empty]) {
      t.equal((await ada.call('POST', '/api/v1/bookmarks', { body: { ...content, ...field } })).status, 400)
    }
  })
})

t.test('PUT /api/v1/bookmarks/:id | 200: updated bookmark record. 400 or 404: {error}', async (t) => {
  const ada = await app.user('ada update')
  const put = async (id: string, body: object) => {
    const answer = await ada.call('PUT', `/api/v1/bookmarks/${id}`, { body })
    return [answer.status, answer.body.error ?? answer.body.data_hash]
  }
  await ada.call('POST', '/api/v1/bookmarks', { body: { id: 'b1', ...content } })
  t.same(await put('b1', { ...content, data_hash: 'next' }), [200, 'next'])
  t.same(await put('b1', { ...content, id: 'b2' }), [200, 'hash'], 'an id in the body is ignored')
  t.same(await put('b1', {}), [400, 'Invalid request body'])
  t.same(await put('b2', content), [404, 'Bookmark not found'])
  t.same(await put('%00', content), [404, 'Bookmark not found'])
})

t.test('DELETE /api/v1/bookmarks/:id | 200: {success: true}. 404: {error}', async (t) => {
  const ada = await app.user('ada delete')
  await ada.call('POST', '/api/v1/bookmarks', { body: { id: 'b1', ...content } })
  const remove = async (id: string) => {
    const { status, body } = await ada.call('DELETE', `/api/v1/bookmarks/${id}`)
    return [status, body]
  }
  t.same(await remove('b2'), [404, { error: 'Bookmark not found' }])
  t.same(await remove('b1'), [200, { success: true }])
  t.same(await remove('b1'), [404, { error: 'Bookmark not found' }])
})

t.test('Bookmarks: all require session', async (t) => {
  for (const [method, path] of [
    ['GET', ''],
    ['POST', ''],
    ['GET', '/b1'],
    ['PUT', '/b1'],
    ['DELETE', '/b1'],
  ] as const) {
    const { status, body } = await app.call(method, `/api/v1/bookmarks${path}`)
    t.same([status, body], [401, { error: 'Authentication required' }], `${method} ${path}`)
  }
})

t.test('Bookmarks: a write is a change by X-Device-ID that the other devices pull', async (t) => {
  t.teardown(() => app.setClock(undefined))
  app.setClock(1_763_700_000_000)
  const ada = await app.user('ada device')
  const writes: [operation: string, write: (headers: Record<string, string>) => Promise<unknown>][] = [
    ['create', (headers) => ada.call('POST', '/api/v1/bookmarks', { body: { id: 'b1', ...content }, headers })],
    ['update', (headers) => ada.call('PUT', '/api/v1/bookmarks/b1', { body: content, headers })],
    ['delete', (headers) => ada.call('DELETE', '/api/v1/bookmarks/b1', { headers })],
  ]
  for (const [index, [operation, write]] of writes.entries()) {
    await write({ 'x-device-id': `phone-${index}` })
    t.hasStrict(await newest(ada), {
      operation,
      entity_type: 'bookmark',
      entity_id: 'b1',
      device_id: `phone-${index}`,
      timestamp: 1_763_700_000_000 + index,
      user_id: ada.userId,
    })
  }
  await ada.call('POST', '/api/v1/bookmarks', { body: content })
  t.equal((await newest(ada))?.device_id, 'unknown', 'without the header')
})

async function newest(user: TestUser) {
  return (await pullAll(user)).changes.at(-1)
}

function idsOf(records: { id: string }[]): string[] {
  return records.map(({ id }) => id)
}
