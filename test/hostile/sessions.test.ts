import { connect } from 'node:net'
import t from 'tap'
import { buildApp } from '../support/app.ts'
import { snapshot } from '../support/database.ts'
import { allOperations, furnish } from './requests.ts'

const missing = { error: 'Authentication required' }
const invalid = { error: 'Invalid or expired session' }

const app = await buildApp(t)
const ada = await app.user('ada')
const dataOperations = allOperations(await furnish(ada, 'ada')).filter(({ security }) => security === 'sessionCookie')
const left = await app.user('left')
await left.call('POST', '/api/v1/auth/logout')
const { session, refresh } = ada

const callers: [name: string, headers: Record<string, string>, expected: object][] = [
  ['no cookie', {}, missing],
  ['an empty Cookie header', { cookie: '' }, missing],
  ['an empty session', { cookie: 'service_session=' }, missing],
  ['a cookie without a value', { cookie: 'service_session' }, missing],
  ['another name', { cookie: `session=${session}; xservice_session=${session}` }, missing],
  ['another spelling of the name', { cookie: `Service_Session=${session}` }, missing],
  ['another scheme', { authorization: `Basic ${session}` }, missing],
  ['a scheme without a token', { authorization: 'Bearer ' }, missing],
  ['garbage as a bearer token', { authorization: 'Bearer garbage' }, invalid],
  ['two bearer tokens', { authorization: `Bearer ${session} ${session}` }, invalid],
  ['the refresh token as a bearer token', { authorization: `Bearer ${refresh}` }, invalid],
  ['a signed-out session as a bearer token', { authorization: `Bearer ${left.session}` }, invalid],
  ['the ids alone', { 'x-user-id': ada.userId, 'x-device-id': 'device-a' }, missing],
  ['garbage', { cookie: 'service_session=garbage' }, invalid],
  ['garbage of the right length', { cookie: `service_session=${'A'.repeat(session.length)}` }, invalid],
  ['8 KiB of garbage', { cookie: `service_session=${'A'.repeat(8192)}` }, invalid],
  ['a session cut short', { cookie: `service_session=${session.slice(0, -1)}` }, invalid],
  ['a session with one more character', { cookie: `service_session=${session}A` }, invalid],
  ['a session in capitals', { cookie: `service_session=${session.toUpperCase()}` }, invalid],
  ['a quoted session', { cookie: `service_session="${session}"` }, invalid],
  [
    'a percent-encoded session',
    { cookie: `service_session=%${session.charCodeAt(0).toString(16)}${session}` },
    invalid,
  ],
  ['non-ASCII', { cookie: 'service_session=caf\xe9\u20ac' }, invalid],
  ['a prototype', { cookie: 'service_session=__proto__; __proto__=1' }, invalid],
  ['SQL', { cookie: "service_session=' OR 1=1 --" }, invalid],
  ['the refresh token as the session', { cookie: `service_session=${refresh}` }, invalid],
  ['a signed-out session', { cookie: left.cookie }, invalid],
]

t.test('Every data operation without a valid session gets 401 and changes nothing', async (t) => {
  const before = await snapshot(app.context)
  t.ok(dataOperations.length >= 18, 'every data operation of the contract')
  for (const { operationId, method, path, body } of dataOperations) {
    for (const [name, headers, expected] of callers) {
      const answer = await app.call(method, path, { headers, ...(body && { body }) })
      t.same([answer.status, answer.body], [401, expected], `${operationId}: ${name}`)
    }
  }
  t.equal(await snapshot(app.context), before)
})

/** These operations come last because they end the session. */
const ending = ['deleteAccount', 'logout']

t.test('In every operation, a session as a cookie and as a bearer token gets the same response', async (t) => {
  const answersOf = async (headers: Record<string, string>, ids: Parameters<typeof allOperations>[0]) => {
    const all = allOperations(ids)
    const isLast = ({ operationId }: (typeof all)[0]) => ending.indexOf(operationId)
    const answers: [string, number, unknown][] = []
    for (const { operationId, method, path, body } of all.sort((one, other) => isLast(one) - isLast(other))) {
      const { status, body: got } = await app.call(method, path, { headers, ...(body && { body }) })
      answers.push([operationId, status, status < 300 ? Object.keys(got ?? {}) : got])
    }
    return answers
  }
  const [mia, noa] = [await app.user('mia'), await app.user('noa')]
  const byCookie = await answersOf({ cookie: mia.cookie }, await furnish(mia, 'her'))
  t.same(await answersOf({ authorization: `Bearer ${noa.session}` }, await furnish(noa, 'her')), byCookie)
  t.ok(byCookie.filter(([, status]) => status < 300).length > 25, 'most succeed')
  for (const { cookie } of [mia, noa])
    t.equal((await app.call('GET', '/api/v1/bookmarks', { headers: { cookie } })).status, 401)
})

t.test('The service sends 100 Continue only after it has checked the whole head', async (t) => {
  const { port } = new URL(await app.listen())
  const body = JSON.stringify({ encrypted_data: 'x', data_hash: 'h' })
  /** Sends the head, and the body after 100 Continue. Resolves to the status of each response. */
  async function statuses(...headers: string[]): Promise<number[]> {
    const socket = connect(Number(port), '127.0.0.1')
    const head = ['POST /api/v1/bookmarks HTTP/1.1', 'Host: x', 'Expect: 100-continue', ...headers]
    socket.write(`${head.join('\r\n')}\r\n\r\n`)
    const found: number[] = []
    for await (const chunk of socket) {
      found.push(...[...String(chunk).matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status)))
      if (found.at(-1) === 100) socket.write(body)
      else if (found.length > 0) break
    }
    return found
  }
  const session = `Cookie: ${ada.cookie}`
  const [type, length] = ['Content-Type: application/json', `Content-Length: ${body.length}`]
  t.same(await statuses(session, type, length), [100, 201])
  t.same(await statuses(type, length), [401])
  t.same(await statuses('Cookie: service_session=garbage', type, length), [401])
  t.same(await statuses(session, 'Content-Type: text/plain', length), [415])
  t.same(await statuses(session, type, 'Content-Length: 100000000'), [413])
  t.same(await statuses(session, 'Origin: https://evil.example', type, length), [403])
})

t.test(
  'A session token does not refresh, and a refresh token is no session, even when both cookies have both',
  async (t) => {
    const cookies = [session, refresh].map((token) => [`service_session=${token}`, `service_refresh=${token}`])
    const statusOf = async (method: string, path: string, cookie: string[]) =>
      (await app.call(method, `/api/v1/auth/${path}`, { headers: { cookie: cookie.join('; ') } })).status
    const [ofSession = [], ofRefresh = []] = cookies
    t.equal(await statusOf('POST', 'refresh', ofSession), 401)
    t.equal(await statusOf('GET', 'session', ofRefresh), 401)
    t.equal(await statusOf('GET', 'session', cookies.flat()), 200)
  },
)
