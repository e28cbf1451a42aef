import { request as httpRequest } from 'node:http'
import t from 'tap'
import packageJson from '../../package.json' with { type: 'json' }
import { newestMigration } from '../../src/service/db/migrations/index.ts'
import { openDevice } from '../realtime/device.ts'
import { openAdmin } from '../support/admin.ts'
import { buildApp } from '../support/app.ts'
import { openBrowser } from '../support/browser.ts'
import { change } from '../support/changes.ts'
import { buildWithMock } from '../support/mock-service.ts'
import { signInAt } from '../support/sign-in.ts'

const bookmarks = '/api/v1/bookmarks'
const content = { encrypted_data: 'data', data_hash: 'hash' }

t.test('Requests are counted by operation and status, each once, with how long they took', async (t) => {
  const app = await buildApp(t)
  const { scrape } = openAdmin(t, app)
  const ada = await app.user('ada')
  const requests = (operation: string, status: number) => ({ operation, status: String(status) })
  for (const id of ['a', 'b']) await ada.call('POST', bookmarks, { body: { id, ...content } })
  await ada.call('POST', bookmarks, { body: { id: 'a', ...content } })
  await ada.call('POST', bookmarks, { body: 'no bookmark' })
  for (const id of ['a', 'b', 'c']) await ada.call('GET', `${bookmarks}/${id}`)
  await app.call('GET', bookmarks)
  await app.call('POST', bookmarks, { headers: { origin: 'https://evil.example' } })
  for (const path of ['/nope', '/readyz']) await app.call('GET', path)

  const metrics = await scrape()
  const counted = (operation: string, status: number) =>
    metrics.value('ebs_http_requests_total', requests(operation, status))
  t.equal(counted('createBookmark', 201), 2)
  t.equal(counted('createBookmark', 409), 1)
  t.equal(counted('createBookmark', 400), 1)
  t.equal(counted('createBookmark', 403), 1, 'a refusal by a hook is counted, too')
  t.equal(counted('getBookmark', 200), 2)
  t.equal(counted('getBookmark', 404), 1)
  t.equal(counted('listBookmarks', 401), 1)
  t.equal(counted('none', 404), 1, 'what is not in the contract')
  t.equal(counted('none', 200), 1)
  const timed = (part: string, operation: string, status: string) =>
    metrics.value(`ebs_http_request_duration_seconds_${part}`, { operation, class: status })
  t.same([timed('count', 'createBookmark', '2xx'), timed('count', 'createBookmark', '4xx')], [2, 3])
  t.same([timed('count', 'getBookmark', '2xx'), timed('count', 'getBookmark', '4xx')], [2, 1])
  t.same([timed('count', 'none', '2xx'), timed('count', 'none', '4xx')], [1, 1])
  t.ok(Number(timed('sum', 'createBookmark', '2xx')) > 0)
  t.same(metrics.byLabel('ebs_http_requests_abandoned_total'), {}, 'each got its response')
})

t.test(
  'A request whose caller is gone: its body is held until then; it counts as abandoned, and as nothing else',
  async (t) => {
    const app = await buildApp(t)
    const { scrapeUntil } = openAdmin(t, app)
    const origin = await app.listen()
    const ada = await app.user('ada')
    const headers = { cookie: ada.cookie, 'content-type': 'application/json', 'content-length': 100 }
    const upload = httpRequest(`${origin}/api/v1/sync/push`, {
      method: 'POST',
      headers: { ...headers, expect: '100-continue' },
    })
    upload.on('error', () => {})
    upload.flushHeaders()
    await new Promise((resolve) => upload.once('continue', resolve))
    upload.write('{"changes":')
    await scrapeUntil((metrics) => metrics.value('ebs_http_request_body_bytes') === 11)
    upload.destroy()
    await scrapeUntil((metrics) => metrics.value('ebs_http_request_body_bytes') === 0)
    const name = 'ebs_http_requests_abandoned_total'
    const metrics = await scrapeUntil((metrics) => metrics.value(name, { operation: 'pushChanges' }) === 1)
    t.same(metrics.byLabel('ebs_http_requests_total'), {})

    await fetch(origin + bookmarks, { headers: { cookie: ada.cookie } }).then((answer) => answer.text())
    const after = await scrapeUntil((metrics) => metrics.byLabel('ebs_http_requests_total')['listBookmarks,200'] === 1)
    t.same(after.byLabel(name), { pushChanges: 1 }, 'one that got its response is not abandoned')
  },
)

