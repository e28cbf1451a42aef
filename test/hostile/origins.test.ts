import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { WebSocket } from 'ws'
import fixture from '../fixtures/hostile/origins.json' with { type: 'json' }
import { realtimeUrl } from '../realtime/device.ts'
import { buildApp, type TestApp, type TestUser } from '../support/app.ts'
import { snapshot } from '../support/database.ts'
import { allOperations, furnish } from './requests.ts'

const web = 'http://app.localhost:5173'
const extension = 'chrome-extension://abcdefghijklmnopabcdefghijklmnop'
const firefox = 'moz-extension://00000000-0000-4000-8000-000000000000'
const forbidden = { error: 'Forbidden origin' }

const app = await buildApp(t, { CORS_ORIGIN: `${web},${extension}` })
const ada = await app.user('ada')
const operations = allOperations(await furnish(ada, 'ada'))
const unsafe = operations.filter(({ method }) => method !== 'GET')
const corsHeaders = ['access-control-allow-origin', 'access-control-allow-credentials']
const corsOf = ({ headers }: { headers: object }) => corsHeaders.filter((header) => header in headers)

t.test('A forbidden origin gets 403 for requests that may change something, and never a CORS header', async (t) => {
  t.equal(fixture.values.length, 40)
  const before = await snapshot(app.context)
  const reads = ['/api/v1/bookmarks', '/api/v1/health', '/api/v1/account/export-key', '/nowhere']
  for (const origin of fixture.values) {
    const changing: object[] = []
    for (const { operationId, method, path, body } of unsafe) {
      const answer = await ada.call(method, path, { headers: { origin }, ...(body && { body }) })
      changing.push({ operationId, status: answer.status, body: answer.body, cors: corsOf(answer) })
    }
    const refused = unsafe.map(({ operationId }) => ({ operationId, status: 403, body: forbidden, cors: [] }))
    t.same(changing, refused, name(origin))
    const reading: object[] = []
    for (const path of reads) {
      const answer = await ada.call('GET', path, { headers: { origin } })
      reading.push({ path, cors: corsOf(answer), vary: answer.headers.vary })
    }
    const unread = reads.map((path) => ({ path, cors: [], vary: 'Origin' }))
    t.same(reading, unread, name(origin))
  }
  t.equal(await snapshot(app.context), before)
})

t.test('A preflight from a forbidden origin allows nothing', async (t) => {
  for (const origin of fixture.values) {
    for (const path of ['/api/v1/bookmarks', '/api/v1/sync/push', '/nowhere']) {
      const headers = { origin, 'access-control-request-method': 'POST' }
      t.same(corsOf(await app.call('OPTIONS', path, { headers })), [], name(origin))
    }
  }
})

t.test('A WebSocket from a forbidden origin gets 403', async (t) => {
  const open = await opener(app, ada)
  // HTTP strips spaces at the end of a header's value (RFC 9110, section 5.5), so that origin would be allowed.
  for (const origin of fixture.values.filter((value) => value.trim() !== web)) {
    t.same(await open(origin), [403, forbidden], name(origin))
  }
})

t.test('Listed origins and requests without an Origin header are allowed', async (t) => {
  const open = await opener(app, ada)
  for (const origin of [web, extension, app.context.config.publicUrl]) {
    const { status, headers } = await ada.call('POST', '/api/v1/sync/pull', { headers: { origin } })
    t.same([status, ...corsHeaders.map((header) => headers[header])], [200, origin, 'true'], origin)
    const preflight = { origin, 'access-control-request-method': 'PUT' }
    const answer = await app.call('OPTIONS', '/api/v1/bookmarks/b1', { headers: preflight })
    t.equal(answer.headers['access-control-allow-origin'], origin)
    t.same(await open(origin), [101])
  }
  t.equal((await ada.call('POST', '/api/v1/sync/pull')).status, 200)
  t.same(await open(undefined), [101])
})

t.test('moz-extension://* allows a well-formed UUID of that scheme, and nothing else', async (t) => {
  const app = await buildApp(t, { CORS_ORIGIN: `${web},${extension},moz-extension://*` })
  const ada = await app.user('ada')
  const open = await opener(app, ada)
  const status = async (origin: string) => (await ada.call('POST', '/api/v1/sync/pull', { headers: { origin } })).status

  t.equal(await status(firefox), 200)
  t.same(await open(firefox), [101])
  const others = ['/', '/x', '0', '.evil.example', ':80', '\n', ' '].map((end) => firefox + end)
  for (const origin of [
    ...fixture.values.filter((value) => value !== firefox),
    ...others,
    ` ${firefox}`,
    firefox.replaceAll('-', ''),
    firefox.replace('4', 'g'),
    firefox.replace('moz', 'chrome'),
    `https://evil.example/${firefox}`,
  ]) {
    t.equal(await status(origin), 403, name(origin))
  }
})

/** Returns a function that opens the realtime channel from an origin and returns 101 or the refusal. */
async function opener({ app, listen }: TestApp, user: TestUser) {
  const address = app.server.address()
  const url = realtimeUrl(typeof address === 'object' && address ? `http://127.0.0.1:${address.port}` : await listen())
  return async (origin: string | undefined): Promise<unknown[]> => {
    const ids = { cookie: user.cookie, 'x-user-id': user.userId, 'x-device-id': 'device-a' }
    const bytes = origin === undefined ? {} : { origin: Buffer.from(origin).toString('latin1') }
    const socket = new WebSocket(url, { headers: { ...ids, ...bytes } })
    socket.on('error', () => {})
    const refusal = once(socket, 'unexpected-response').then(async ([, response]) => [
      response.statusCode,
      JSON.parse(await text(response)),
    ])
    const answer = await Promise.race([refusal, once(socket, 'open').then(() => [101])])
    socket.terminate()
    return answer
  }
}

/** Test names are ASCII only. */
function name(origin: string): string {
  return encodeURI(origin)
}
