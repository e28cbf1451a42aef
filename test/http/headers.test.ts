import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import t, { type Test } from 'tap'
import { answerClientErrors, unfinishedResponses } from '../../src/service/http/errors.ts'
import { readVectors } from '../client/vectors.ts'
import { sendRaw } from '../hostile/raw.ts'
import { allOperations } from '../hostile/requests.ts'
import { buildApp } from '../support/app.ts'
import { change, push } from '../support/changes.ts'
import { createdExport } from '../support/exports.ts'
import { keyringOf } from '../support/keyrings.ts'
import { pick } from '../support/pick.ts'
import { until } from '../support/until.ts'

const web = 'https://app.example'
const list = '/api/v1/bookmarks'
const app = await buildApp(t)
const ada = await app.user('ada')
await ada.call('POST', '/api/v1/bookmarks', { body: { id: 'a', encrypted_data: 'eA==', data_hash: 'x' } })
await ada.call('PUT', '/api/v1/account/keyring', { body: { keyring: keyringOf('one'), revision: 1 } })
const file = await createdExport(ada)

t.test('Errors have CORS headers, too, and every response has Vary: Origin', async (t) => {
  const { call, user } = await buildApp(t, { CORS_ORIGIN: web })
  const ada = await user('ada')
  const answers = await Promise.all([
    call('GET', list, { headers: { origin: web } }),
    ada.call('GET', `${list}/nope`, { headers: { origin: web } }),
    ada.call('GET', `${list}?limit=0`, { headers: { origin: web } }),
    call('GET', '/nope', { headers: { origin: web } }),
    call('GET', `${list}/%zz`, { headers: { origin: web } }),
    call('OPTIONS', `${list}/%zz`, { headers: { origin: web, 'access-control-request-method': 'PUT' } }),
  ])
  t.same(pick(answers, 'status'), [401, 404, 400, 404, 400, 204])
  for (const { headers } of answers) t.equal(headers['access-control-allow-origin'], web)
  for (const { headers } of [...answers, await call('GET', '/api/v1/health')]) t.match(headers.vary, /\bOrigin\b/i)
})

t.test('Every response has the same security headers, also refusals and errors', async (t) => {
  const { call, listen } = await buildApp(t)
  const expected = {
    'content-security-policy': "default-src 'none';frame-ancestors 'none'",
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'origin-agent-cluster': '?1',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'SAMEORIGIN',
    'cache-control': 'private, no-store',
    vary: 'Origin',
  }
  const answers = await Promise.all([
    call('GET', '/api/v1/health'),
    call('GET', list),
    call('POST', list, { headers: { origin: 'https://evil.example' } }),
    call('GET', '/nope'),
    call('GET', `${list}/%zz`),
    sendRaw(await listen(), 'this is not HTTP\r\n\r\n'),
  ])
  t.same(
    answers.map(({ status, headers }) => [
      status,
      Object.fromEntries(Object.keys(expected).map((name) => [name, headers[name]])),
    ]),
    [200, 401, 403, 404, 400, 400].map((status) => [status, expected]),
  )
  t.equal(new Set(answers.map(({ headers }) => headers['x-request-id'])).size, answers.length)
  t.notOk(answers[0]?.headers['strict-transport-security'], 'not over http')
  const { call: secure } = await buildApp(t, { PUBLIC_URL: 'https://localhost:8443' })
  const { headers } = await secure('GET', '/api/v1/health')
  t.equal(headers['strict-transport-security'], 'max-age=31536000', 'only for this host, not its subdomains')
})

const strictPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; " +
  "form-action 'none'; frame-ancestors 'none'"

