import t from 'tap'
import { buildApp } from '../support/app.ts'
import { holdClock } from '../support/intervals.ts'

const path = '/api/v1/bookmarks'
const evil = { origin: 'https://evil.example' }
const text = { 'content-type': 'text/plain' }
const json = { 'content-type': 'application/json' }
const tooLarge = 'x'.repeat(1_048_577)
// The clock stands still: no minute of a rate passes, and work that takes long is not charged.
holdClock(t)

/** The requests have fewer and fewer faults. Each response must name the fault that is checked first. */
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
    'this uses up the rate of the address',
  )
  t.same(await post({ ...evil, ...wrong }, '192.0.2.1'), [403, { error: 'Forbidden origin' }])
  t.same(await post(wrong, '192.0.2.1'), tooMany, 'before media type and size')
  t.same(await post(text, '192.0.2.1'), [401, { error: 'Authentication required' }], 'nothing was presented')
  t.equal((await post({ ...text, cookie: ada.cookie }, '192.0.2.1'))[0], 415, 'a good session passes')
  app.context.limits.spend(ada.userId, 19)
  t.same(await post({ cookie: ada.cookie, ...text }, '192.0.2.2'), tooMany, 'before media type and size')
  const upgrade = { cookie: ada.cookie, connection: 'upgrade', upgrade: 'websocket' }
  const realtime = await app.call('GET', '/api/v1/sync/realtime', { headers: upgrade, from: '192.0.2.2' })
  t.same([realtime.status, realtime.body], tooMany, 'before 426')
  t.equal((await post({ cookie: bob.cookie, ...json }, '192.0.2.2', '{}'))[0], 400, 'another user is not limited')
})
