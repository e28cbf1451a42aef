import t from 'tap'
import { createApp } from '../../src/service/app.ts'
import { createAdminApp } from '../../src/service/http/admin.ts'
import { startHealth } from '../../src/service/operating/health.ts'
import { createMetrics } from '../../src/service/operating/metrics.ts'
import { openAdmin } from '../support/admin.ts'
import { buildApp } from '../support/app.ts'
import { breakDatabase } from '../support/database.ts'

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

t.test('Without a database: not ready, but alive, which requires nothing', async (t) => {
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

t.test('Once the stop has begun: not ready, but alive', async (t) => {
  const app = await buildApp(t)
  const { admin } = openAdmin(t, app)
  await app.app.close()
  const ready = await admin.inject('/readyz')
  t.same([ready.statusCode, ready.json()], [503, { status: 'stopping' }])
  t.equal((await admin.inject('/livez')).statusCode, 200)
  t.equal((await admin.inject('/metrics')).statusCode, 200)
})

t.test('Probes are exempt from the rate limits', async (t) => {
  const { call } = await buildApp(t, { RATE_LIMIT_PER_MINUTE: '20' })
  const headers = { cookie: 'service_session=x' }
  await call('GET', '/api/v1/bookmarks', { headers })
  t.equal((await call('GET', '/api/v1/bookmarks', { headers })).status, 429)
  for (const path of ['/livez', '/readyz']) t.equal((await call('GET', path)).status, 200, path)
})
