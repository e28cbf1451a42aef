import { once } from 'node:events'
import { request } from 'node:http'
import t from 'tap'
import { WebSocket } from 'ws'
import { openDevice, realtimeUrl } from '../realtime/device.ts'
import { buildApp } from '../support/app.ts'
import { checkAnswer, checkMessage } from '../support/contract.ts'

const origin = 'http://app.localhost:5173'
const app = await buildApp(t, { CORS_ORIGIN: origin })
const here = await app.listen()
const [ada, bob] = [await app.user('ada'), await app.user('bob')]
const path = '/api/v1/sync/realtime'
const handshake = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
}
const session = { cookie: ada.cookie }
const ids = { 'x-user-id': ada.userId, 'x-device-id': 'phone' }

/** The status and error of the response to a handshake over a real socket. A WebSocket has 101. */
async function ask(headers: Record<string, string>, query = ''): Promise<[number, unknown]> {
  const { promise, resolve, reject } = Promise.withResolvers<[number, unknown]>()
  const sent = request(here + path + query, { headers })
  sent.on('error', reject)
  sent.on('upgrade', (_response, socket) => {
    socket.destroy()
    resolve([101, undefined])
  })
  sent.on('response', async (response) => {
    const raw = Buffer.concat(await response.toArray())
    const { status, body } = checkAnswer('GET', path, response.statusCode ?? 0, response.headers, raw)
    resolve([status, body.error])
  })
  sent.end()
  return promise
}

t.test('GET /api/v1/sync/realtime | 101 Switching Protocols, then a WebSocket', async (t) => {
  t.same(await ask({ ...handshake, ...session, ...ids }), [101, undefined])
  t.same(await ask({ ...handshake, upgrade: 'WebSocket', ...session, ...ids }), [101, undefined], 'in any letter case')
  t.same(await ask({ ...handshake, ...session, ...ids, origin }), [101, undefined], 'from a listed origin')
  await openDevice(t, here, ada)
})

t.test('GET /api/v1/sync/realtime | X-User-ID (required), X-Device-ID (required)', async (t) => {
  const required = [400, 'X-User-ID and X-Device-ID are required']
  const { 'x-user-id': user, 'x-device-id': device } = ids
  for (const some of [{}, { 'x-user-id': user }, { 'x-device-id': device }, { ...ids, 'x-user-id': '' }]) {
    t.same(await ask({ ...handshake, ...session, ...some }), required, Object.keys(some).join())
  }
  for (const bad of ['x'.repeat(129), '\u00e9', '']) {
    t.equal((await ask({ ...handshake, ...session, ...ids, 'x-device-id': bad }))[0], 400, bad.slice(0, 9))
  }
  const query = `?user_id=${ada.userId}&device_id=phone`
  t.same(await ask({ ...handshake, ...session }, query), [101, undefined], 'browsers may use the query instead')
  t.same(await ask({ ...handshake, ...session, 'x-user-id': user }, '?device_id=phone'), [101, undefined])
  for (const since of ['-1', '1.5', 'x', '', '1e3', '9007199254740992'])
    t.match(await ask({ ...handshake, ...session, ...ids }, `?since=${since}`), [400, /since/], `since=${since}`)
})

t.test('X-User-ID and X-Device-ID have priority over the query parameters', async (t) => {
  const connectedAs = async (headers: object, userId: string) => {
    const url = `${realtimeUrl(here)}?user_id=${userId}&device_id=query`
    const socket = new WebSocket(url, { headers: { ...session, ...headers } })
    t.teardown(() => socket.terminate())
    const [data] = await once(socket, 'message')
    return checkMessage(String(data))
  }
  t.match(await connectedAs({}, ada.userId), { type: 'connected', deviceId: 'query' })
  t.match(await connectedAs(ids, bob.userId), { type: 'connected', deviceId: 'phone' })
  t.match(await connectedAs({ 'x-device-id': 'phone' }, ada.userId), { type: 'connected', deviceId: 'phone' })
})

t.test('No other path is ever upgraded', async (t) => {
  for (const other of ['/api/v1/health', '/api/v1/bookmarks', '/docs', '/nowhere']) {
    const sent = request(here + other, { headers: { ...handshake, ...session } }).end()
    const answered = await Promise.race(['response', 'upgrade'].map((event) => once(sent, event).then(() => event)))
    t.equal(answered, 'response', other)
    sent.destroy()
  }
})

t.test("GET /api/v1/sync/realtime | X-User-ID is the session's user", async (t) => {
  const forbidden = [403, 'Forbidden user']
  t.same(await ask({ ...handshake, ...session, ...ids, 'x-user-id': bob.userId }), forbidden)
  t.same(await ask({ ...handshake, ...session }, `?user_id=${bob.userId}&device_id=phone`), forbidden)
  const query = `?user_id=${ada.userId}`
  t.same(await ask({ ...handshake, ...session, ...ids, 'x-user-id': bob.userId }, query), forbidden, 'a header wins')
})

t.test('GET /api/v1/sync/realtime | 426: {error} when the upgrade is missing', async (t) => {
  const required = [426, 'WebSocket upgrade required']
  const { upgrade: _, ...noUpgrade } = handshake
  const { 'sec-websocket-key': _key, ...noKey } = handshake
  const { 'sec-websocket-version': _version, ...noVersion } = handshake
  const attempts = {
    'a plain request': {},
    'no Upgrade': noUpgrade,
    'another protocol': { ...handshake, upgrade: 'h2c' },
    'no key': noKey,
    'a bad key': { ...handshake, 'sec-websocket-key': 'short' },
    'no version': noVersion,
    'an old version': { ...handshake, 'sec-websocket-version': '8' },
  }
  for (const [name, headers] of Object.entries(attempts)) {
    t.same(await ask({ ...headers, ...session, ...ids }), required, name)
  }
})

t.test('Checked in this order: origin, session, upgrade, ids, user', async (t) => {
  const evil = { origin: 'https://evil.example' }
  const steps: [name: string, headers: Record<string, string>, answer: [number, unknown]][] = [
    ['origin', { ...handshake, ...evil }, [403, 'Forbidden origin']],
    ['session', {}, [401, 'Authentication required']],
    ['session, of an upgrade', handshake, [401, 'Authentication required']],
    ['426 comes after 401', { cookie: 'service_session=x' }, [401, 'Invalid or expired session']],
    ['upgrade', session, [426, 'WebSocket upgrade required']],
    ['ids', { ...handshake, ...session }, [400, 'X-User-ID and X-Device-ID are required']],
    [
      'ids, one of another user',
      { ...handshake, ...session, 'x-user-id': bob.userId },
      [400, 'X-User-ID and X-Device-ID are required'],
    ],
    ['user', { ...handshake, ...session, ...ids, 'x-user-id': 'x' }, [403, 'Forbidden user']],
  ]
  for (const [name, headers, answer] of steps) t.same(await ask(headers), answer, name)
})
