import t from 'tap'
import { buildApp } from '../support/app.ts'
import { breakDatabase } from '../support/database.ts'
import { allOperations } from '../support/operations.ts'

const list = '/api/v1/bookmarks'

t.test("A user's rate: the limit's requests a minute, then 429 with Retry-After", async (t) => {
  const { user } = await buildApp(t, { RATE_LIMIT_PER_MINUTE: '5' })
  const [ada, bob] = [await user('ada'), await user('bob')]
  for (let request = 1; request <= 5; request += 1) t.equal((await ada.call('GET', list)).status, 200)
  const { status, body, headers } = await ada.call('GET', list)
  t.same([status, body], [429, { error: 'Too many requests' }])
  const wait = Number(headers['retry-after'])
  t.ok(wait >= 1 && wait <= 60, `Retry-After ${wait} s`)
  t.equal((await bob.call('GET', list)).status, 200, 'another user has a rate of their own')
})

t.test(
  "Only what fails the session check counts against an address's rate; beyond it, nothing is looked up",
  async (t) => {
    const { user, call, context } = await buildApp(t, { RATE_LIMIT_PER_MINUTE: '60', TRUST_PROXY: '1' })
    const ada = await user('ada')
    const from = (address: string, cookie = '') => ({ headers: { 'x-forwarded-for': address, cookie } })
    for (let request = 1; request <= 10; request += 1) {
      t.equal((await call('GET', list, from('192.0.2.1', ada.cookie))).status, 200, 'good sessions do not count')
    }
    for (let request = 1; request <= 3; request += 1) t.equal((await call('GET', list, from('192.0.2.1'))).status, 401)
    const repair = breakDatabase(context)
    const refused = await call('GET', list, from('192.0.2.1', ada.cookie))
    t.equal(refused.status, 429, 'the database is not queried')
    t.ok(Number(refused.headers['retry-after']) >= 1)
    repair()
    t.equal((await call('GET', list, from('192.0.2.2', ada.cookie))).status, 200, 'another address is not limited')
  },
)

t.test('Failed sign-ins count against the address, too', async (t) => {
  const { call } = await buildApp(t, { RATE_LIMIT_PER_MINUTE: '40' })
  for (let request = 1; request <= 2; request += 1)
    t.equal((await call('GET', '/api/v1/auth/callback?code=x')).status, 302)
  t.equal((await call('GET', '/api/v1/auth/callback?code=x')).status, 429)
})

t.test('An address that failed too often is refused whatever it requests', async (t) => {
  const { call } = await buildApp(t, { RATE_LIMIT_PER_MINUTE: '20' })
  await call('GET', list)
  for (const { id, method, path } of allOperations.filter(({ id }) => id !== 'getHealth')) {
    const { status, body, headers } = await call(method, path)
    t.same([status, body], [429, { error: 'Too many requests' }], id)
    t.ok(Number(headers['retry-after']) >= 1)
  }
})

t.test('An IPv6 /64 counts as one address', async (t) => {
  const { call } = await buildApp(t, { RATE_LIMIT_PER_MINUTE: '40', TRUST_PROXY: '1' })
  for (const address of ['2001:db8::1', '2001:db8::ffff:2']) {
    t.equal((await call('GET', list, { headers: { 'x-forwarded-for': address } })).status, 401)
  }
  t.equal((await call('GET', list, { headers: { 'x-forwarded-for': '2001:db8::3' } })).status, 429)
  t.equal((await call('GET', list, { headers: { 'x-forwarded-for': '2001:db8:0:1::1' } })).status, 401)
})

t.test('X-Forwarded-For counts only with TRUST_PROXY', async (t) => {
  const { call } = await buildApp(t, { RATE_LIMIT_PER_MINUTE: '20' })
  t.equal((await call('GET', list, { headers: { 'x-forwarded-for': '192.0.2.1' } })).status, 401)
  t.equal((await call('GET', list, { headers: { 'x-forwarded-for': '192.0.2.2' } })).status, 429)
})

t.test('Health, readyz and the documents are exempt', async (t) => {
  const { call } = await buildApp(t, { RATE_LIMIT_PER_MINUTE: '1' })
  await call('GET', list)
  t.equal((await call('GET', list)).status, 429)
  for (const path of ['/api/v1/health', '/readyz', '/docs/', '/openapi.yaml', '/asyncapi.yaml']) {
    t.equal((await call('GET', path)).status, 200, path)
  }
})
