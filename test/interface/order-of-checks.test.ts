import t from 'tap'
import { holdTime } from '../http/unread.ts'
import { buildApp } from '../support/app.ts'

const path = '/api/v1/bookmarks'
const evil = { origin: 'https://evil.example' }
const text = { 'content-type': 'text/plain' }
const json = { 'content-type': 'application/json' }
const tooLarge = 'x'.repeat(1_048_577)
// However slow the machine is, no minute of a rate passes, and no work that takes long counts.
holdTime(t)

/** Each request has its own fault and all those that are checked later; the response names the first. */
t.test('Order of checks: origin, session, media type, size, body', async (t) => {
  const app = await buildApp(t)
  const ada = await app.user('ada')
  const { cookie } = ada
  const steps: [status: number, error: string, headers: Record<string, string>, payload: string][] = [
    [403, 'Forbidden origin', { ...evil, ...text }, tooLarge],
    [401, 'Authentication required', text, tooLarge],
    [401, 'Invalid or expired session', { ...text, cookie: 'service_session=x' }, tooLarge],
    [415, 'Unsupported media type', { ...text, cookie }, tooLarge],
    [415, 'Unsupported media type', { ...json, cookie, 'content-encoding': 'gzip' }, tooLarge],
    [413, 'Request body too large', { ...json, cookie }, tooLarge],
    [
      400,
      'x-device-id must be a string of 1 to 128 printable ASCII characters',
      { ...json, cookie, 'x-device-id': '\u00e9' },
      '{"encrypted_data":"a","data_hash":"b"}',
    ],
    [400, 'Invalid request body', { ...json, cookie }, '{}'],
  ]
  for (const [status, error, headers, payload] of steps) {
    const answer = await app.call('POST', path, { headers, payload })
    t.same([answer.status, answer.body], [status, { error }])
  }
})

t.test("Order of checks: origin, session, the user's rate; for a wrong session, the address's rate", async (t) => {
  const app = await buildApp(t, { RATE_LIMIT_PER_MINUTE: '20' })
  const [ada, bob] = [await app.user('ada'), await app.user('bob')]
  const tooMany = [429, { error: 'Too many requests' }]
  const post = async (headers: Record<string, string>, from: string, payload = tooLarge) => {
    const { status, body } = await app.call('POST', path, { headers, payload, from })
    return [status, body]
  }
  const wrong = { ...text, cookie: 'service_session=x' }
  t.same(
    await post(wrong, '192.0.2.1'),
    [401, { error: 'Invalid or expired session' }],
    'uses the rate of the address up',
  )
  t.same(await post({ ...evil, ...wrong }, '192.0.2.1'), [403, { error: 'Forbidden origin' }])
  t.same(await post(wrong, '192.0.2.1'), tooMany, 'before media type and size')
  t.same(await post(text, '192.0.2.1'), [401, { error: 'Authentication required' }], 'nothing was presented')
  t.equal((await post({ ...text, cookie: ada.cookie }, '192.0.2.1'))[0], 415, 'a good session passes')
  for (let request = 2; request <= 20; request++) {
    t.equal((await app.call('GET', path, { headers: { cookie: ada.cookie }, from: '192.0.2.2' })).status, 200)
  }
  t.same(await post({ cookie: ada.cookie, ...text }, '192.0.2.2'), tooMany, 'before media type and size')
  const upgrade = { cookie: ada.cookie, connection: 'upgrade', upgrade: 'websocket' }
  const realtime = await app.call('GET', '/api/v1/sync/realtime', { headers: upgrade, from: '192.0.2.2' })
  t.same([realtime.status, realtime.body], tooMany, 'before 426')
  t.equal((await post({ cookie: bob.cookie, ...json }, '192.0.2.2', '{}'))[0], 400, 'another user is not limited')
})

t.test('What counts for an address: what is presented and wrong', async (t) => {
  const counted: Record<string, [method: string, path: string, cookie: string]> = {
    'a data operation with a bad session': ['GET', path, 'service_session=x'],
    'a refresh with a bad token': ['POST', '/api/v1/auth/refresh', 'service_refresh=x'],
    'asking whether a bad session is good': ['GET', '/api/v1/auth/session', 'service_session=x'],
    'a logout with a bad session': ['POST', '/api/v1/auth/logout', 'service_session=x'],
  }
  const free: typeof counted = {
    'a data operation without a session': ['GET', path, ''],
    'a refresh without a token': ['POST', '/api/v1/auth/refresh', ''],
    'a callback with a bad attempt, which counts for callbacks': ['GET', '/api/v1/auth/callback', 'service_login=x'],
    'a callback without an attempt': ['GET', '/api/v1/auth/callback', ''],
    'a logout without a session': ['POST', '/api/v1/auth/logout', ''],
    'asking whether one is signed in': ['GET', '/api/v1/auth/session', ''],
    'a path that is not there': ['GET', '/nowhere', ''],
    health: ['GET', '/api/v1/health', ''],
  }
  const { call } = await buildApp(t, { RATE_LIMIT_PER_MINUTE: '20' })
  let addresses = 0
  for (const [requests, expected] of [
    [counted, 429],
    [free, 401],
  ] as const) {
    for (const [name, [method, url, cookie]] of Object.entries(requests)) {
      const from = `192.0.2.${++addresses}`
      await call(method, url, { headers: { cookie }, from })
      t.equal((await call('GET', path, { headers: { cookie: 'service_session=x' }, from })).status, expected, name)
    }
  }
})