t.test('Sizes of pushes, pulls and imports; conflicts', async (t) => {
  const app = await buildApp(t)
  const { scrape } = openAdmin(t, app)
  const ada = await app.user('ada')
  const push = (...changes: object[]) => ada.call('POST', '/api/v1/sync/push', { body: { changes } })
  t.same((await scrape()).byLabel('ebs_sync_conflicts_total'), { rejected: 0, overwritten: 0 })
  const timestamp = Date.now()
  await push(...['a', 'b', 'c'].map((entity_id) => change({ entity_id, timestamp, device_id: 'one' })))
  await push(
    change({ entity_id: 'a', timestamp: timestamp - 1, device_id: 'two' }),
    change({ entity_id: 'b', timestamp: timestamp + 1, device_id: 'two', base: 0 }),
    change({ entity_id: 'c', timestamp, device_id: 'two' }),
    change({ entity_id: 'd', timestamp: timestamp + 2 * 86_400_000, device_id: 'two' }),
  )
  await ada.call('POST', '/api/v1/sync/pull')
  await ada.call('POST', '/api/v1/sync/pull', { body: { limit: 2 } })
  const imported = ['c', 'e', 'f'].map((id) => ({ id, ...content }))
  await ada.call('POST', '/api/v1/sync/import', { body: { bookmarks: imported } })

  const metrics = await scrape()
  const sizes = (operation: string) =>
    ['count', 'sum'].map((part) => metrics.value(`ebs_sync_changes_${part}`, { operation }))
  t.same(sizes('pushChanges'), [2, 7])
  t.same(sizes('pullChanges'), [2, 5])
  t.same(sizes('importBookmarks'), [1, 3])
  t.same(
    ['0', '1', '10'].map((le) => metrics.value('ebs_sync_changes_bucket', { operation: 'pushChanges', le })),
    [0, 0, 2],
  )
  t.same(
    metrics.byLabel('ebs_sync_conflicts_total'),
    { rejected: 2, overwritten: 2 },
    'older and far ahead; newer unseen and by device',
  )
})

t.test('Sockets: how many, opened, what waits in them, and pushes over them', async (t) => {
  const app = await buildApp(t)
  const { scrapeUntil } = openAdmin(t, app)
  const origin = await app.listen()
  const ada = await app.user('ada')
  const reader = await openDevice(t, origin, ada, { deviceId: 'reader' })
  const writer = await openDevice(t, origin, ada, { deviceId: 'writer' })
  writer.send({ type: 'sync', event: change({ entity_id: 'sent', device_id: 'writer' }) })
  await reader.takeEntities('sent')
  const metrics = await scrapeUntil((metrics) => metrics.value('ebs_realtime_unsent_bytes') === 0)
  t.equal(metrics.value('ebs_realtime_sockets'), 2)
  t.equal(metrics.value('ebs_http_requests_total', { operation: 'openRealtime', status: '101' }), 2)
  t.equal(metrics.value('ebs_sync_changes_count', { operation: 'pushChanges' }), 1)

  reader.socket.pause()
  const large = Array.from({ length: 64 }, (_, n) =>
    change({ entity_id: `${n}`, device_id: 'writer', encrypted_data: 'x'.repeat(262_144) }),
  )
  await ada.call('POST', '/api/v1/sync/push', { body: { changes: large } })
  await scrapeUntil((metrics) => Number(metrics.value('ebs_realtime_unsent_bytes')) >= 2 ** 20)
  reader.socket.resume()
  await scrapeUntil((metrics) => metrics.value('ebs_realtime_unsent_bytes') === 0)
  reader.socket.close()
  const left = await scrapeUntil((metrics) => metrics.value('ebs_realtime_sockets') === 1)
  t.same(left.byLabel('ebs_http_requests_abandoned_total'), {}, 'a socket that ends is not an abandoned request')
})

