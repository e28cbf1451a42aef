import t from 'tap'
import packageJson from '../../package.json' with { type: 'json' }
import { startHealth } from '../../src/service/operating/health.ts'
import { buildApp, type TestApp } from '../support/app.ts'
import { openBrowser } from '../support/browser.ts'
import { change } from '../support/changes.ts'
import { diskError } from '../support/database.ts'
import { finishedExport } from '../support/exports.ts'
import { buildWithMock } from '../support/mock-service.ts'

const now = 1_763_700_000_000
const app = await buildApp(t)
const content = { encrypted_data: 'AWVuY3J5cHRlZA==', data_hash: 'hash' }

t.test('Export', async (t) => {
  app.setClock(now)
  t.teardown(() => app.setClock(undefined))
  const ada = await app.user('ada')
  for (const id of ['b1', 'b2']) await ada.call('POST', '/api/v1/bookmarks', { body: { id, ...content } })
  const { body: asked } = await ada.call('POST', '/api/v1/exports')
  const done = await finishedExport(ada, asked.id)
  const { raw } = await ada.call('GET', `/api/v1/exports/${asked.id}`)

  t.match(asked.id, /^[0-9a-f-]{36}$/, 'Export | id | string | Export identifier')
  t.equal(done.id, asked.id)
  t.same([asked.created_at, done.created_at], [now, now], 'Export | created_at | integer | Unix ms')
  t.test('Export | status | string | One of: pending, processing, completed, failed', async (t) => {
    t.same([asked.status, done.status], ['processing', 'completed'])
    const { db } = app.context.database
    await app.context.exportWorker.close()
    for (const status of ['pending', 'failed'] as const) {
      await db.updateTable('exports').set({ status }).execute()
      t.equal((await ada.call('GET', '/api/v1/exports')).body.exports[0].status, status)
    }
  })
  t.same(
    [asked.size_bytes, done.size_bytes],
    [null, raw.length],
    'Export | size_bytes | integer or null | File size in bytes; null until known',
  )
  t.same(
    [asked.bookmark_count, done.bookmark_count],
    [null, 2],
    'Export | bookmark_count | integer or null | Bookmarks in the export; null until known',
  )
  const expiry = 'When the download link expires (Unix ms); null until known'
  t.same(
    [asked.expires_at, done.expires_at],
    [null, now + 7 * 86_400_000],
    `Export | expires_at | integer or null | ${expiry}`,
  )
})

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

  const rows = {
    'user_id | string': [user.user_id, stored.id],
    'email | string': [user.email, 'ada@example.com', nobody.email, ''],
    'name | string': [user.name, 'Ada Lovelace', nobody.name, ''],
    'avatar_url | string': [user.avatar_url, picture, nobody.avatar_url, ''],
    'email_verified | boolean': [user.email_verified, true, nobody.email_verified, false],
  }
  for (const [row, [value, expected, missing, empty]] of Object.entries(rows)) {
    t.equal(value, expected, `Session user | ${row}`)
    t.equal(missing, empty, 'if the provider gives none')
  }
  t.same(
    Object.keys(user).sort(),
    ['avatar_url', 'email', 'email_verified', 'name', 'user_id'],
    'Session user: nothing else',
  )
})

t.test('Sync status', async (t) => {
  app.setClock(now)
  t.teardown(() => app.setClock(undefined))
  const ada = await app.user('ada status')
  const status = async (device?: string) => {
    const headers = device === undefined ? {} : { 'x-device-id': device }
    return (await ada.call('GET', '/api/v1/sync/status', { headers })).body
  }
  const push = (event: object) => ada.call('POST', '/api/v1/sync/push', { body: { changes: [event] } })
  const pull = (device: string) =>
    ada.call('POST', '/api/v1/sync/pull', { body: {}, headers: { 'x-device-id': device } })
  const fresh = await status()
  await push(change({ entity_id: 'b1', timestamp: 2000, device_id: 'desk' }))
  await push(change({ entity_id: 'b2', timestamp: 2000, device_id: 'desk' }))

  t.equal(fresh.user_id, ada.userId, 'Sync status | user_id | string')
  t.test('Sync status | last_sync | integer | Last sync timestamp (Unix ms)', async (t) => {
    t.equal(fresh.last_sync, 0, '0 if none')
    t.equal((await status('phone')).last_sync, 0)
    app.setClock(now + 5)
    await pull('phone')
    t.equal((await status('phone')).last_sync, now + 5)
    t.equal((await status('desk')).last_sync, now)
    t.equal((await status()).last_sync, now + 5, 'without the header: of any device')
  })
  t.test('Sync status | pending_changes | integer | Unsynced changes', async (t) => {
    t.equal(fresh.pending_changes, 0)
    t.equal((await status('tablet')).pending_changes, 2)
    t.equal((await status('desk')).pending_changes, 0, 'its own changes do not count')
    t.equal((await status('phone')).pending_changes, 0, 'pulled')
  })
  t.test('Sync status | conflict_count | integer | Unresolved conflicts', async (t) => {
    t.equal(fresh.conflict_count, 0)
    await push(change({ entity_id: 'b1', timestamp: 1000, device_id: 'phone' }))
    t.equal((await status()).conflict_count, 1)
    const { conflicts } = (await ada.call('GET', '/api/v1/sync/conflicts')).body
    await ada.call('DELETE', `/api/v1/sync/conflicts/${conflicts[0].version_id}`)
    t.equal((await status()).conflict_count, 0)
  })
  t.test('Sync status | total_bookmarks | integer', async (t) => {
    t.equal(fresh.total_bookmarks, 0)
    t.equal((await status()).total_bookmarks, 2)
    await ada.call('DELETE', '/api/v1/bookmarks/b1')
    t.equal((await status()).total_bookmarks, 1)
  })
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
