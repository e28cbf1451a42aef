import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import t from 'tap'
import { WebSocket } from 'ws'
import { helpText } from '../scripts/mock/run.ts'
import { scenarios } from '../scripts/mock/scenarios.ts'
import { createMockServer } from '../scripts/mock/server.ts'
import { buildApp, type TestUser } from './support/app.ts'
import { change } from './support/changes.ts'
import { setCookies } from './support/cookies.ts'
import { keyringOf } from './support/keyrings.ts'
import { callsTo } from './support/service.ts'
import { until } from './support/until.ts'

const content = { encrypted_data: 'ciphertext', data_hash: 'hash' }

const tested = new Set<string>()

const app = await buildApp(t)
await app.app.ready()
const server = createMockServer(app.app)
await once(server.listen(0, '127.0.0.1'), 'listening')
t.teardown(() => {
  server.closeAllConnections()
  server.close()
})
const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

/** A user who is signed in at the mock. Every response is checked against the contract. */
async function openMock(scenario: string) {
  tested.add(scenario)
  const send = callsTo(origin)
  const user = await app.user(scenario)
  const call: TestUser['call'] = (method, path, request = {}) =>
    send(method, path, {
      ...request,
      headers: { cookie: `${user.cookie}; service_refresh=${user.refresh}`, ...request.headers },
    })
  const play: TestUser['call'] = (method, path, request = {}) =>
    call(method, path, { ...request, headers: { 'x-scenario': scenario, ...request.headers } })
  return { user, call, play }
}

t.test('conflict: a push loses to another device, and the next pull brings what won', async (t) => {
  const { call, play } = await openMock('conflict')
  const made = change({ entity_id: 'one', timestamp: 1000 })
  const { body } = await play('POST', '/api/v1/sync/push', { body: { changes: [made] } })
  t.match(body, { accepted: 0, conflicts: [{ entity_id: 'one', event_id: made.id }] })
  t.match((await call('POST', '/api/v1/sync/pull', { body: {} })).body.changes, [
    { operation: 'delete', device_id: 'mock-rival' },
  ])
  const kept = change({ entity_id: 'two', timestamp: 1000 })
  await call('POST', '/api/v1/sync/push', { body: { changes: [kept] } })
  const gone = change({ entity_id: 'two', timestamp: 2000, operation: 'delete' })
  t.match((await play('POST', '/api/v1/sync/push', { body: { changes: [gone] } })).body, { accepted: 0 })
  t.equal((await call('GET', '/api/v1/bookmarks/two')).body.encrypted_data, kept.encrypted_data)
})

t.test('next-page: a page has one change', async (t) => {
  const { call, play } = await openMock('next-page')
  await call('POST', '/api/v1/sync/push', {
    body: { changes: [change({ entity_id: 'a' }), change({ entity_id: 'b' })] },
  })
  const first = (await play('POST', '/api/v1/sync/pull')).body
  t.match(first, { changes: [{ entity_id: 'a' }], has_more: true })
  t.match((await play('POST', '/api/v1/sync/pull', { body: { since: first.last_sync_timestamp } })).body, {
    changes: [{ entity_id: 'b' }],
    has_more: false,
  })
})

for (const [scenario, leastMs] of [
  ['expired-session', 0],
  ['refresh-race', 1990],
] as const) {
  t.test(`${scenario}: calls get 401 until the session is refreshed`, async (t) => {
    const { play, user } = await openMock(scenario)
    t.match(await play('GET', '/api/v1/sync/status'), { status: 401, body: { error: 'Invalid or expired session' } })
    const start = performance.now()
    const refresh = await play('POST', '/api/v1/auth/refresh')
    t.ok(performance.now() - start >= leastMs)
    const token = setCookies(refresh).find(({ name }) => name === 'service_session')?.value
    const headers = { cookie: `service_session=${token}` }
    t.equal((await play('GET', '/api/v1/sync/status', { headers })).status, 200)
    t.equal((await play('GET', '/api/v1/sync/status', { headers: { cookie: user.cookie } })).status, 401)
  })
}

