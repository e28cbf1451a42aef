import t from 'tap'
import { buildApp } from '../support/app.ts'
import { pullAll } from '../support/changes.ts'
import { breakTable } from '../support/database.ts'
import { pick } from '../support/pick.ts'

const app = await buildApp(t)
const content = { encrypted_data: 'AWVuY3J5cHRlZA==', data_hash: 'hash' }

t.test('GET /api/v1/sync/status | 200: sync status. 500: {error, details (string)}', async (t) => {
  const ada = await app.user('ada')
  const { status, body } = await ada.call('GET', '/api/v1/sync/status')
  const { epoch: _epoch, digest: _digest, ...known } = body
  const none = { last_sync: 0, pending_changes: 0, conflict_count: 0, total_bookmarks: 0 }
  t.same([status, known], [200, { user_id: ada.userId, ...none }])
  t.teardown(breakTable(app.context, 'rejections'))
  const broken = await ada.call('GET', '/api/v1/sync/status')
  const details = 'The database did not answer'
  t.same([broken.status, broken.body], [500, { error: 'Failed to get sync status', details }])
})

t.test('POST /api/v1/sync/pull | since (integer, optional, default 0, Unix ms)', async (t) => {
  const ada = await app.user('ada since')
  for (const id of ['b1', 'b2']) await ada.call('POST', '/api/v1/bookmarks', { body: { id, ...content } })
  const pulled = async (request: object) => {
    const { body } = await ada.call('POST', '/api/v1/sync/pull', request)
    return { ...body, changes: body.changes.map((it: { entity_id: string }) => it.entity_id) }
  }
  const all = await pulled({})
  t.same(all.changes, ['b1', 'b2'], 'no body: from the beginning')
  for (const body of [{}, { since: 0 }]) t.same(await pulled({ body }), all)
  const end = all.last_sync_timestamp
  t.ok(Math.abs(end - Date.now()) < 60_000, 'a stamp is Unix ms')
  t.same((await pulled({ body: { since: 0, limit: 1 } })).changes, ['b1'])
  const first = (await pulled({ body: { limit: 1 } })).last_sync_timestamp
  t.same((await pulled({ body: { since: first } })).changes, ['b2'], 'changes after this time are returned')
  t.same(await pulled({ body: { since: end } }), { ...all, changes: [], last_sync_timestamp: end, has_more: false })
  t.same(
    await pulled({ body: { since: end + 99_999 } }),
    all,
    'beyond all changes: as after a restore, from the beginning',
  )
})

t.test('POST /api/v1/sync/pull | limit (integer, optional, default 1000, max 10000)', async (t) => {
  const ada = await app.user('ada limit')
  const bookmarks = Array.from({ length: 1001 }, (_, index) => ({ id: `b${index}`, ...content }))
  await ada.call('POST', '/api/v1/sync/import', { body: { bookmarks } })
  for (const [body, count, more] of [
    [{}, 1000, true],
    [{ limit: 1000 }, 1000, true],
    [{ limit: 1 }, 1, true],
    [{ limit: 1001 }, 1001, false],
    [{ limit: 10_000 }, 1001, false],
  ] as const) {
    const { body: page } = await ada.call('POST', '/api/v1/sync/pull', { body })
    t.same([page.changes.length, page.has_more], [count, more], JSON.stringify(body))
  }
})

t.test('Pull paging rule: repeat with since set to last_sync_timestamp while has_more is true', async (t) => {
  const ada = await app.user('ada paging')
  const bookmarks = Array.from({ length: 25 }, (_, index) => ({ id: `b${index}`, ...content, date_added: 1 }))
  await ada.call('POST', '/api/v1/sync/import', { body: { bookmarks } })
  for (const [limit, expected] of [
    [1, 25],
    [7, 4],
    [25, 1],
  ] as const) {
    const { changes, pages } = await pullAll(ada, { limit })
    t.same(pick(changes, 'entity_id'), pick(bookmarks, 'id'), `limit ${limit}: each once, in order`)
    t.equal(pages, expected)
  }
})

t.test('Sync: all require session', async (t) => {
  for (const [method, path] of [
    ['GET', 'status'],
    ['POST', 'pull'],
    ['POST', 'push'],
    ['POST', 'import'],
    ['GET', 'realtime'],
  ] as const) {
    const { status, body } = await app.call(method, `/api/v1/sync/${path}`)
    t.same([status, body], [401, { error: 'Authentication required' }], path)
  }
})
