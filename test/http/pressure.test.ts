import { once } from 'node:events'
import { buffer } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import { createApp } from '../../src/service/app.ts'
import { createAdminApp } from '../../src/service/http/admin.ts'
import type {} from '../../src/service/http/admission.ts'
import { startHealth } from '../../src/service/operating/health.ts'
import { createMetrics } from '../../src/service/operating/metrics.ts'
import { realtimeUrl } from '../realtime/device.ts'
import { openAdmin } from '../support/admin.ts'
import { buildApp } from '../support/app.ts'
import { checkAnswer } from '../support/contract.ts'
import { breakDatabase } from '../support/database.ts'
import { allOperations } from '../support/operations.ts'
import { until } from '../support/until.ts'
import { beginUpload, type Upload } from './uploads.ts'

const list = '/api/v1/bookmarks'
const alwaysServed = 32

/** Starts the service and leaves this many requests unfinished. */
async function open(t: Test, unfinished: number) {
  const app = await buildApp(t, { CORS_ORIGIN: 'https://app.example' })
  const origin = await app.listen()
  const ada = await app.user('ada')
  const uploads: Upload[] = []
  for (let other = 0; uploads.length < unfinished; other++) {
    const { cookie } = await app.user(`other ${other}`)
    while (uploads.length < Math.min(unfinished, 8 * (other + 1)))
      uploads.push(await beginUpload(origin, { cookie, length: 100 }))
  }
  let timer: NodeJS.Timeout | undefined

  /** From now on the event loop is blocked for 0.6 s at a time. */
  async function blockLoop(): Promise<void> {
    const sink = () => {
      block(600)
      timer = setTimeout(sink, 5)
    }
    sink()
    await until(() => app.app.isUnderPressure())
  }

  const surface = () => clearTimeout(timer)
  t.teardown(() => {
    surface()
    for (const upload of uploads) upload.abort()
  })
  return { ...app, origin, ada, blockLoop, surface }
}

/** Blocks the thread without using the processor, which other tests need. */
function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}
const app = await buildApp(t)

t.test('When the event loop lags, requests beyond 32 are refused, and probes get responses', async (t) => {
  const { context, call, log, origin, ada, blockLoop, surface } = await open(t, alwaysServed + 1)
  const begun = performance.now()
  await blockLoop()
  const refused = allOperations.filter(({ id }) => id !== 'getHealth')
  const answers = await Promise.all(refused.map(({ method, path }) => call(method, path)))
  t.same(
    answers.map(({ status, body, headers }) => [status, body, headers['retry-after']]),
    refused.map(() => [503, { error: 'Service unavailable' }, '1']),
    'the refusal comes before the session is looked up',
  )
  const { scrape } = openAdmin(t, { context })
  const probes = ['/livez', '/readyz', '/api/v1/health'].map(async (path) => (await call('GET', path)).status)
  t.same(await Promise.all(probes), [200, 200, 200])
  t.ok(await scrape(), '/metrics')

  const socket = new WebSocket(realtimeUrl(origin), { headers: { cookie: ada.cookie } })
  socket.on('error', () => {})
  const [, response] = await once(socket, 'unexpected-response')
  const raw = await buffer(response)
  t.equal(checkAnswer('GET', '/api/v1/sync/realtime', response.statusCode, response.headers, raw).status, 503)

  const [foreign, own] = await Promise.all([
    call('POST', list, { headers: { origin: 'https://evil.example' } }),
    call('GET', list, { headers: { origin: 'https://app.example' } }),
  ])
  t.equal(foreign.status, 403, 'origins are checked first')
  t.match(
    own,
    { status: 503, headers: { 'access-control-allow-origin': 'https://app.example' } },
    'CORS lets web pages read the refusal',
  )
  t.match(own.headers['access-control-expose-headers'], /Retry-After/)

  surface()
  await until(async () => (await ada.call('GET', list)).status === 200)
  const told = (part: string) => log.filter((line) => line.includes(part)).map((line) => JSON.parse(line))
  t.match(told('the event loop lags')[0], { level: 40, refused: 1 })
  t.ok(told('the event loop lags').length <= 1 + (performance.now() - begun) / 10_000, 'logged once in ten seconds')
  t.same(told('Service unavailable'), [], 'single refusals are not logged')
})