t.test('signed-out: a refresh of the session fails, too', async (t) => {
  const { play } = await openMock('signed-out')
  t.equal((await play('GET', '/api/v1/sync/status')).status, 401)
  t.match(await play('POST', '/api/v1/auth/refresh'), { status: 401, body: { error: 'Failed to refresh token' } })
})

for (const status of ['processing', 'failed']) {
  t.test(`export-${status}: the download is refused as the contract says`, async (t) => {
    const { call, play } = await openMock(`export-${status}`)
    const { id } = (await play('POST', '/api/v1/exports')).body
    while ((await call('GET', '/api/v1/exports')).body.exports[0].status !== 'completed')
      await new Promise(setImmediate)
    t.match((await play('GET', '/api/v1/exports')).body, { exports: [{ id, status, size_bytes: null }] })
    const download = await play('GET', `/api/v1/exports/${id}`)
    t.match(download, { status: 400, body: { error: 'Export not ready for download' } })
    t.equal((await call('GET', `/api/v1/exports/${id}`)).status, 200, 'without the scenario, it is available')
  })
}

for (const [scenario, error] of [
  ['429', 'Too many requests'],
  ['503', 'Service unavailable'],
] as const) {
  t.test(`${scenario}: the response has Retry-After`, async (t) => {
    const { play } = await openMock(scenario)
    const { status, body, headers } = await play('GET', '/api/v1/sync/status')
    t.match({ status, body }, { status: Number(scenario), body: { error } })
    t.equal(headers['retry-after'], '1')
  })
}

function openSocket(user: TestUser, scenario: string): WebSocket {
  const query = `user_id=${user.userId}&device_id=phone&x-scenario=${scenario}`
  const url = `${origin.replace('http', 'ws')}/api/v1/sync/realtime?${query}`
  return new WebSocket(url, { headers: { cookie: user.cookie } })
}

for (const [scenario, expected] of [
  ['socket-drop', 1006],
  ['socket-signed-out', 4401],
  ['socket-stopping', 1001],
] as const) {
  t.test(`${scenario}: the socket is greeted, and ends with ${expected}`, async (t) => {
    const mock = await openMock(scenario)
    const socket = openSocket(mock.user, scenario)
    const [message] = await once(socket, 'message')
    t.equal(JSON.parse(String(message)).type, 'connected')
    const [code] = await once(socket, 'close')
    t.equal(code, expected)
  })
}

t.test('socket-silence: the socket opens, but no change arrives on it', async (t) => {
  const mock = await openMock('socket-silence')
  const silent = openSocket(mock.user, 'socket-silence')
  const heard: unknown[] = []
  silent.on('message', (message) => heard.push(message))
  await once(silent, 'open')
  t.teardown(() => silent.terminate())
  const live = new WebSocket(silent.url.replace('&x-scenario=socket-silence', '').replace('phone', 'tablet'), {
    headers: { cookie: mock.user.cookie },
  })
  t.teardown(() => live.terminate())
  const came = new Promise<void>((resolve) => {
    live.on('message', (message) => JSON.parse(String(message)).type === 'sync' && resolve())
  })
  await once(live, 'open')
  await mock.call('POST', '/api/v1/sync/push', { body: { changes: [change({ entity_id: 'x' })] } })
  await came
  t.strictSame(heard, [])
})

t.test('413: writes find the quota used up, deletes are accepted', async (t) => {
  const { call, play } = await openMock('413')
  const body = content
  const { id } = (await call('POST', '/api/v1/bookmarks', { body })).body
  const stored = { status: 413, body: { error: 'Storage quota exceeded' } }
  t.match(await play('POST', '/api/v1/bookmarks', { body }), stored)
  t.match(await play('PUT', `/api/v1/bookmarks/${id}`, { body }), stored)
  t.match(await play('POST', '/api/v1/sync/push', { body: { changes: [change({ entity_id: 'more' })] } }), stored)
  t.match(await play('POST', '/api/v1/sync/import', { body: { bookmarks: [{ id: 'new', ...body }] } }), stored)
  t.equal((await play('DELETE', `/api/v1/bookmarks/${id}`)).status, 200)
  const deletes = { changes: [change({ entity_id: 'less', operation: 'delete' })] }
  t.match(await play('POST', '/api/v1/sync/push', { body: deletes }), { status: 200, body: { accepted: 1 } })
})

