import t, { type Test } from 'tap'
import { buildApp } from '../support/app.ts'
import { openBrowser } from '../support/browser.ts'
import { change } from '../support/changes.ts'
import { holdClock } from '../support/intervals.ts'
import { buildWithMock } from '../support/mock-service.ts'
import { allOperations } from '../support/operations.ts'
import { pick } from '../support/pick.ts'
import { sharedApp } from '../support/shared-app.ts'
import { until } from '../support/until.ts'

const list = '/api/v1/bookmarks'
const account = '/api/v1/account'
// The clock stands still: no minute passes, and work that takes long is not charged.
holdClock(t)

t.test("A user may make the limit's number of requests per minute, then gets 429 with Retry-After", async (t) => {
  const { user } = await buildApp(t, { RATE_LIMIT_PER_MINUTE: '5' })
  const [ada, bob] = [await user('ada'), await user('bob')]
  for (let request = 1; request <= 5; request += 1) t.equal((await ada.call('GET', account)).status, 200)
  const { status, body, headers } = await ada.call('GET', account)
  t.same([status, body], [429, { error: 'Too many requests' }])
  const wait = Number(headers['retry-after'])
  t.ok(wait >= 1 && wait <= 60, `Retry-After ${wait} s`)
  t.equal((await bob.call('GET', list)).status, 200, 'another user has a separate limit')
})

t.test("A session that uses up its user's rate can still be ended by another session", async (t) => {
  const app = await buildApp(t, { RATE_LIMIT_PER_MINUTE: '60' })
  const [thief, owner] = [await app.user('ada'), await app.user('ada')]
  const ada = owner.userId
  const sessions = '/api/v1/account/sessions'
  app.context.limits.spend(ada, 600)
  t.equal((await owner.call('GET', list)).status, 429)
  for (const caller of [owner, thief]) {
    const statuses = []
    for (let request = 0; request < 5; request++) statuses.push((await caller.call('GET', sessions)).status)
    t.same(statuses, [200, 200, 200, 429, 429], 'each session has a reserve of a twentieth')
  }
  for (let request = 0; request < 5; request++)
    t.equal((await owner.call('DELETE', `${sessions}/unknown`)).status, 404, 'ending a session is never refused')
  t.equal((await owner.call('DELETE', `${sessions}/${thief.loginId}`)).status, 200)
  t.equal((await thief.call('GET', sessions)).status, 401)
})

const bad = { cookie: `service_session=${'A'.repeat(43)}; service_refresh=${'A'.repeat(43)}` }

t.test('The limit of an address counts and refuses wrong cookies only', async (t) => {
  const { user, call } = await buildApp(t, { RATE_LIMIT_PER_MINUTE: '60' })
  const ada = await user('ada')
  const ask = async (headers: Record<string, string>, from = '192.0.2.1') =>
    (await call('GET', list, { headers, from })).status
  const times = (count: number, headers: Record<string, string>) =>
    Promise.all(Array.from({ length: count }, () => ask(headers)))
  t.same(await times(10, { cookie: ada.cookie }), Array(10).fill(200), 'valid sessions')
  t.same(await times(10, {}), Array(10).fill(401), 'no cookie')
  t.same((await times(5, bad)).sort(), [401, 401, 401, 429, 429], 'wrong cookies')
  t.same([await ask({}), await ask({ cookie: ada.cookie })], [401, 200], 'then as before')
  t.equal(await ask(bad, '192.0.2.2'), 401, 'another address is not limited')
})

t.test('From an address over its limit, people can still sign in, refresh and sign out', async (t) => {
  const { call } = await buildWithMock(t, { RATE_LIMIT_PER_MINUTE: '40' })
  for (let request = 1; request <= 3; request += 1) await call('GET', list, { headers: bad })
  t.equal((await call('GET', list, { headers: bad })).status, 429)
  const browser = openBrowser(call)
  // Images on another site's page are requested without the SameSite=Lax cookies.
  const image = async () => (await call('GET', list)).status
  t.same(await Promise.all(Array.from({ length: 60 }, image)), Array(60).fill(401))
  const steps = [
    await browser.call('GET', '/api/v1/auth/session'),
    await browser.call('GET', '/api/v1/auth/callback?code=x'),
    await browser.signIn('Ada'),
    await browser.call('GET', '/api/v1/auth/session'),
    await browser.call('POST', '/api/v1/auth/refresh'),
    await browser.call('GET', list),
    await browser.call('POST', '/api/v1/auth/logout'),
  ]
  t.same(pick(steps, 'status'), [401, 302, 302, 200, 200, 200, 200])
})

