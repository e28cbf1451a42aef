import t from 'tap'
import { openDevice } from '../realtime/device.ts'
import { buildApp, sendingTo, type TestUser } from '../support/app.ts'
import { change } from '../support/changes.ts'
import { depth } from '../support/depth.ts'
import { startCaddy, startNginx } from '../support/proxies.ts'
import { callsTo } from '../support/service.ts'
import { until } from '../support/until.ts'

const maxBytes = 32 * 1024 * 1024
/** In depth, they fill a push of `maxBytes`; else white space does. */
const changes = Array.from({ length: depth(1, 127) }, (_, index) =>
  change({ entity_id: `large-${index}`, encrypted_data: 'x'.repeat(262_144) }),
)

const app = await buildApp(t, { TRUST_PROXY: '1', LOG_LEVEL: 'warn' })
const ada = await app.user('ada')
const instance = new URL(await app.listen()).host

for (const [name, start] of Object.entries({ nginx: startNginx, Caddy: startCaddy })) {
  t.test(`deploy/: through ${name} pass pushes of 32 MiB, the service's 413, and sockets`, async (t) => {
    const proxy = await start(t, [instance])
    if (!proxy) return t.comment(`SKIPPED: no ${name} here`)
    const user = sendingTo(callsTo(proxy.origin, proxy.fetch), ada)
    const device = await openDevice(t, proxy.origin, user, { ca: proxy.ca })

    const body = JSON.stringify({ changes })
    t.match(await push(user, body.padEnd(maxBytes)), { status: 200, body: { accepted: changes.length } })
    t.match(await push(user, body.padEnd(maxBytes + 1)), { status: 413, body: { error: 'Request body too large' } })
    await push(user, JSON.stringify({ changes: [change({ entity_id: name })] }))
    await device.takeEntities(name)

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