t.test('409: the id of a new bookmark is in use, and a new keyring’s revision is outdated', async (t) => {
  const { play } = await openMock('409')
  const created = await play('POST', '/api/v1/bookmarks', { body: content })
  t.match(created, { status: 409, body: { error: 'Bookmark already exists' } })
  const keyring = await play('PUT', '/api/v1/account/keyring', { body: { keyring: 'k', revision: 1 } })
  t.match(keyring, { status: 409, body: { error: 'Keyring was changed' } })
})

t.test('old-sign-in: calls that cannot be undone need another sign-in, the first keyring does not', async (t) => {
  const { play } = await openMock('old-sign-in')
  const put = (revision: number) =>
    play('PUT', '/api/v1/account/keyring', { body: { keyring: keyringOf('k'), revision } })
  t.equal((await put(1)).status, 200)
  const again = { status: 403, body: { error: 'Sign in again' } }
  t.match(await put(2), again)
  t.match(await play('DELETE', '/api/v1/account/sessions'), again)
  t.match(await play('DELETE', '/api/v1/account'), again)
  t.equal((await play('GET', '/api/v1/account/keyring/versions')).status, 200)
})

t.test('A socket opens unless the scenario refuses it', async (t) => {
  const names = Object.keys(scenarios).filter((name) => name !== 'socket-silence')
  const outcomes = names.map(async (name) => [name, await outcomeOf(openSocket((await openMock(name)).user, name))])
  const [refused, expired] = ['refused: 503', 'refused: 401']
  t.same(Object.fromEntries(await Promise.all(outcomes)), {
    ...Object.fromEntries(names.map((name) => [name, 'connected'])),
    ...{ '429': 'refused: 429', '503': refused, 'socket-refused': refused },
    ...{ 'expired-session': expired, 'refresh-race': expired, 'signed-out': expired },
  })
})

/** The socket's refusal, or the type of its first message. */
async function outcomeOf(socket: WebSocket): Promise<string> {
  const refused = once(socket, 'unexpected-response').then(([, { statusCode }]) => `refused: ${statusCode}`)
  const message = once(socket, 'message').then(([text]) => JSON.parse(String(text)).type)
  const outcome = await Promise.race([refused, message])
  socket.on('error', () => {}).terminate()
  return outcome
}

t.test('No scenario refuses health checks, documents and preflights', async (t) => {
  const paths = ['/api/v1/health', '/livez', '/readyz', '/openapi.yaml']
  const asked = Object.keys(scenarios).flatMap((name) => paths.map((path) => `${path}?x-scenario=${name}`))
  const statuses = await Promise.all(asked.map(async (path) => (await fetch(origin + path)).status))
  t.same(
    asked.filter((_, index) => statuses[index] !== 200),
    [],
  )
  const preflights = [...Object.keys(scenarios), 'nothing'].map(async (name) => (await preflight(name)).status)
  t.same(new Set(await Promise.all(preflights)), new Set([204]))
})

t.test('Malformed bodies and queries get the service’s own answer', async (t) => {
  const bodies = ['{', '[]', 'null', '"text"', '{"changes":{}}', '{"changes":[null]}', '{"changes":[{"entity_id":7}]}']
  const { call } = await openMock('conflict')
  const answerOf = async (path: string, payload: string, headers: Record<string, string>) => {
    const { status, body } = await call('POST', path, {
      payload,
      headers: { 'content-type': 'application/json', ...headers },
    })
    return { path, payload, status, error: body.error }
  }
  const pushes = bodies.map((body) => ['/api/v1/sync/push', body, 'conflict'] as const)
  const pulls = bodies.slice(0, 4).map((body) => ['/api/v1/sync/pull', body, 'next-page'] as const)
  for (const [path, body, scenario] of [...pushes, ...pulls]) {
    t.same(
      await answerOf(path, body, { 'x-scenario': scenario }),
      await answerOf(path, body, {}),
      `${scenario} ${body}`,
    )
  }
  const page = await fetch(`${origin}/api/v1/bookmarks?limit=%31&x-scenario=next-page&page=x`)
  t.equal(page.status, 401)
  t.equal((await fetch(`${origin}//health?x-scenario=503`)).status, 404)
})