t.test('Failed sign-ins count if the browser presents an attempt, but not if the provider is down', async (t) => {
  const { call, mock } = await buildWithMock(t, { RATE_LIMIT_PER_MINUTE: '40' })
  const browser = openBrowser(call)
  const fail = async () => (await browser.call('GET', '/api/v1/auth/callback?code=x')).status
  const times = async (count: number) => {
    const statuses: number[] = []
    for (let request = 1; request <= count; request += 1) statuses.push(await fail())
    return statuses
  }
  t.same(await times(4), [302, 302, 302, 302], 'without an attempt')
  await browser.startLogin()
  mock.faults.set('token', 'error')
  t.same(await times(4), [302, 302, 302, 302], 'without the provider')
  mock.faults.clear()
  t.same(await times(4), [302, 302, 429, 429], 'with a wrong code')
  const exchanges = () => mock.requests.filter(({ endpoint }) => endpoint === 'token').length
  const before = exchanges()
  await fail()
  t.equal(exchanges(), before, 'the provider gets no request')
})

t.test('Starting sign-ins has a separate limit per address', async (t) => {
  const { call } = await buildWithMock(t, { RATE_LIMIT_PER_MINUTE: '20' })
  const start = async (from: string) => (await call('POST', '/api/v1/auth/login', { from, body: {} })).status
  const statuses: number[] = []
  for (let request = 1; request <= 7; request += 1) statuses.push(await start('192.0.2.1'))
  t.same(statuses, [200, 200, 200, 200, 200, 429, 429], 'the limit is a quarter of the rate')
  t.equal(await start('192.0.2.2'), 200, 'another address is not limited')
  t.equal((await call('GET', list, { from: '192.0.2.1' })).status, 401, 'other requests of the address are not refused')
})

t.test('An address over its limit gets 429 for every wrong cookie', async (t) => {
  const { call } = await buildApp(t, { RATE_LIMIT_PER_MINUTE: '20' })
  await call('GET', list, { headers: bad })
  for (const { id, method, path } of allOperations.filter(({ security }) => security !== 'none')) {
    const { status, body, headers } = await call(method, path, { headers: bad })
    t.same([status, body], [429, { error: 'Too many requests' }], id)
    t.ok(Number(headers['retry-after']) >= 1)
  }
  const logout = (cookie?: string) => call('POST', '/api/v1/auth/logout', { headers: { ...(cookie && { cookie }) } })
  t.same([(await logout(bad.cookie)).status, (await logout()).status], [429, 200], 'with wrong cookies and without')
})

t.test('An IPv6 /64 counts as one address', async (t) => {
  const { call } = await buildApp(t, { RATE_LIMIT_PER_MINUTE: '40', TRUST_PROXY: '1' })
  for (const address of ['2001:db8::1', '2001:db8::ffff:2']) {
    t.equal((await call('GET', list, { headers: { ...bad, 'x-forwarded-for': address } })).status, 401)
  }
  t.equal((await call('GET', list, { headers: { ...bad, 'x-forwarded-for': '2001:db8::3' } })).status, 429)
  t.equal((await call('GET', list, { headers: { ...bad, 'x-forwarded-for': '2001:db8:0:1::1' } })).status, 401)
})

t.test('X-Forwarded-For counts only with TRUST_PROXY', async (t) => {
  const { call } = await buildApp(t, { RATE_LIMIT_PER_MINUTE: '20' })
  t.equal((await call('GET', list, { headers: { ...bad, 'x-forwarded-for': '192.0.2.1' } })).status, 401)
  t.equal((await call('GET', list, { headers: { ...bad, 'x-forwarded-for': '192.0.2.2' } })).status, 429)
})

t.test('Health, readyz and the documents are exempt', async (t) => {
  const { call } = await buildApp(t, { RATE_LIMIT_PER_MINUTE: '1' })
  await call('GET', list, { headers: bad })
  t.equal((await call('GET', list, { headers: bad })).status, 429)
  for (const path of ['/api/v1/health', '/livez', '/readyz', '/docs/', '/openapi.yaml', '/asyncapi.yaml']) {
    t.equal((await call('GET', path)).status, 200, path)
  }
})

