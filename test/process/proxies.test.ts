import Sqlite from 'better-sqlite3'
import t from 'tap'
import { openDevice } from '../realtime/device.ts'
import { buildApp, sendingTo, type TestUser } from '../support/app.ts'
import { change } from '../support/changes.ts'
import { depth } from '../support/depth.ts'
import { startCaddy, startNginx } from '../support/proxies.ts'
import { callsTo } from '../support/service.ts'
import { until } from '../support/until.ts'

const maxBytes = 4 * 1024 * 1024
/** In deep runs, these changes nearly fill a push of `maxBytes`. White space fills the rest. */
const changes = Array.from({ length: depth(1, 15) }, (_, index) =>
  change({ entity_id: `large-${index}`, encrypted_data: 'x'.repeat(262_144) }),
)

const app = await buildApp(t, { TRUST_PROXY: '1', LOG_LEVEL: 'warn' })
const ada = await app.user('ada')
const instance = new URL(await app.listen()).host

for (const [name, start] of Object.entries({ nginx: startNginx, Caddy: startCaddy })) {
  t.test(`deploy/: ${name} lets pushes of 4 MiB, the service's own 413, and sockets through`, async (t) => {
    const proxy = await start(t, [instance])
    if (!proxy) return t.comment(`SKIPPED: no ${name} here`)
    const user = sendingTo(callsTo(proxy.origin, proxy.fetch), ada)
    const device = await openDevice(t, proxy.origin, user, { ca: proxy.ca })

    const body = JSON.stringify({ changes })
    t.match(await push(user, body.padEnd(maxBytes)), { status: 200, body: { accepted: changes.length } })
    t.match(await push(user, body.padEnd(maxBytes + 1)), { status: 413, body: { error: 'Request body too large' } })
    await push(user, JSON.stringify({ changes: [change({ entity_id: name })] }))
    await device.takeEntities(name)

    const packing = async (path: string) => {
      const cookie = `service_session=${ada.session}`
      const { status, headers } = await proxy.fetch(proxy.origin + path, { headers: { cookie } })
      return [status, headers.get('content-encoding')]
    }
    t.same(await packing('/docs/redoc.standalone.js'), [200, 'gzip'])
    t.same(await packing('/api/v1/bookmarks'), [200, null])

    const withJunk = async (count: number, path = '/api/v1/auth/session') => {
      const junk = Array.from({ length: count }, (_, index) => `junk${index}=${'x'.repeat(4000)}; `).join('')
      const cookie = `${junk}service_session=${ada.session}`
      const { status, headers } = await proxy.fetch(proxy.origin + path, { headers: { cookie } })
      return [status, headers.get('clear-site-data')]
    }
    t.same(await withJunk(7), [200, null], 'seven useless cookies do no harm')
    for (const count of [9, 12, 180]) t.same(await withJunk(count), [431, '"cookies"'], `${count} of them`)
    for (const length of [31_000, 60_000]) {
      const [status, cleared] = await withJunk(3, `/?${'x'.repeat(length)}`)
      t.ok(Number(status) >= 400 && cleared === null, `a URL of ${length} bytes signs nobody out: ${status}`)
    }

    await proxy.fetch(`${proxy.origin}/api/v1/auth/callback?code=secret-code&state=/`, { redirect: 'manual' })
    const log = proxy.log
    if (!log) return
    await until(async () => (await log()).includes('"GET /api/v1/auth/callback HTTP/1.1" 302'))
    t.notMatch(await log(), /secret-code|user_id|\?/)
  })
}

function push(user: TestUser, payload: string) {
  return user.call('POST', '/api/v1/sync/push', { payload, headers: { 'content-type': 'application/json' } })
}

t.test('deploy/: Caddy keeps forwarding requests while a page is damaged or the disk is full', async (t) => {
  const proxy = await startCaddy(t, [instance])
  if (!proxy) return t.comment('SKIPPED: no Caddy here')
  let checks = 0
  app.app.server.on('request', ({ url }) => {
    if (url === '/readyz') checks++
  })
  for (const [code, fault] of [
    ['SQLITE_CORRUPT', 'damaged'],
    ['SQLITE_FULL', 'full'],
  ] as const) {
    // Reports the fault as a request that gets this error does.
    app.context.database.isUnavailable(new Sqlite.SqliteError(fault, code))
    t.ok((await app.app.inject('/readyz')).json().faults.includes(fault))
    const before = checks
    await until(() => checks >= before + 2)
    t.equal((await sendingTo(callsTo(proxy.origin, proxy.fetch), ada).call('GET', '/api/v1/bookmarks')).status, 200)
  }
})
