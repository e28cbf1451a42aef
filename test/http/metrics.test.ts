import { request as httpRequest } from 'node:http'
import t from 'tap'
import packageJson from '../../package.json' with { type: 'json' }
import { signInAt } from '../../scripts/servers/sign-in.ts'
import { newestMigration } from '../../src/service/db/migrations/index.ts'
import { ObjectStoreUnavailableError } from '../../src/service/objects/store.ts'
import { startHealth } from '../../src/service/operating/health.ts'
import { createMetrics } from '../../src/service/operating/metrics.ts'
import { allOperations } from '../hostile/requests.ts'
import { openDevice } from '../realtime/device.ts'
import { openAdmin } from '../support/admin.ts'
import { buildApp, type TestApp } from '../support/app.ts'
import { openBrowser } from '../support/browser.ts'
import { change, push, pushMany } from '../support/changes.ts'
import { breakDatabase } from '../support/database.ts'
import { isPostgres } from '../support/database-url.ts'
import { onSqlite } from '../support/depth.ts'
import { holdClock } from '../support/intervals.ts'
import { buildWithMock } from '../support/mock-service.ts'
import { until } from '../support/until.ts'

const bookmarks = '/api/v1/bookmarks'
const content = { encrypted_data: 'data', data_hash: 'hash' }

onSqlite(t, 'Each request is counted once by operation and status, with its duration', async (t) => {
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
  t.equal(counted('none', 404), 1, 'paths outside of the contract count as none')
  t.equal(counted('none', 200), 1)
  const timed = (part: string, operation: string, status: string) =>
    metrics.value(`ebs_http_request_duration_seconds_${part}`, { operation, class: status })
  t.same([timed('count', 'createBookmark', '2xx'), timed('count', 'createBookmark', '4xx')], [2, 3])
  t.same([timed('count', 'getBookmark', '2xx'), timed('count', 'getBookmark', '4xx')], [2, 1])
  t.same([timed('count', 'none', '2xx'), timed('count', 'none', '4xx')], [1, 1])
  t.ok(Number(timed('sum', 'createBookmark', '2xx')) > 0)
  t.same(metrics.byLabel('ebs_http_requests_abandoned_total'), {}, 'no request was abandoned')
})

t.test('A request whose caller disconnects counts as abandoned only, and its body is held until then', async (t) => {
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
  await scrapeUntil((metrics) => metrics.byLabel('ebs_places_taken').smallBodies === 1)
  upload.destroy()
  await scrapeUntil((metrics) => metrics.byLabel('ebs_places_taken').smallBodies === 0)
  const name = 'ebs_http_requests_abandoned_total'
  const metrics = await scrapeUntil((metrics) => metrics.value(name, { operation: 'pushChanges' }) === 1)
  t.same(metrics.byLabel('ebs_http_requests_total'), {})

  await fetch(origin + bookmarks, { headers: { cookie: ada.cookie } }).then((answer) => answer.text())
  const after = await scrapeUntil((metrics) => metrics.byLabel('ebs_http_requests_total')['listBookmarks,200'] === 1)
  t.same(after.byLabel(name), { pushChanges: 1 }, 'a request that got its response is not abandoned')
})