t.test('Sign-ins that come back from the provider, by outcome', async (t) => {
  const app = await buildWithMock(t)
  const { scrape } = openAdmin(t, app)
  const none = { completed: 0, expired: 0, refused: 0, disabled: 0, unavailable: 0, failed: 0 }
  t.same((await scrape()).byLabel('ebs_sign_ins_total'), none)
  const browser = openBrowser(app.call)
  const callback = await signInAt(await browser.startLogin(), 'Ada')
  await browser.comeBack(callback)
  await openBrowser(app.call).comeBack(callback)
  const signIn = () => openBrowser(app.call).signIn('Ada')
  app.mock.tokenErrors.push('invalid_grant')
  await signIn()
  app.mock.faults.set('token', 'error')
  await signIn()
  app.mock.faults.clear()
  const outcomes = { ...none, completed: 1, expired: 1, refused: 1, unavailable: 1 }
  t.same((await scrape()).byLabel('ebs_sign_ins_total'), outcomes)
})

t.test('Queries of the database, and notices', async (t) => {
  const app = await buildApp(t)
  const { scrape } = openAdmin(t, app)
  const ada = await app.user('ada')
  const read = async () => {
    const metrics = await scrape()
    const [queries, seconds] = ['queries', 'query_seconds'].map((name) => metrics.value(`ebs_database_${name}_total`))
    return { queries: Number(queries), seconds: Number(seconds), notices: metrics.byLabel('ebs_pulses_total') }
  }
  const before = await read()
  const reads = 100
  for (let sent = 0; sent < reads; sent++) await ada.call('GET', `${bookmarks}/none`)
  const after = await read()
  const perRead = (after.queries - before.queries) / reads
  t.ok(perRead >= 2 && perRead < 3, `${perRead} for a request: its session, the bookmark, at times a probe`)
  await ada.call('POST', bookmarks, { body: content })
  const written = await read()
  t.ok(written.queries - after.queries > 5, `${written.queries - after.queries} for a write`)
  t.ok(written.seconds > before.seconds)
  t.same(
    [before.notices, written.notices],
    [
      { sent: 0, received: 0 },
      { sent: 1, received: 0 },
    ],
  )
})

t.test('Refusals of the rate limits', async (t) => {
  const app = await buildApp(t, { RATE_LIMIT_PER_MINUTE: '20' })
  const { scrape } = openAdmin(t, app)
  t.same((await scrape()).byLabel('ebs_rate_limit_refusals_total'), { address: 0, user: 0 })
  const ada = await app.user('ada')
  const bad = { cookie: 'service_session=x' }
  for (let request = 1; request <= 23; request += 1) await ada.call('GET', bookmarks)
  for (let request = 1; request <= 3; request += 1) await app.call('GET', bookmarks, { headers: bad })
  t.same((await scrape()).byLabel('ebs_rate_limit_refusals_total'), { address: 2, user: 3 })
})

t.test('Version, process and event loop are reported; two services in a process count separately', async (t) => {
  const [one, other] = [await buildApp(t), await buildApp(t)]
  const [first, second] = [openAdmin(t, one), openAdmin(t, other)]
  await one.call('GET', '/api/v1/health')
  const metrics = await first.scrape()
  const versions = { version: packageJson.version, node: process.version }
  t.equal(metrics.value('ebs_build_info', { ...versions, schema: newestMigration }), 1)
  for (const name of ['process_resident_memory_bytes', 'process_cpu_seconds_total', 'nodejs_eventloop_lag_p99_seconds'])
    t.ok(Number.isFinite(metrics.value(name)), name)
  t.equal(metrics.byLabel('ebs_http_requests_total')['getHealth,200'], 1)
  t.same((await second.scrape()).byLabel('ebs_http_requests_total'), {})
})