t.test('32 requests at a time are served even if the event loop lags', async (t) => {
  const { origin, ada, blockLoop } = await open(t, alwaysServed - 1)
  for (let over = 0; over < 2; over++) await (await fetch(`${origin}/livez`)).text()
  await blockLoop()
  const [last, oneMore] = [await beginUpload(origin, ada), await beginUpload(origin, ada)]
  t.equal((await oneMore.answer).status, 503)
  last.end('{"changes":[]}')
  t.equal((await last.answer).status, 200)
})

t.test('Open sockets do not count as requests', async (t) => {
  const { app, origin, ada, blockLoop } = await open(t, 0)
  const headers = { cookie: ada.cookie, 'x-user-id': ada.userId, 'x-device-id': 'device-a' }
  const sockets = Array.from({ length: alwaysServed + 1 }, () => new WebSocket(realtimeUrl(origin), { headers }))
  t.teardown(() => {
    for (const socket of sockets) socket.terminate()
  })
  await Promise.all(sockets.map((socket) => once(socket, 'open')))
  await blockLoop()
  t.equal((await ada.call('GET', list)).status, 200)
  t.ok(app.isUnderPressure())
})

t.test('/livez and /readyz are on both listeners, /metrics and the interface on one each', async (t) => {
  const app = await buildApp(t)
  const { admin } = openAdmin(t, app)
  for (const listener of [app.app, admin]) {
    const [live, ready] = [await listener.inject('/livez'), await listener.inject('/readyz')]
    t.same([live.statusCode, live.json()], [200, { status: 'alive' }])
    t.equal(ready.statusCode, 200)
    t.match(ready.json().status, /^(healthy|degraded)$/)
  }
  for (const path of ['/metrics', '/metrics/', '//metrics', '/api/v1/metrics'])
    t.equal((await app.app.inject(path)).statusCode, 404, `${path} is not public`)
  for (const path of ['/', '/docs', '/api/v1/health', '/api/v1/bookmarks', '/%zz', '/nope']) {
    const { statusCode, headers, body } = await admin.inject(path)
    t.match([statusCode, body], [path === '/%zz' ? 400 : 404, /^{"error":"[\w ]+"}$/], path)
    t.match(headers['content-type'], /^application\/json/)
  }
  t.equal((await admin.inject({ method: 'POST', url: '/metrics' })).statusCode, 405)
})

t.test('Without a database the service is not ready, but alive', async (t) => {
  const { context } = await buildApp(t)
  const repair = breakDatabase(context)
  const health = startHealth(context)
  await health.close()
  const parts = { ...context, health, metrics: createMetrics() }
  const listeners = [await createApp(parts), createAdminApp(parts)]
  t.teardown(() => Promise.all(listeners.map((listener) => listener.close())))
  for (const listener of listeners) {
    const ready = await listener.inject('/readyz')
    t.same([ready.statusCode, ready.json()], [503, { status: 'unhealthy', down: ['database', 'provider'] }])
    t.equal((await listener.inject('/livez')).statusCode, 200)
  }
  repair()
})

t.test('During a stop the service is not ready, but alive', async (t) => {
  const app = await buildApp(t)
  const { admin } = openAdmin(t, app)
  await app.app.close()
  const ready = await admin.inject('/readyz')
  t.same([ready.statusCode, ready.json()], [503, { status: 'stopping' }])
  t.equal((await admin.inject('/livez')).statusCode, 200)
  t.equal((await admin.inject('/metrics')).statusCode, 200)
})

t.test('Health follows the database within seconds, and each change is logged once', async (t) => {
  // The provider is unreachable in these tests, so the status is `degraded` as long as the database works.
  const isUnhealthy = async () => (await app.call('GET', '/api/v1/health')).body.status === 'unhealthy'
  t.notOk(await isUnhealthy())
  const repair = breakDatabase(app.context)
  t.teardown(repair)
  while (!(await isUnhealthy())) await sleep(10)
  t.equal((await app.app.inject('/readyz')).statusCode, 503)
  await sleep(2_500)
  repair()
  while (await isUnhealthy()) await sleep(10)
  t.equal((await app.app.inject('/readyz')).statusCode, 200)
  const lines = app.log.map((line) => JSON.parse(line).msg).filter((msg) => msg?.includes('the database'))
  t.same(lines, ['the database is unreachable', 'the database is reachable again'])
})