t.test('The documents load only assets from their own origin', async (t) => {
  const { call } = await buildApp(t)
  const moved = await call('GET', '/docs')
  t.same([moved.status, moved.headers.location], [302, '/docs/'], 'relative links need the slash')
  for (const path of [
    '/docs/',
    '/docs/index.html',
    '/docs/realtime',
    '/docs/realtime.html',
    '/docs/http',
    '/docs/backups',
    '/docs/changelog',
  ]) {
    const page = await call('GET', path)
    t.match(page.headers['content-type'], /text\/html/, path)
    t.match(
      page.headers['content-security-policy'],
      path === '/docs/http' ? /style-src 'self' 'unsafe-inline'; .*frame-ancestors 'none'/ : strictPolicy,
    )
    t.equal(page.headers['cache-control'], 'no-cache')
    t.notMatch(page.raw.toString(), / style="|<style|<script(?![^>]* src=)/, 'all inline code is blocked')
    const assets = [...page.raw.toString().matchAll(/(?:src|<link[^>]* href)="([^"]+)"/g)].map(([, url = '']) =>
      url.replace(/^(?!\/)/, '/docs/'),
    )
    t.ok(assets.some((url) => url.endsWith('.js')) && assets.some((url) => url.endsWith('.css')))
    for (const url of assets) t.equal((await call('GET', url)).status, 200, url)
  }
  t.match((await call('GET', '/docs/redoc.standalone.js')).headers['cache-control'], /max-age=3600/)
  t.match((await call('GET', '/docs/sync.svg')).headers['content-type'], /^image\/svg\+xml/)
  t.equal((await call('GET', '/docs/page.png')).headers['content-type'], 'image/png')
  for (const name of ['record', 'keys', 'keyring', 'rotated', 'export-file', 'saved-backup', 'visits'])
    t.same(
      (await call('GET', `/docs/vectors/${name}.json`)).body,
      readVectors(name),
      'authors of other clients need the test vectors',
    )
  t.match((await call('GET', '/docs/workflows.arazzo.yaml')).raw.toString(), /^arazzo: 1\.0/)
  t.match((await call('GET', '/openapi.yaml')).raw.toString(), /^openapi: 3\.1/)
  t.match((await call('GET', '/asyncapi.yaml')).raw.toString(), /^asyncapi: 3\.0/)
})

t.test('The documents name the service that serves them, and lead to its web app', async (t) => {
  const { call } = await buildApp(t, { PUBLIC_URL: 'https://localhost:8443', APP_URL: 'https://app.example.com' })
  const assets = (await readdir(new URL('../../dist/docs/assets/', import.meta.url), { recursive: true })).map(
    (name) => `assets/${name}`,
  )
  // Browsers load this script when a link leads to the page from another one.
  const [content = ''] = assets.filter((name) => /\/start\.md\.[\w-]+\.js$/.test(name))
  const names = ['start', 'web-app', 'realtime', 'openapi.json', content]
  const texts = await Promise.all(names.map(async (name) => (await call('GET', `/docs/${name}`)).raw.toString()))
  t.same(
    texts.map((text) => [text.includes('//127.0.0.1:3000'), /(?:https|wss):\/\/localhost:8443/.test(text)]),
    names.map(() => [false, true]),
  )
  t.match(texts[0], '<a class="app" href="https://app.example.com/">Open the app</a>')
  t.notMatch(texts[0], '<!-- the link to the app -->')
  t.match(texts[2], 'wss://localhost:8443/api/v1/sync/realtime')
})

t.test('An error in place of a document is not cached like the document', async (t) => {
  const { call } = await buildApp(t)
  const { status, headers } = await call('GET', '/docs/assets/gone.js')
  t.equal(status, 404)
  t.equal(headers['cache-control'], 'private, no-store')
})

t.test('In development, localhost redirects to PUBLIC_URL, so that a sign-in stays on one host', async (t) => {
  const { call } = await buildApp(t, { PUBLIC_URL: 'http://127.0.0.1:3000' })
  const page = await call('GET', '/docs?x=1', { headers: { host: 'localhost:3000', accept: 'text/html' } })
  t.same([page.status, page.headers.location], [302, 'http://127.0.0.1:3000/docs?x=1'])
  t.equal((await call('GET', '/api/v1/health', { headers: { host: 'localhost:3000' } })).status, 200)
  t.equal((await call('GET', '/docs/', { headers: { host: 'evil.example', accept: 'text/html' } })).status, 200)
})

t.test("/login explains a failed sign-in in fixed words, never in the URL's", async (t) => {
  const { call } = await buildApp(t)
  t.match((await call('GET', '/login?error=Login%20failed')).raw.toString(), /^Login failed\./)
  t.notMatch((await call('GET', '/login?error=%3Cscript%3E')).raw.toString(), /script/)
})

/** HTTP's own rules for methods: HEAD wherever GET is, and 405 with `Allow`. */

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'QUERY']
const operations = allOperations({ bookmark: 'a', export: file.id, keyring: 'a', pairing: 'a', device: 'a', user: 'a' })

t.test('HEAD returns the status and headers of GET, without a body', async (t) => {
  const paths = ['/api/v1/nothing', '/livez', '/openapi.yaml', '/docs', '/login', '/api/v1/bookmarks?limit=0']
  const reads = operations.filter(({ method, operationId }) => method === 'GET' && operationId !== 'completeLogin')
  for (const path of [...reads.map(({ path }) => path), ...paths]) {
    const ask = async (method: string) => {
      const { status, headers, raw } = await ada.call(method, path)
      const { date: _, 'x-request-id': __, 'transfer-encoding': ___, ...same } = headers
      return { status, same, length: raw.length }
    }
    const [get, head] = [await ask('GET'), await ask('HEAD')]
    t.same(head, { ...get, length: 0 }, path)
  }
})