/** A function that sends requests of one user, one after another, to a service with this rate. */
async function connect(t: Test, rate: number): Promise<(path: string, body: object) => Promise<number>> {
  const { user, listen } = await buildApp(t, { RATE_LIMIT_PER_MINUTE: `${rate}` })
  const [{ cookie }, origin] = [await user('ada'), await listen()]
  return async (path, body) => {
    const headers = { cookie, 'content-type': 'application/json' }
    const response = await fetch(`${origin}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    await response.arrayBuffer()
    return response.status
  }
}

/** Counts the requests that succeed before the first 429. */
async function countPassing(post: () => Promise<number>): Promise<number> {
  for (let count = 0; ; count += 1) {
    const status = await post()
    if (status === 429) return count
    if (status !== 200) throw new Error(`status ${status}`)
  }
}

t.test('Large requests and large responses count as several', async (t) => {
  const first = await connect(t, 20)
  const encrypted_data = 'x'.repeat(262_144)
  const large = [1, 2, 3, 4, 5, 6, 7, 8].map((n) => change({ entity_id: `x${n}`, encrypted_data }))
  const pushes = await countPassing(() => first('/api/v1/sync/push', { changes: large }))
  t.ok(pushes >= 1 && pushes <= 5, `${pushes} of 20 pushes of 2 MiB`)

  const second = await connect(t, 60)
  t.equal(await second('/api/v1/sync/push', { changes: large }), 200)
  const pulls = await countPassing(() => second('/api/v1/sync/pull', {}))
  t.ok(pulls >= 1 && pulls <= 12, `${pulls} of 27 pulls of 2 MiB`)
})

t.test('The first sync of 1,000 bookmarks and its pull by ten devices use a twentieth of the rate', async (t) => {
  const post = await connect(t, 60)
  const data = { encrypted_data: 'x'.repeat(780), data_hash: 'x'.repeat(64) }
  const statuses = []
  for (let batch = 0; batch < 2; batch += 1) {
    const changes = Array.from({ length: 500 }, (_, index) => change({ entity_id: `${batch}-${index}`, ...data }))
    statuses.push(await post('/api/v1/sync/push', { changes }))
  }
  for (let device = 0; device < 10; device += 1) statuses.push(await post('/api/v1/sync/pull', {}))
  t.same(statuses, Array(12).fill(200))
})

t.test("A burst of requests from one address delays another address's request by a few of them only", async (t) => {
  const { call, user } = await sharedApp()
  const [eve, ada] = [await user('eve'), await user('ada')]
  const path = '/api/v1/sync/status'
  let answered = 0
  const sent = (cookie: string, from: string) =>
    call('GET', path, { headers: { cookie }, from }).then(({ status }) => ({ status, before: answered++ }))
  const burst = Array.from({ length: 300 }, () => sent(eve.cookie, '192.0.2.66'))
  const hers = await sent(ada.cookie, '192.0.2.1')
  t.equal(hers.status, 200)
  t.ok(hers.before < 100, `${hers.before} of the burst were answered before hers`)
  t.same(new Set((await Promise.all(burst)).map(({ status }) => status)), new Set([200]), 'no one is refused')
})

t.test("Of one user's requests 8 run and 512 wait; one more gets 503 with the usual headers", async (t) => {
  const app = await buildApp(t)
  const { requests } = app.context.gate
  const [eve, ada] = [await app.user('eve'), await app.user('ada')]
  for (let count = 0; count < 8; count++) requests.take(eve.userId)
  const path = '/api/v1/sync/status'
  const origin = 'http://127.0.0.1:3000'
  const waiting = Array.from({ length: 512 }, () => eve.call('GET', path))
  await until(() => requests.load().waiting === 512)
  const { status, headers } = await eve.call('GET', path, { headers: { origin } })
  t.same([status, headers['access-control-allow-origin']], [503, origin])
  t.equal((await ada.call('GET', path)).status, 200, 'others are served')
  const monitoring = ['/api/v1/health', '/livez', '/readyz'].map((path) => app.call('GET', path))
  t.same(pick(await Promise.all(monitoring), 'status'), [200, 200, 200], 'monitoring is never refused')
  for (let count = 0; count < 8; count++) requests.release(eve.userId)
  t.same(new Set(pick(await Promise.all(waiting), 'status')), new Set([200]))
})
