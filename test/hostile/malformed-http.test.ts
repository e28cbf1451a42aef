import t from 'tap'
import { buildApp } from '../support/app.ts'
import { snapshot } from '../support/database.ts'
import { assertPlainError, rawRequest, sendRaw } from './raw.ts'

const app = await buildApp(t, { LOG_LEVEL: 'trace' })
const { cookie } = await app.user('ada')
const origin = await app.listen()
const session = `Cookie: ${cookie}`
const json = 'Content-Type: application/json'
const health = 'GET /api/v1/health'
const push = 'POST /api/v1/sync/push'
const realtime = 'GET /api/v1/sync/realtime'
const chunked = [session, json, 'Transfer-Encoding: chunked']
const upgrade = ['Upgrade: websocket', 'Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==']

/** An upgrade needs a different Connection header from other requests. */
function upgradeRequest(line: string, headers: string[]): string {
  return rawRequest(line, headers).replace('Connection: close', 'Connection: Upgrade, close')
}

/** The request, and the status of the response (0: no response). */
const malformed: [name: string, request: string, status: number][] = [
  ['garbage', 'garbage\r\n\r\n', 400],
  ['a TLS hello', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n', 400],
  ['an HTTP/2 preface', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400],
  ['a future version', `${health} HTTP/3.0\r\nHost: localhost\r\n\r\n`, 400],
  ['an unknown method', rawRequest('BREW /api/v1/health'), 400],
  ['a method in lower case', rawRequest('get /api/v1/health'), 400],
  ['no path', rawRequest('GET'), 400],
  ['a space in the path', rawRequest('GET /api/v1/bookmarks/a b'), 400],
  ['bytes in the path', rawRequest('GET /api/v1/bookmarks/\xc3\xa9', [session]), 400],
  ['dots in the path', rawRequest('GET /api/v1/bookmarks/..', [session]), 404],
  ['a tunnel', 'CONNECT example.org:443 HTTP/1.1\r\nHost: example.org\r\n\r\n', 0],
  ['OPTIONS *', rawRequest('OPTIONS *'), 404],
  ['bare line feeds', `${health} HTTP/1.1\nHost: localhost\n\n`, 400],
  ['no Host', `${health} HTTP/1.1\r\nConnection: close\r\n\r\n`, 400],
  ['no Host in an upgrade', upgradeRequest(realtime, [session, ...upgrade]).replace('Host: localhost\r\n', ''), 400],
  ['a second Host', rawRequest(health, ['Host: evil.example']), 400],
  ['the same Host twice', rawRequest(health, ['HOST: localhost']), 400],
  ['a header without a colon', rawRequest(health, ['X-Device-ID']), 400],
  ['a space before the colon', rawRequest(health, ['X-Device-ID : a']), 400],
  ['a folded header', rawRequest(health, ['X-Device-ID: a\r\n b']), 400],
  ['a zero byte in a header', rawRequest(health, ['X-Device-ID: a\0b']), 400],
  ['a control character in a header', rawRequest(health, ['X-Device-ID: a\x01b']), 400],
  ['a header of 40 KB', rawRequest(health, [`X-Long: ${'x'.repeat(40_000)}`]), 431],
  ['a cookie of 40 KB', rawRequest('GET /api/v1/bookmarks', [`Cookie: service_session=${'x'.repeat(40_000)}`]), 431],
  ['6,000 headers', rawRequest(health, Array(6000).fill('X-A: b')), 431],
  ['a path of 40 KB', rawRequest(`GET /api/v1/bookmarks/${'x'.repeat(40_000)}`), 431],
  ['a path of 15 KB', rawRequest(`GET /api/v1/bookmarks/${'x'.repeat(15_000)}`, [session]), 404],
  ['a bad percent-encoding', rawRequest('GET /api/v1/bookmarks/%zz', [session]), 400],
  ['a truncated percent-encoding', rawRequest('GET /api/v1/bookmarks/%e2%82', [session]), 400],
  ['an encoded zero byte', rawRequest('GET /api/v1/bookmarks/a%00b', [session]), 404],
  ['an encoded header', rawRequest('GET /%0d%0aSet-Cookie:%20x=y'), 404],
  ['two lengths', rawRequest(push, [session, json, 'Content-Length: 2', 'Content-Length: 5'], '{}'), 400],
  ['a length and chunks', rawRequest(push, [...chunked, 'Content-Length: 2'], '0\r\n\r\n'), 400],
  ['a negative length', rawRequest(push, [session, json, 'Content-Length: -1'], '{}'), 400],
  ['a length that is not a number', rawRequest(push, [session, json, 'Content-Length: 0x10'], '{}'), 400],
  ['a length too large to count', rawRequest(push, [session, json, `Content-Length: ${'9'.repeat(30)}`], '{}'), 400],
  ['a bad chunk size', rawRequest(push, chunked, 'zz\r\n{}\r\n0\r\n\r\n'), 400],
  ['a negative chunk size', rawRequest(push, chunked, '-2\r\n{}\r\n0\r\n\r\n'), 400],
  ['a chunk longer than its size', rawRequest(push, chunked, '1\r\n{}\r\n0\r\n\r\n'), 400],
  ['a chunk size too large to count', rawRequest(push, chunked, `${'f'.repeat(17)}\r\n{}\r\n0\r\n\r\n`), 400],
  ['an unknown transfer coding', rawRequest(push, [session, json, 'Transfer-Encoding: gzip'], '{}'), 400],
  [
    'chunks that are not the last coding',
    rawRequest(push, [session, json, 'Transfer-Encoding: chunked, gzip'], '{}'),
    400,
  ],
  ['an unknown expectation', rawRequest(push, [session, 'Expect: pie', 'Content-Length: 0']), 400],
  ['an upgrade without its headers', upgradeRequest(realtime, [session, 'Upgrade: websocket']), 426],
  ['an upgrade without a key', upgradeRequest(realtime, [session, ...upgrade.slice(0, 2)]), 426],
  [
    'a key that is too short',
    upgradeRequest(realtime, [session, ...upgrade.slice(0, 2), 'Sec-WebSocket-Key: AAAA']),
    426,
  ],
  [
    'a key that is not base64',
    upgradeRequest(realtime, [session, ...upgrade.slice(0, 2), `Sec-WebSocket-Key: ${'?'.repeat(22)}==`]),
    426,
  ],
  ['two keys', upgradeRequest(realtime, [session, ...upgrade, upgrade[2] as string]), 426],
  ['no version', upgradeRequest(realtime, [session, ...upgrade.filter((it) => !it.includes('Version'))]), 426],
  [
    'version 8',
    upgradeRequest(realtime, [session, 'Upgrade: websocket', 'Sec-WebSocket-Version: 8', upgrade[2] as string]),
    426,
  ],
  [
    'two protocols to upgrade to',
    upgradeRequest(realtime, [session, 'Upgrade: websocket, h2c', ...upgrade.slice(1)]),
    426,
  ],
  ['h2c on the channel', upgradeRequest(realtime, [session, 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABk']), 426],
  ['an upgrade without a session', upgradeRequest(realtime, upgrade), 401],
  ['an upgrade without ids', upgradeRequest(realtime, [session, ...upgrade]), 400],
  ['an upgrade by POST', upgradeRequest('POST /api/v1/sync/realtime', [session, ...upgrade, 'Content-Length: 0']), 405],
  ['an upgrade of another path', upgradeRequest('GET /nowhere', upgrade), 404],
  ['an upgrade of a neighbouring path', upgradeRequest('GET /api/v1/sync/realtime/', [session, ...upgrade]), 404],
  ['an upgrade that cannot be decoded', upgradeRequest('GET /api/v1/bookmarks/%zz', [session, ...upgrade]), 400],
]

t.test('A malformed request gets {error} or a closed connection, and changes nothing', async (t) => {
  const before = await snapshot(app.context)
  for (const [name, request, status] of malformed) {
    const answer = await sendRaw(origin, request)
    assertPlainError(answer, name)
    t.equal(answer.status, status, name)
    if (status === 431) t.equal(answer.body, '{"error":"Request headers too large"}', name)
    t.equal((await sendRaw(origin, rawRequest(health))).status, 200, `${name}: the service keeps running`)
  }
  t.equal(await snapshot(app.context), before)
})

t.test("Requests that Node itself would answer get {error} with the service's usual headers", async (t) => {
  for (const [name, request] of [
    ['no Host', `${health} HTTP/1.1\r\nConnection: close\r\n\r\n`],
    ['two Hosts', rawRequest(health, ['Host: localhost'])],
    ['an unknown expectation', rawRequest(push, [session, 'Expect: pie', 'Content-Length: 0'])],
  ] as const) {
    const { headers, body } = await sendRaw(origin, request)
    t.same(body, '{"error":"Malformed request"}', name)
    t.match(headers, { 'x-request-id': /^[-0-9a-f]{36}$/, 'x-content-type-options': 'nosniff' }, name)
  }
})

t.test('A request that is merely unusual gets a response', async (t) => {
  for (const [name, request] of [
    ['HTTP/1.0', `${health} HTTP/1.0\r\n\r\n`],
    ['a Host without a name', `${health} HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n`],
    ['an absolute URL', rawRequest('GET http://evil.example/api/v1/health')],
    ['an unknown Host', `${health} HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n`],
    ['an upgrade to h2c', upgradeRequest(health, ['Upgrade: h2c', 'HTTP2-Settings: AAMAAABk'])],
    ['a WebSocket upgrade of another path', upgradeRequest(health, upgrade)],
    ['an upgrade to an unknown protocol', upgradeRequest(health, ['Upgrade: carrier-pigeon/1'])],
    ['line breaks before the request', `\r\n\r\n${rawRequest(health)}`],
    ['two requests at once', `${health} HTTP/1.1\r\nHost: localhost\r\n\r\n${rawRequest(health)}`],
  ] as const) {
    const { status, type } = await sendRaw(origin, request)
    t.same([status, type], [200, 'application/json; charset=utf-8'], name)
  }
})

t.test('No part of a malformed request appears in the log or in the response', async (t) => {
  const canary = 'canary-4711'
  for (const request of [
    `${canary}\r\n\r\n`,
    rawRequest(`GET /${canary}/%zz?x=${canary}`, [`X-Device-ID: ${canary}`]),
    rawRequest(health, [`${canary}`]),
    rawRequest(push, [...chunked, `X-A: ${canary}`], `zz\r\n${canary}\r\n0\r\n\r\n`),
    rawRequest('GET /api/v1/bookmarks', [`Cookie: service_session=${canary}${'x'.repeat(40_000)}`]),
  ]) {
    t.notOk((await sendRaw(origin, request)).body.includes(canary))
  }
  t.notMatch(app.log.join(''), /canary|rawPacket|"Buffer"/, 'neither as text nor as numbers')
})