t.test('HEAD of a large list or download does not read its bytes', async (t) => {
  const changes = Array.from({ length: 8 }, (_, index) => {
    return change({ id: `e${index}`, entity_id: `b${index}`, encrypted_data: 'x'.repeat(262_144) })
  })
  const bob = await app.user('bob')
  await push(bob, ...changes)
  const { id, size_bytes } = await createdExport(bob)
  const answers = await Promise.all(
    ['/api/v1/bookmarks?limit=1000', `/api/v1/exports/${id}`].map((path) => bob.call('HEAD', path)),
  )
  t.same(
    answers.map(({ status, raw }) => [status, raw.length]),
    [
      [200, 0],
      [200, 0],
    ],
  )
  t.equal(answers[1]?.headers['content-length'], `${size_bytes}`)
  t.ok(Number(size_bytes) > 2_000_000)
})

t.test('A path of thousands of segments is split once, no further than the longest route', async (t) => {
  const { split } = String.prototype
  t.teardown(() => Object.assign(String.prototype, { split }))
  let parts = 0
  String.prototype.split = function (this: string, ...values: unknown[]) {
    const result = split.apply(this, values as Parameters<typeof split>)
    if (this.startsWith('/many/')) parts += result.length
    return result
  }
  const { status, body } = await app.call('GET', `/many${'/x'.repeat(7000)}`)
  t.same([status, body.error], [404, 'Not found'])
  t.ok(parts < 30, `${parts} parts`)
})

t.test('An unsupported method gets 405 with the supported ones; an unknown path gets 404', async (t) => {
  const known = Map.groupBy(operations, ({ path }) => path)
  for (const [path, own] of known) {
    const has = own.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : method))
    const others = methods.filter((method) => !has.includes(method))
    const answers = await Promise.all(others.map((method) => ada.call(method, `${path}?x=1`)))
    const allow = [...has, 'OPTIONS'].sort().join(', ')
    t.same(
      answers.map(({ status, headers, body }) => [status, headers.allow, body?.error]),
      others.map((method) => [405, allow, method === 'HEAD' ? undefined : 'Method not allowed']),
      path,
    )
  }
  const nowhere = await Promise.all(methods.map((method) => ada.call(method, '/api/v1/nothing')))
  t.same(new Set(nowhere.map(({ status, headers }) => [status, headers.allow].join())), new Set(['404,']))
  const document = await ada.call('POST', '/docs/start.html')
  t.same([document.status, document.headers.allow], [405, 'GET, HEAD, OPTIONS'], 'documents are read-only')
})

const good = 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'
const bad = 'garbage\r\n\r\n'

t.test('A malformed request during a response cuts it off, and writes nothing into it', async (t) => {
  const client = await start(t)
  const response = await client.ask()
  response.write('the first half')
  await until(() => client.received().includes('the first half'))
  client.send(bad)
  await client.closed
  t.match(client.received(), /^HTTP\/1\.1 200 OK\r\n[\s\S]*the first half\r\n$/)
  t.notMatch(client.received(), '400')
})

t.test('A malformed request after a complete response is refused, even if much is not sent yet', async (t) => {
  const client = await start(t)
  const response = await client.ask()
  const body = 'x'.repeat(16 * 1024 * 1024)
  response.setHeader('content-length', body.length)
  response.end(body)
  client.send(bad)
  await client.closed
  t.match(client.received().slice(-300), /xHTTP\/1\.1 400 Bad Request\r\n/)
  t.equal(client.received().match(/x+/)?.[0].length, body.length)
})

t.test('A malformed request before the response has begun is refused in its place', async (t) => {
  const client = await start(t)
  const response = await client.ask()
  client.send(bad)
  await client.isRefused
  response.end('too late')
  await client.closed
  t.match(
    client.received(),
    /^HTTP\/1\.1 400 Bad Request\r\nX-Error-Code: MalformedRequest\r\n[\s\S]*\r\n\r\n\{"error":"Malformed request"\}$/,
  )
})

async function start(t: Test) {
  const asked = Promise.withResolvers<ServerResponse>()
  const server = createServer(({ socket }, response) => {
    unfinishedResponses.set(socket, response)
    asked.resolve(response)
  })
  server.on('clientError', answerClientErrors({}))
  const isRefused = once(server, 'clientError')
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  t.teardown(() => {
    socket.destroy()
    server.close()
  })
  let text = ''
  socket.on('data', (bytes) => {
    text += bytes
  })
  socket.on('error', () => {})
  return {
    ask() {
      socket.write(good)
      return asked.promise
    },
    send: (request: string) => socket.write(request),
    received: () => text,
    isRefused,
    closed: once(socket, 'close'),
  }
}
