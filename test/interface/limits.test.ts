import t from 'tap'
import { buildApp } from '../support/app.ts'
import { httpCall, openBrowser } from '../support/browser.ts'
import { change } from '../support/changes.ts'
import { setCookies } from '../support/cookies.ts'
import { countRows } from '../support/database.ts'
import { buildWithMock } from '../support/mock-service.ts'

const content = { encrypted_data: 'AWVuY3J5cHRlZA==', data_hash: 'hash' }
const app = await buildApp(t)
const ada = await app.user('ada')
const bookmarks = Array.from({ length: 10_000 }, (_, index) => ({ id: `b${index}`, ...content }))
const imported = await ada.call('POST', '/api/v1/sync/import', { body: { bookmarks } })
await ada.call('POST', '/api/v1/bookmarks', { body: content })

async function list(query: string) {
  const { status, body } = await ada.call('GET', `/api/v1/bookmarks${query}`)
  return [status, body.error ?? body.data.length]
}

async function pull(body: object) {
  const answer = await ada.call('POST', '/api/v1/sync/pull', { body })
  return [answer.status, answer.body.error ?? answer.body.changes.length]
}

t.test('Bookmark list page size | default 100, max 1000 | GET /api/v1/bookmarks (limit)', async (t) => {
  t.same(await list(''), [200, 100])
  t.same(await list('?limit=1000'), [200, 1000])
  for (const limit of ['1001', '0', '-1', '10000000000000000000', '1.5', 'ten', '']) {
    t.same(await list(`?limit=${limit}`), [400, 'limit must be an integer from 1 to 1000'], `limit=${limit}`)
  }
})

t.test('Bookmark list page | default 1 | GET /api/v1/bookmarks (page)', async (t) => {
  const first = (await ada.call('GET', '/api/v1/bookmarks')).body
  t.equal(first.meta.page, 1)
  t.same((await ada.call('GET', '/api/v1/bookmarks?page=1')).body, first)
  for (const page of ['0', '-1', '1000001', '1e3', '+1', '%201', '01', '0x1']) {
    t.same(await list(`?page=${page}`), [400, 'page must be an integer from 1 to 1000000'], `page=${page}`)
  }
})

t.test('Pull batch size | default 1000, max 10000 | POST /api/v1/sync/pull (limit)', async (t) => {
  t.same(await pull({}), [200, 1000])
  t.same(await pull({ limit: 10_000 }), [200, 10_000])
  for (const limit of [10_001, 0, -1, 1.5, '10', null, true, [1]]) {
    t.same(await pull({ limit }), [400, 'limit must be an integer from 1 to 10000'], `limit ${limit}`)
  }
  for (const since of [-1, 1.5, '0', null, 2 ** 53]) {
    t.same(await pull({ since }), [400, 'since must be an integer from 0 to 9007199254740991'], `since ${since}`)
  }
})

t.test('Session cookie lifetime | 7 days | service_session', async (t) => {
  const { call } = await buildWithMock(t)
  const [session, refresh] = setCookies(await openBrowser(call).signIn('Ada'))
  t.equal(session?.attributes['max-age'], String(7 * 24 * 60 * 60))
  t.equal(
    refresh?.attributes['max-age'],
    String(30 * 24 * 60 * 60),
    'Refresh cookie lifetime | 30 days | service_refresh',
  )
})

t.test('Push and import: at most 10,000 at once, or nothing is applied', async (t) => {
  t.equal(imported.body.imported, 10_000)
  const bob = await app.user('bob')
  const changes = Array.from({ length: 10_000 }, (_, index) => change({ entity_id: `b${index}` }))
  const accepted = await bob.call('POST', '/api/v1/sync/push', { body: { changes } })
  t.equal(accepted.body.accepted, 10_000)
  const before = await countRows(app.context)
  const tooMany = {
    push: [{ changes: [...changes, change({ entity_id: 'last' })] }, 'Invalid changes format'],
    import: [{ bookmarks: [...bookmarks, { id: 'last', ...content }] }, 'Invalid bookmarks format'],
  } as const
  for (const [path, [body, error]] of Object.entries(tooMany)) {
    const answer = await bob.call('POST', `/api/v1/sync/${path}`, { body })
    t.same([answer.status, answer.body], [400, { error }], path)
  }
  t.same(await countRows(app.context), before)
})

t.test('Request size: 1 MiB; push and import 32 MiB; auth 8 KiB', async (t) => {
  const padding = (bytes: number, body: object) => {
    const json = JSON.stringify(body)
    return { payload: json + ' '.repeat(bytes - json.length), headers: { 'content-type': 'application/json' } }
  }
  const mebibyte = 1_048_576
  const bodies = [
    ['/api/v1/bookmarks', mebibyte, content, 201],
    ['/api/v1/sync/pull', mebibyte, {}, 200],
    ['/api/v1/sync/push', 32 * mebibyte, { changes: [] }, 200],
    ['/api/v1/sync/import', 32 * mebibyte, { bookmarks: [] }, 200],
    ['/api/v1/auth/logout', 8192, {}, 200],
  ] as const
  for (const [path, most, body, status] of bodies) {
    t.equal((await ada.call('POST', path, padding(most, body))).status, status, `${path}: ${most} bytes`)
    const larger = await ada.call('POST', path, padding(most + 1, body))
    t.same([larger.status, larger.body], [413, { error: 'Request body too large' }], `${path}: one more`)
  }
})

t.test('URL and headers: 16 KiB together', async (t) => {
  const call = httpCall(await app.listen())
  const ask = (bytes: number) => call('GET', `/api/v1/auth/callback?code=${'x'.repeat(bytes)}`)
  t.equal((await ask(15_000)).status, 302)
  const { status, body } = await ask(16_384)
  t.same([status, body], [431, { error: 'Request headers too large' }])
})
