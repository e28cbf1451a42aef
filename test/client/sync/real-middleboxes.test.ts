/** Like middlebox.test.ts, but with real proxies and their answers, over HTTP and in real time. */
import { randomBytes } from 'node:crypto'
import t from 'tap'
import { deriveKeys } from '../../../src/client/crypto/keys.ts'
import { buildApp } from '../../support/app.ts'
import { isDeep } from '../../support/depth.ts'
import { startSites } from '../../support/proxies.ts'
import { until } from '../../support/until.ts'
import { bookmark } from './device.ts'
import { open } from './real-device.ts'

/** Configurations that refuse, limit, redirect or pretend. `SERVICE` is the service's host; port 1 is closed. */
const configurations = {
  nginx: [
    'client_max_body_size 1k; location / { proxy_pass http://SERVICE; }',
    'auth_basic "x"; auth_basic_user_file /dev/null; location / { proxy_pass http://SERVICE; }',
    'location / { limit_req zone=narrow; proxy_pass http://SERVICE; }',
    'location / { proxy_pass http://127.0.0.1:1; }',
    'location / { return 302 /portal; } location /portal { default_type text/html; return 200 "<h1>Sign in</h1>"; }',
    `default_type application/json; location / { return 200 '{"success":false}'; }`,
    `add_header Retry-After 86400 always; location / { return 429 '{"error":"Too many requests"}'; }`,
    'location / { return 400; }',
    'location / { return 404; }',
  ],
  haproxy: [
    ...[400, 413, 429].map((status) => `http-request deny deny_status ${status}`),
    'http-request auth',
    'default_backend dead',
  ],
  caddy: [
    'request_body {\n max_size 100\n}\nreverse_proxy SERVICE',
    'reverse_proxy 127.0.0.1:1',
    'respond "no" 401',
    'respond 400',
  ],
}

const title = 'whatever nginx, HAProxy and Caddy answer, all edits arrive once they are gone'
t.test(title, { skip: !isDeep && 'only with --deep' }, async (t) => {
  const app = await buildApp(t, { LOG_LEVEL: 'error' })
  const service = await app.listen()

  /** Makes edits behind the proxy, then goes around it. Returns a fault if not all edits arrived. */
  const meet = async (origin: string, name: string): Promise<string[]> => {
    const user = await app.user(name)
    let [baseUrl, requests] = [service, 0]
    const current = () => {
      requests++
      return baseUrl
    }
    const sync = open(t, { baseUrl: current, user, keys: deriveKeys(randomBytes(32)), id: 'device' })
    await sync.start()
    await until(() => sync.status().state === 'online')
    baseUrl = origin
    for (const edit of [0, 1, 2]) {
      const before = requests
      await sync.put(bookmark(`${edit}`, 'new', { description: 'd'.repeat(edit * 1500) }))
      await until(() => requests > before)
    }
    baseUrl = service
    const isGivenUp = () =>
      sync.status().state === 'signed-out' || sync.quarantined().some(({ reason }) => reason === 'refused')
    await until(() => sync.status().waiting === 0 || isGivenUp())
    const { body } = await user.call('GET', '/api/v1/bookmarks')
    const failed = isGivenUp() || body.meta.total !== 3
    const { state } = sync.status()
    await sync.stop()
    return failed ? [`${name}: ${state}, ${body.meta.total} of 3 arrived`] : []
  }

  const programs = Object.entries(configurations).map(async ([name, lines]) => {
    const origins = await startSites(
      t,
      name as keyof typeof configurations,
      lines.map((it) => it.replace('SERVICE', new URL(service).host)),
    )
    if (!origins) return t.comment(`SKIPPED: no ${name} here`)
    const wrong = await Promise.all(origins.map((origin, index) => meet(origin, `${name}: ${lines[index]}`)))
    t.same(wrong.flat(), [], name)
  })
  await Promise.all(programs)
})
