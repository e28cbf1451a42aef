import t from 'tap'
import packageJson from '../../package.json' with { type: 'json' }
import { startHealth } from '../../src/service/operating/health.ts'
import { buildApp, type TestApp } from '../support/app.ts'
import { openBrowser } from '../support/browser.ts'
import { diskError } from '../support/database.ts'
import { buildWithMock } from '../support/mock-service.ts'

const now = 1_763_700_000_000
const app = await buildApp(t)

t.test('Session user (in session response)', async (t) => {
  const { call, mock, context } = await buildWithMock(t)
  const picture = 'https://example.com/ada.png'
  mock.person = { sub: 'ada-1', email: 'ada@example.com', email_verified: true, name: 'Ada Lovelace', picture }
  const browser = openBrowser(call)
  await browser.signIn('Ada')
  const { user } = (await browser.call('GET', '/api/v1/auth/session')).body
  const stored = await context.database.db.selectFrom('users').select('id').executeTakeFirstOrThrow()
  mock.person = { sub: 'bare' }
  const bare = openBrowser(call)
  await bare.signIn('')
  const { user: nobody } = (await bare.call('GET', '/api/v1/auth/session')).body

  const known = { email: 'ada@example.com', name: 'Ada Lovelace', avatar_url: picture, email_verified: true }
  t.same(user, { user_id: stored.id, ...known })
  const { user_id: _, ...unknown } = nobody
  t.same(unknown, { email: '', name: '', avatar_url: '', email_verified: false }, 'if the provider gives none')
})

t.test('Health report', async (t) => {
  const health = async ({ call }: TestApp) => (await call('GET', '/api/v1/health')).body

  t.equal((await health(app)).name, packageJson.name, 'Health report | name | string | API package name')
  t.equal((await health(app)).version, packageJson.version, 'Health report | version | string | API version')
  t.test('Health report | environment | string | development, staging or production', async (t) => {
    const secret = Buffer.alloc(32, 7).toString('base64')
    const env = { SECRET_KEY: secret, OIDC_ISSUER: 'https://127.0.0.1:9', PUBLIC_URL: 'https://sync.example' }
    t.equal((await health(app)).environment, 'development')
    for (const environment of ['staging', 'production']) {
      t.equal((await health(await buildApp(t, { ...env, NODE_ENV: environment }))).environment, environment)
    }
  })
  t.test('Health report | status | healthy, degraded, unhealthy', async (t) => {
    const { context, call, mock } = await buildWithMock(t)
    const { database, objects } = context
    async function probed(parts: Partial<typeof context>) {
      const probe = startHealth({ ...context, ...parts })
      await probe.close()
      context.health = probe
      return (await call('GET', '/api/v1/health')).body.status
    }
    t.equal(await probed({}), 'healthy', 'all systems operational')
    const down = { ...objects, probe: () => Promise.reject(new Error('no store')) }
    t.equal(await probed({ objects: down }), 'degraded', 'no object store')
    const broken = { ...database, probe: () => Promise.reject(diskError()) }
    t.equal(await probed({ database: broken }), 'unhealthy', 'no database')
    mock.faults.set('discovery', 'error')
    t.equal(await probed({}), 'degraded', 'no provider')
  })
  t.test('Health report | timestamp | string | ISO 8601 time of the response', async (t) => {
    app.setClock(now)
    t.teardown(() => app.setClock(undefined))
    t.equal((await health(app)).timestamp, '2025-11-21T04:40:00.000Z')
  })
})