onSqlite(t, 'The sizes of pushes, pulls and imports are counted, and conflicts by their cause', async (t) => {
  const app = await buildApp(t)
  const { scrape } = openAdmin(t, app)
  const ada = await app.user('ada')
  t.same((await scrape()).byLabel('ebs_sync_conflicts_total'), { rejected: 0, overwritten: 0 })
  const timestamp = Date.now()
  await push(ada, ...['a', 'b', 'c'].map((entity_id) => change({ entity_id, timestamp, device_id: 'one' })))
  await push(
    ada,
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

onSqlite(t, 'Sockets are counted: open ones, opened ones, bytes waiting in them, and pushes over them', async (t) => {
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
  await pushMany(ada, large)
  await scrapeUntil((metrics) => Number(metrics.value('ebs_realtime_unsent_bytes')) >= 2 ** 20)
  reader.socket.resume()
  await scrapeUntil((metrics) => metrics.value('ebs_realtime_unsent_bytes') === 0)
  reader.socket.close()
  const left = await scrapeUntil((metrics) => metrics.value('ebs_realtime_sockets') === 1)
  t.same(left.byLabel('ebs_http_requests_abandoned_total'), {}, 'a socket that ends is not an abandoned request')
})

onSqlite(t, 'Sign-ins that return from the provider are counted by outcome', async (t) => {
  const app = await buildWithMock(t)
  const { scrape } = openAdmin(t, app)
  const none = {
    completed: 0,
    expired: 0,
    refused: 0,
    unasked: 0,
    disabled: 0,
    forbidden: 0,
    closed: 0,
    unmoved: 0,
    unavailable: 0,
    failed: 0,
  }
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

t.test('Queries of the database and notices are counted', async (t) => {
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
  t.ok(perRead >= 2 && perRead < 3, `${perRead} per read: the session, the bookmark, at times a probe`)
  await ada.call('POST', bookmarks, { body: content })
  const written = await read()
  t.ok(written.queries - after.queries > 5, `${written.queries - after.queries} queries for a write`)
  t.ok(written.seconds > before.seconds)
  t.same(
    [before.notices, written.notices],
    [
      { sent: 0, received: 0 },
      { sent: 1, received: 0 },
    ],
  )
})

onSqlite(t, 'Refusals of the rate limits are counted by kind of limit', async (t) => {
  holdClock(t)
  const app = await buildApp(t, { RATE_LIMIT_PER_MINUTE: '20' })
  const { scrape } = openAdmin(t, app)
  t.same((await scrape()).byLabel('ebs_rate_limit_refusals_total'), { address: 0, user: 0 })
  const ada = await app.user('ada')
  const bad = { cookie: 'service_session=x' }
  // A list counts as two requests.
  for (let request = 1; request <= 13; request += 1) await ada.call('GET', bookmarks)
  for (let request = 1; request <= 3; request += 1) await app.call('GET', bookmarks, { headers: bad })
  t.same((await scrape()).byLabel('ebs_rate_limit_refusals_total'), { address: 2, user: 3 })
})

onSqlite(t, 'Version, process and event loop are reported; two services in a process count separately', async (t) => {
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

const methods = ['GET', 'POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS', 'PATCH', 'TRACE', 'PROPFIND']

onSqlite(t, 'The metrics contain nothing that callers send, and no user', async (t) => {
  const app = await buildApp(t)
  const { admin } = openAdmin(t, app)
  const origin = await app.listen()
  const [ada, bob] = [await app.user('ada'), await app.user('bob')]
  const canary = (what: string) => `canary-${what}`
  const headers = { 'x-device-id': canary('device'), 'x-user-id': canary('user'), 'user-agent': canary('agent') }
  const cookies = [ada.cookie, `service_session=${canary('session')}`, '']
  for (const { method, path, body } of allOperations({
    bookmark: canary('bookmark'),
    export: canary('export'),
    keyring: canary('keyring'),
    pairing: canary('pairing'),
    device: canary('device'),
    user: canary('user'),
  })) {
    for (const cookie of cookies) {
      const url = `${path}?${canary('query')}=${canary('value')}`
      await app.app.inject({
        method: method as 'GET',
        url,
        headers: {
          ...headers,
          cookie,
          origin: cookie ? 'http://127.0.0.1:3000' : `https://${canary('origin')}.example`,
        },
        ...(body && { payload: { ...body, [canary('field')]: canary('value') } }),
      })
    }
  }
  for (const method of methods)
    await app.app.inject({ method: method as 'GET', url: `/${canary('path')}`, headers: { ...headers, origin: '' } })
  for (const path of [`/%zz${canary('bad')}`, `/api/v1/bookmarks/${canary('x').repeat(2000)}`, '/api/v1/metrics'])
    await app.app.inject({ url: path, headers })
  const device = await openDevice(t, origin, bob, { deviceId: canary('device') })
  device.send({ type: 'sync', event: change({ entity_id: canary('entity'), device_id: canary('device') }) })
  await device.takeEntities(canary('entity'))

  const { body } = await admin.inject('/metrics')
  t.notMatch(body, /canary/i)
  for (const { userId, loginId, session } of [ada, bob])
    for (const id of [userId, loginId, session]) t.notOk(body.includes(id), id)
})
const exports = '/api/v1/exports'
const none = { pending: 0, processing: 0, failed: 0 }

/** Each call makes figures expire that a scrape has read from the database and cached. */
function laterScrapes({ setClock }: TestApp): () => void {
  let now = Date.now()
  setClock(now)
  return () => {
    now += 5_000
    setClock(now)
  }
}

t.test('Unfinished exports are counted by status, and attempts by outcome', async (t) => {
  const app = await buildApp(t)
  const { scrape, scrapeUntil } = openAdmin(t, app)
  const later = laterScrapes(app)
  const ada = await app.user('ada')
  const attempts = 'ebs_export_attempts_total'
  const before = await scrape()
  t.same(before.byLabel('ebs_exports'), none)
  t.same(before.byLabel(attempts), { completed: 0, failed: 0, postponed: 0, dropped: 0 })

  await ada.call('POST', exports)
  await scrapeUntil((metrics) => metrics.byLabel(attempts).completed === 1)
  later()
  t.same((await scrape()).byLabel('ebs_exports'), none, 'a completed export is not counted')

  const { put } = app.context.objects
  const reached = Promise.withResolvers<void>()
  app.context.objects.put = (_key, _exportKey, _content, signal) => {
    reached.resolve()
    return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  }
  const { body: dropped } = await ada.call('POST', exports)
  await reached.promise
  later()
  t.same((await scrape()).byLabel('ebs_exports'), { ...none, processing: 1 })
  await ada.call('DELETE', `${exports}/${dropped.id}`)
  t.equal((await scrape()).byLabel(attempts).dropped, 1)

  app.context.objects.put = () => Promise.reject(new ObjectStoreUnavailableError())
  await ada.call('POST', exports)
  await scrapeUntil((metrics) => Number(metrics.byLabel(attempts).postponed) >= 1)
  app.context.objects.put = () => Promise.reject(new Error('disk'))
  await ada.call('POST', exports)
  await scrapeUntil((metrics) => Number(metrics.byLabel(attempts).failed) >= 1)
  // The worker would retry both exports after some seconds.
  await app.context.exportWorker.close()
  later()
  t.same((await scrape()).byLabel('ebs_exports'), { ...none, pending: 2 })
  await app.context.database.db
    .updateTable('exports')
    .where('status', '=', 'pending')
    .set({ status: 'failed' })
    .execute()
  later()
  t.same((await scrape()).byLabel('ebs_exports'), { ...none, failed: 2 })
  app.context.objects.put = put
})

t.test('Frequent scrapes count the exports at most once in 5 s', async (t) => {
  const app = await buildApp(t)
  await app.context.exportWorker.close()
  const { scrape } = openAdmin(t, app)
  const later = laterScrapes(app)
  const ada = await app.user('ada')
  later()
  await scrape()
  await ada.call('POST', exports)
  t.same((await scrape()).byLabel('ebs_exports'), none)
  later()
  const both = await Promise.all([scrape(), scrape()])
  for (const metrics of both) t.same(metrics.byLabel('ebs_exports'), { ...none, processing: 1 })
})

t.test('Stored bytes, users and free space are reported, and read once in 5 minutes', async (t) => {
  const app = await buildApp(t, isPostgres ? {} : { BACKUP_EVERY: '1d' })
  const { scrape, scrapeUntil } = openAdmin(t, app)
  const ada = await app.user('ada')
  await ada.call('POST', bookmarks, { body: { id: 'a', ...content } })
  const first = await scrape()
  t.equal(first.value('ebs_users'), 1)
  t.equal(first.value('ebs_stored_bytes'), content.encrypted_data.length + 512)
  t.ok(Number(first.value('ebs_database_bytes')) > 50_000)
  await ada.call('POST', bookmarks, { body: { id: 'b', ...content } })
  await app.user('bob')
  t.equal((await scrape()).value('ebs_users'), 1)
  app.setClock(Date.now() + 300_000)
  const later = await scrape()
  t.equal(later.value('ebs_users'), 2)
  t.equal(later.value('ebs_stored_bytes'), 2 * (content.encrypted_data.length + 512))

  const folders = isPostgres ? ['data'] : ['data', 'backups']
  const all = await scrapeUntil((metrics) => Object.keys(metrics.byLabel('ebs_disk_bytes')).length === folders.length)
  const [free, size] = [all.byLabel('ebs_disk_free_bytes'), all.byLabel('ebs_disk_bytes')]
  for (const folder of folders) t.ok(Number(free[folder]) <= Number(size[folder]) && Number(size[folder]) > 0, folder)
})

t.test('When the database fails, only the figures from the database are missing', async (t) => {
  const app = await buildApp(t)
  const { scrape } = openAdmin(t, app)
  const later = laterScrapes(app)
  const repair = breakDatabase(app.context)
  const broken = await scrape()
  t.same(broken.byLabel('ebs_exports'), {})
  t.equal(broken.value('ebs_users'), undefined)
  t.equal(broken.value('ebs_realtime_sockets'), 0)
  t.match(app.log.join(''), /disk I\/O error.*exports could not be counted/, 'the failure is logged with its cause')
  repair()
  later()
  t.same((await scrape()).byLabel('ebs_exports'), none)
})

t.test('Database connections in use and requests waiting for one are counted', async (t) => {
  const app = await buildApp(t)
  const { scrapeUntil } = openAdmin(t, app)
  const { write } = app.context.database
  const { setTimeout } = globalThis
  t.intercept(globalThis, 'setTimeout', {
    // The timeout of 10 s never fires, so no waiting write is refused during a slow scrape.
    value: (act: () => void, ms?: number) => setTimeout(ms === 10_000 ? () => {} : act, ms),
  })
  const writing = Promise.withResolvers<void>()
  const finish = Promise.withResolvers<void>()
  const hold = () =>
    write(async () => {
      writing.resolve()
      await finish.promise
    })
  const first = hold()
  await writing.promise
  const others = Array.from({ length: 40 }, hold)
  const waiting = isPostgres ? 21 : 40
  const busy = isPostgres ? 20 : 1
  const metrics = await scrapeUntil((metrics) => metrics.byLabel('ebs_database_connections').busy === busy)
  t.ok(Number(metrics.value('ebs_database_queue_length')) >= waiting, `${metrics.value('ebs_database_queue_length')}`)
  t.equal(metrics.byLabel('ebs_database_connections').idle, 0)
  t.same(metrics.byLabel('ebs_exports'), {}, 'the scrape does not wait for a busy database')
  finish.resolve()
  await Promise.all([first, ...others])
  const after = await scrapeUntil((metrics) => metrics.byLabel('ebs_database_connections').busy === 0)
  t.equal(after.value('ebs_database_queue_length'), 0)
  t.ok(Number(after.byLabel('ebs_database_connections').idle) > 0)
})

t.test('Health is reported by component', async (t) => {
  const app = await buildApp(t)
  const probe = async () => {
    const health = startHealth(app.context)
    await health.close()
    const { scrape } = openAdmin(t, { context: { ...app.context, health, metrics: createMetrics() } })
    return (await scrape()).byLabel('ebs_component_up')
  }
  t.same(await probe(), { database: 1, objects: 1, provider: 0 }, "the tests' provider is never reached")
  app.context.objects.probe = () => Promise.reject(new Error('gone'))
  const repair = breakDatabase(app.context)
  t.same(await probe(), { database: 0, objects: 0, provider: 0 })
  repair()
})

t.test("The difference to the database's clock is reported, and logged when it gets too large or ends", async (t) => {
  const { context, log } = await buildApp(t)
  const ahead = { seconds: 90 }
  const database = { ...context.database, probe: async () => Date.now() - ahead.seconds * 1000 }
  const health = startHealth({ ...context, database })
  t.teardown(() => health.close())
  const { scrape } = openAdmin(t, { context: { ...context, health, metrics: createMetrics() } })
  const drift = async () => Math.round(Number((await scrape()).value('ebs_clock_drift_seconds')))
  await until(async () => (await drift()) === 90)
  ahead.seconds = -3
  await until(async () => (await drift()) === -3)
  const said = log.map((line) => JSON.parse(line).msg).filter((message) => message.includes('clock'))
  t.same(said, [
    "this machine's clock is 90 s ahead of the database's: synchronize both clocks; until then nothing is swept",
    'the clocks of this machine and the database agree again',
  ])
})

t.test("When an instance's clock is set wrong, only that instance stops being ready", async (t) => {
  const { context } = await buildApp(t)
  const { now } = Date
  t.teardown(() => Object.assign(Date, { now }))
  const day = 86_400_000
  const probed = async (databaseMs: number, ownMs: number) => {
    Date.now = () => now() + ownMs
    const probe = async () => now() + databaseMs
    const health = startHealth({ ...context, database: { ...context.database, probe } })
    await health.close()
    return [health.isReady(), health.down().includes('clock')]
  }
  t.same(await probed(0, day), [false, true])
  t.same(await probed(day, 0), [true, false], "the database's clock was set, so no instance would do better")
  t.same(await probed(day, day), [true, false], 'both were')
})
