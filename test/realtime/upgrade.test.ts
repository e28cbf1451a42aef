import { once } from 'node:events'
import type { IncomingHttpHeaders } from 'node:http'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { WebSocket } from 'ws'
import { buildApp } from '../support/app.ts'
import { checkAnswer, checkMessage } from '../support/contract.ts'
import { sharedApp } from '../support/shared-app.ts'
import { realtimeUrl } from './device.ts'

const path = '/api/v1/sync/realtime'

async function open(t: Parameters<typeof buildApp>[0]) {
  const { app, user, listen } = await buildApp(t, { CORS_ORIGIN: 'https://app.example' })
  const origin = await listen()
  const [ada, bob] = [await user('ada'), await user('bob')]
  const ids = { 'x-user-id': ada.userId, 'x-device-id': 'device-a' }

  /** What an upgrade is answered with: the first message, or the answer in its place. */
  async function upgrade(headers: Record<string, string>, query = '') {
    const socket = new WebSocket(realtimeUrl(origin) + query, { headers: { cookie: ada.cookie, ...headers } })
    t.teardown(() => socket.terminate())
    socket.on('error', () => {})
    const refusal = once(socket, 'unexpected-response').then(async ([, response]) => {
      const raw = Buffer.from(await text(response))
      return checkAnswer('GET', path, response.statusCode, response.headers as IncomingHttpHeaders, raw)
    })
    const greeting = once(socket, 'message').then(([data]) => ({ status: 101, body: checkMessage(String(data)) }))
    return Promise.race([refusal, greeting])
  }
  return { app, ada, bob, ids, upgrade }
}

t.test('101: the headers X-User-ID and X-Device-ID, or the query parameters of the same meaning', async (t) => {
  const { ada, bob, ids, upgrade } = await open(t)
  const query = `?user_id=${ada.userId}&device_id=device-q`
  t.match(await upgrade(ids), { status: 101, body: { type: 'connected', deviceId: 'device-a', timestamp: Number } })
  t.match(await upgrade({}, query), { status: 101, body: { deviceId: 'device-q' } })
  t.match(
    await upgrade(ids, `?user_id=${bob.userId}&device_id=device-q`),
    { status: 101, body: { deviceId: 'device-a' } },
    'a header wins',
  )
  t.match(await upgrade({ 'x-device-id': 'device-h' }, query), { status: 101, body: { deviceId: 'device-h' } })
})

t.test('connected tells the time of the server', async (t) => {
  const { ids, upgrade } = await open(t)
  const before = Date.now()
  const { body } = await upgrade(ids)
  t.ok(body.timestamp >= before && body.timestamp <= Date.now())
})

t.test('400: X-User-ID and X-Device-ID are required', async (t) => {
  const { ada, ids, upgrade } = await open(t)
  const expected = { status: 400, body: { error: 'X-User-ID and X-Device-ID are required' } }
  const [{ 'x-user-id': user, 'x-device-id': device }] = [ids]
  for (const headers of [
    {},
    { 'x-user-id': user },
    { 'x-device-id': device },
    { 'x-user-id': '', 'x-device-id': device },
  ] as Record<string, string>[]) {
    t.match(await upgrade(headers), expected)
  }
  t.match(await upgrade({}, `?user_id=${ada.userId}`), expected)
  t.match(await upgrade({}, '?device_id=device-q'), expected)
})

t.test('400: ids and since out of their range', async (t) => {
  const { ids, upgrade } = await open(t)
  t.match(await upgrade({ ...ids, 'x-device-id': 'x'.repeat(129) }), { status: 400 })
  t.match(await upgrade({ ...ids, 'x-device-id': 'caf\xe9' }), { status: 400 })
  for (const since of ['-1', '1.5', 'x', '', '1e3', '9007199254740992']) {
    t.match(await upgrade(ids, `?since=${since}`), { status: 400, body: { error: /since/ } }, `since=${since}`)
  }
})

t.test("403: another user's id", async (t) => {
  const { bob, ids, upgrade } = await open(t)
  const expected = { status: 403, body: { error: 'Forbidden user' } }
  t.match(await upgrade({ ...ids, 'x-user-id': bob.userId }), expected)
  t.match(await upgrade({ ...ids, 'x-user-id': 'nobody' }), expected)
  t.match(await upgrade({ 'x-device-id': 'device-a' }, `?user_id=${bob.userId}`), expected)
})

t.test('401 before all that: no session, or one that is invalid', async (t) => {
  const { bob, ids, upgrade } = await open(t)
  t.match(await upgrade({ ...ids, cookie: '' }), { status: 401, body: { error: 'Authentication required' } })
  t.match(await upgrade({ cookie: '' }), { status: 401 }, 'before the ids')
  t.match(await upgrade({ ...ids, cookie: 'service_session=x' }), {
    status: 401,
    body: { error: 'Invalid or expired session' },
  })
  t.match(
    await upgrade({ ...ids, cookie: 'service_session=x', 'x-user-id': bob.userId }),
    { status: 401 },
    'before the user',
  )
})

t.test('403 before the session: an origin that is not on the list', async (t) => {
  const { ids, upgrade } = await open(t)
  const expected = { status: 403, body: { error: 'Forbidden origin' } }
  for (const origin of ['https://evil.example', 'null', 'https://app.example.evil.example', 'http://app.example']) {
    t.match(await upgrade({ ...ids, origin }), expected, origin)
    t.match(await upgrade({ ...ids, origin, cookie: '' }), expected, `${origin}, without a session`)
  }
  t.match(await upgrade({ ...ids, origin: 'https://app.example' }), { status: 101 }, 'one that is on the list')
})

t.test('426 after 401: no upgrade', async (t) => {
  const { app, ada, ids } = await open(t)
  const get = async (headers: Record<string, string>) => {
    const { statusCode, headers: answered, rawPayload } = await app.inject({ method: 'GET', url: path, headers })
    return checkAnswer('GET', path, statusCode, answered, rawPayload)
  }
  const { cookie } = ada
  const expected = { status: 426, body: { error: 'WebSocket upgrade required' }, headers: { upgrade: 'websocket' } }
  t.match(await get({ cookie, ...ids }), expected)
  t.match(await get({ cookie }), expected, 'before the ids')
  t.match(await get({ cookie, ...ids, 'x-user-id': 'nobody' }), expected, 'before the user')
  t.match(await get(ids), { status: 401 })
})

t.test('No other path is ever upgraded', async (t) => {
  const { user, listen } = await sharedApp()
  const origin = await listen()
  const { cookie } = await user('ada')
  for (const other of ['/api/v1/health', '/api/v1/bookmarks', '/docs', '/nowhere']) {
    const socket = new WebSocket(origin.replace('http', 'ws') + other, { headers: { cookie } })
    t.teardown(() => socket.terminate())
    socket.on('error', () => {})
    const [, response] = await once(socket, 'unexpected-response')
    t.not(response.statusCode, 101, other)
  }
})