t.test("A range of an unfinished export's file is refused", async (t) => {
  const { call, play } = await openMock('export-processing')
  const { id } = (await play('POST', '/api/v1/exports')).body
  await until(async () => (await call('GET', '/api/v1/exports')).body.exports[0].status === 'completed')
  const part = await play('GET', `/api/v1/exports/${id}`, { headers: { range: 'bytes=0-3' } })
  t.match(part, { status: 400, body: { error: 'Export not ready for download' } })
})

t.test('An unknown scenario is refused, on a socket too, and a page of any origin can read the error', async (t) => {
  const own = 'http://127.0.0.1:3000'
  const names = ['nothing', 'constructor', '__proto__', 'conflict,429']
  const answers = names.map((name) =>
    fetch(`${origin}/api/v1/sync/status?x-scenario=${name}`, { headers: { origin: own } }),
  )
  for (const answer of await Promise.all(answers)) {
    t.match(await answer.json(), { error: /^x-scenario is one of: .*conflict, next-page/ })
    t.match(
      { status: answer.status, cors: answer.headers.get('access-control-allow-origin') },
      { status: 400, cors: own },
    )
  }
  const { user } = await openMock('conflict')
  t.same(
    await Promise.all(names.map((name) => outcomeOf(openSocket(user, name)))),
    names.map(() => 'refused: 400'),
  )
  t.match((await preflight('conflict')).headers.get('access-control-allow-headers'), /X-Scenario/)
})

t.test('Calls without a session are made as the user that the mock signed in at its start', async (t) => {
  const [ada, bob] = [await app.user('ada of the mock'), await app.user('bob of the mock')]
  const server = createMockServer(app.app, ada.cookie)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const port = (server.address() as AddressInfo).port
  const send = callsTo(`http://127.0.0.1:${port}`)
  const userOf = async (headers: Record<string, string>) =>
    (await send('GET', '/api/v1/auth/session', { headers })).body.user?.user_id
  t.equal(await userOf({}), ada.userId)
  t.equal(await userOf({ cookie: 'theme=dark' }), ada.userId)
  t.equal(await userOf({ cookie: bob.cookie }), bob.userId)
  t.equal(await userOf({ authorization: `Bearer ${bob.session}` }), bob.userId)
  t.equal(await userOf({ cookie: 'service_session=wrong' }), undefined)
  const socket = new WebSocket(`ws://127.0.0.1:${port}/api/v1/sync/realtime?device_id=d&user_id=${ada.userId}`)
  const [message] = await once(socket, 'message')
  t.match(JSON.parse(String(message)), { type: 'connected' })
  socket.close()
})

t.test('Like the service, the mock ignores an upgrade to anything but a WebSocket', async (t) => {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.write('GET /api/v1/health HTTP/1.1\r\nhost: mock\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n')
  const [answer] = await once(socket, 'data')
  t.match(String(answer), /^HTTP\/1.1 200 OK/)
  socket.destroy()
})

t.test('The help lists all scenarios and says how an app on another origin may call', async (t) => {
  const help = helpText('http://127.0.0.1:3000')
  t.same(
    Object.keys(scenarios).filter((name) => !help.includes(`\n  ${name} `)),
    [],
  )
  t.match(help, /CORS_ORIGIN/)
})

function preflight(scenario: string): Promise<Response> {
  return fetch(`${origin}/api/v1/sync/push?x-scenario=${scenario}`, {
    method: 'OPTIONS',
    headers: { origin: 'http://127.0.0.1:3000', 'access-control-request-method': 'POST' },
  })
}

t.test('every scenario has a test in this file', async (t) => {
  t.strictSame(
    Object.keys(scenarios).filter((name) => !tested.has(name)),
    [],
  )
})
