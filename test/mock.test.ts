import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { WebSocket } from 'ws'
import { scenarios } from '../scripts/development/mock/scenarios.ts'
import { createMockServer } from '../scripts/development/mock/server.ts'
import { buildApp, type TestUser } from './support/app.ts'
import { httpCall } from './support/browser.ts'
import { change } from './support/changes.ts'
import { setCookies } from './support/cookies.ts'

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

/** Somebody signed in at the mock; every response is checked against the contract, whatever the scenario. */
async function openMock(scenario: string) {
  tested.add(scenario)
  const send = httpCall(origin)
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

t.test('next-page: one change a page', async (t) => {
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
  t.test(`${scenario}: 401 until the session is refreshed`, async (t) => {
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

t.test('signed-out: a refresh does not help', async (t) => {
  const { play } = await openMock('signed-out')
  t.equal((await play('GET', '/api/v1/sync/status')).status, 401)
  t.match(await play('POST', '/api/v1/auth/refresh'), { status: 401, body: { error: 'Failed to refresh token' } })
})

for (const status of ['processing', 'failed']) {
  t.test(`export-${status}: and the download is refused as the contract says`, async (t) => {
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
  t.test(`${scenario}: with Retry-After`, async (t) => {
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

t.test('socket-drop: the socket is greeted, and breaks off', async (t) => {
  const mock = await openMock('socket-drop')
  const socket = openSocket(mock.user, 'socket-drop')
  const [message] = await once(socket, 'message')
  t.equal(JSON.parse(String(message)).type, 'connected')
  const [code] = await once(socket, 'close')
  t.equal(code, 1006)
})

t.test('socket-silence: the socket opens, and a change does not arrive', async (t) => {
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

t.test('an unknown scenario is refused, and a page of another origin may ask for one', async (t) => {
  const unknown = await fetch(`${origin}/api/v1/health?x-scenario=nothing`)
  t.equal(unknown.status, 400)
  t.match((await unknown.json()).error, /^x-scenario is one of: .*conflict, next-page/)
  const preflight = await fetch(`${origin}/api/v1/sync/push`, {
    method: 'OPTIONS',
    headers: { origin: 'http://127.0.0.1:3000', 'access-control-request-method': 'POST' },
  })
  t.match(preflight.headers.get('access-control-allow-headers'), /X-Scenario/)
})

t.test('every scenario was played', async (t) => {
  t.strictSame(
    Object.keys(scenarios).filter((name) => !tested.has(name)),
    [],
  )
})
