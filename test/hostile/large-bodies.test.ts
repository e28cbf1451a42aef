import { Agent, request } from 'node:http'
import { setImmediate as eventLoopTurn } from 'node:timers/promises'
import t from 'tap'
import { buildApp } from '../support/app.ts'
import { checkAnswer } from '../support/contract.ts'
import { snapshot } from '../support/database.ts'
import { depth } from '../support/depth.ts'
import { allOperations, furnish } from './requests.ts'

const mebibyte = 1024 * 1024
const rounds = depth(1, 5)
const app = await buildApp(t)
const ada = await app.user('ada')
const operations = allOperations(await furnish(ada, 'ada')).filter(({ method }) => method !== 'GET')
const origin = await app.listen()
/** Larger than the limit and than both sockets' buffers, so that the client is still sending when it is refused. */
const bodies = {
  '/api/v1/sync/push': new Uint8Array(depth(16, 40) * mebibyte).fill(120),
  '/api/v1/bookmarks': new Uint8Array(depth(16, 40) * mebibyte).fill(120),
}
const tooLarge = { error: 'Request body too large' }
const json = { 'content-type': 'application/json' }

type Refusal = [status: number, headers: Record<string, string>]
const refusals: Refusal[] = [
  [415, { cookie: ada.cookie, 'content-type': 'text/plain' }],
  [415, { ...json, cookie: ada.cookie, 'content-encoding': 'gzip' }],
  [401, json],
  [403, { ...json, cookie: ada.cookie, origin: 'https://evil.example' }],
]

async function send(method: string, path: string, headers: Record<string, string>, body: BodyInit) {
  const response = await fetch(origin + path, { method, headers, body, duplex: 'half' } as RequestInit)
  const raw = Buffer.from(await response.arrayBuffer())
  return checkAnswer(method, path, response.status, Object.fromEntries(response.headers), raw)
}

/** A stream of these bytes in chunks, which fetch sends without a Content-Length. */
function streamed(bytes: Uint8Array): ReadableStream {
  let at = 0
  return new ReadableStream({
    async pull(controller) {
      await eventLoopTurn()
      if (at >= bytes.length) return controller.close()
      controller.enqueue(bytes.subarray(at, at + mebibyte))
      at += mebibyte
    },
  })
}

for (const [path, large] of Object.entries(bodies)) {
  const size = `${large.length / mebibyte} MiB`
  t.test(`${size} to ${path}: the client receives the 413 every time`, async (t) => {
    const before = await snapshot(app.context)
    const headers = { ...json, cookie: ada.cookie }
    for (let round = 0; round < rounds; round++) {
      const answer = await send('POST', path, headers, large)
      t.same([answer.status, answer.body], [413, tooLarge], 'with its length')
      const unannounced = await send('POST', path, headers, streamed(large))
      t.same([unannounced.status, unannounced.body], [413, tooLarge], 'in chunks')
    }
    t.equal(await snapshot(app.context), before)
  })

  t.test(`${size} to ${path} with a wrong type or without a session: the client receives the response`, async (t) => {
    for (const [status, headers] of refusals) {
      t.equal((await send('POST', path, headers, large)).status, status)
      t.equal((await send('POST', path, headers, streamed(large))).status, status, 'in chunks')
    }
  })
}

/** Sends a bookmark over a connection that is used once. Returns the status, or the connection's error. */
function pushAndClose(headers: Record<string, string>, body: Uint8Array): Promise<number | string | undefined> {
  const agent = new Agent({ keepAlive: false })
  const sent = request(`${origin}/api/v1/bookmarks`, { method: 'POST', headers, agent })
  return new Promise((resolve) => {
    sent.on('error', ({ message }) => resolve(message))
    sent.on('response', (response) => response.resume().on('end', () => resolve(response.statusCode)))
    sent.end(body)
  })
}

t.test('A client that asks to close its connection receives the refusal of a large body, too', async (t) => {
  const { cookie } = ada
  const tooMuch: Refusal = [413, { ...json, cookie }]
  for (const [status, headers] of [tooMuch, ...refusals]) {
    const body = bodies['/api/v1/bookmarks']
    t.equal(await pushAndClose({ ...headers, 'content-length': `${body.length}` }, body), status)
    t.equal(await pushAndClose({ ...headers, 'transfer-encoding': 'chunked' }, body), status, 'in chunks')
  }
})

t.test('A body over the limit of its operation gets 413 and changes nothing', async (t) => {
  const refresh = { cookie: `service_refresh=${ada.refresh}` }
  const before = await snapshot(app.context)
  for (const { operationId, method, path, maxBytes } of operations) {
    const headers = { ...json, ...(operationId === 'refreshSession' && refresh) }
    const answer = await ada.call(method, path, { headers, payload: Buffer.alloc(maxBytes + 1, ' ') })
    t.same([answer.status, answer.body], [413, tooLarge], operationId)
    const oneTooMany = streamed(new Uint8Array(maxBytes + 1).fill(32))
    const inChunks = await send(method, path, { cookie: ada.cookie, ...headers }, oneTooMany)
    t.same([inChunks.status, inChunks.body], [413, tooLarge], `${operationId}, in chunks`)
  }
  t.equal(await snapshot(app.context), before)
})

t.test('A body of exactly the limit is accepted', async (t) => {
  for (const { operationId, method, path, maxBytes, body } of operations.filter(({ body }) => body)) {
    if (operationId === 'startLogin') continue
    const payload = JSON.stringify(body).padEnd(maxBytes, ' ')
    const { status } = await ada.call(method, path, { headers: json, payload })
    t.ok(status === 200 || status === 201, `${operationId}: ${status}`)
  }
})

t.test('A compressed body is refused, even if its content is valid', async (t) => {
  for (const { operationId, method, path, body } of operations) {
    for (const encoding of ['gzip', 'br', 'deflate', 'zstd', 'x', '', 'identity, gzip']) {
      const headers = { ...json, 'content-encoding': encoding, cookie: `${ada.cookie}; service_refresh=${ada.refresh}` }
      const payload = JSON.stringify(body ?? {})
      t.equal((await app.call(method, path, { headers, payload })).status, 415, `${operationId}: ${encoding}`)
    }
  }
})
