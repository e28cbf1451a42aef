import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { allOperations, furnish } from '../hostile/requests.ts'
import type { TestApp } from '../support/app.ts'
import { change } from '../support/changes.ts'
import { breakDatabase, interceptWrites, snapshot } from '../support/database.ts'
import { until } from '../support/until.ts'
import { storeMuch } from './unread.ts'
import { mebibyte, nothing, openForUploads, push, type Upload } from './uploads.ts'

const json = { 'content-type': 'application/json' }
const logout = '/api/v1/auth/logout'
const overSmallLimit = 8193
const unavailable = [503, { error: 'Service unavailable' }, '1']
const answered = async ({ answer }: Upload) => {
  const { status, body, headers } = await answer
  return [status, body, headers['retry-after']]
}

const connectionsOf = ({ server }: TestApp['app']) =>
  new Promise<number>((resolve) => server.getConnections((_, count) => resolve(count)))

t.test('A user may have eight unfinished bodies, two of them large; small bodies and other users go on', async (t) => {
  const { user, origin, begin, bodies, largeBodies, unfinished } = await openForUploads(t)
  const [ada, bob] = [await user('ada'), await user('bob')]
  for (const [slots, most, length] of [
    [bodies, 8, mebibyte],
    [largeBodies, 2, mebibyte + 1],
  ] as const) {
    const uploads: Upload[] = []
    while (uploads.length < most) uploads.push(await begin({ cookie: ada.cookie, length }))
    const next = begin({ cookie: ada.cookie, length })
    await until(() => slots.load().waiting === 1)
    const others = await begin({ cookie: bob.cookie, length })
    others.write(nothing.padEnd(length))
    t.equal((await others.answer).status, 200)
    const small = { headers: { ...json, cookie: ada.cookie }, method: 'POST', body: nothing }
    t.equal((await fetch(origin + push, small)).status, 200, 'a small body arrives together with its head')
    uploads[0]?.write(nothing.padEnd(length))
    t.equal((await uploads[0]?.answer)?.status, 200)
    const last = await next
    last.write(nothing.padEnd(length))
    t.equal((await last.answer).status, 200, 'the waiting body got the free place')
    for (const upload of uploads) upload.abort()
    await until(() => unfinished() === 0)
  }
})

t.test('A body that has waited 10 s for a place is refused', async (t) => {
  const { user, begin, bodies, pass, log } = await openForUploads(t)
  const ada = await user('ada')
  for (let count = 0; count < 8; count++) bodies.take(ada.userId)
  const refused = begin({ cookie: ada.cookie, length: overSmallLimit })
  await until(() => bodies.load().waiting === 1)
  pass(10)
  t.same(await answered(await refused), unavailable)
  t.match(log.join(''), /too many bodies that arrive slowly/)
})

t.test('With 64 unfinished bodies of eight users, a body that has waited 1 s ends the oldest with 503', async (t) => {
  const { context, user, begin, bodies, pass, unfinished } = await openForUploads(t)
  const ada = await user('ada')
  const uploads: Upload[] = []
  for (let other = 0; other < 8; other++) {
    const { cookie } = await user(`other ${other}`)
    for (let count = 0; count < 8; count++) uploads.push(await begin({ cookie, length: overSmallLimit }))
  }
  const before = await snapshot(context)
  const begun = begin({ cookie: ada.cookie, length: overSmallLimit })
  await until(() => bodies.load().waiting === 1)
  pass(1)
  const upload = await begun
  upload.end(nothing.padEnd(overSmallLimit))
  t.equal((await upload.answer).status, 200)
  t.same(await answered(uploads[0] as Upload), unavailable)
  t.equal(unfinished(), 63, 'the other unfinished bodies stay')
  uploads[1]?.end(nothing.padEnd(overSmallLimit))
  t.equal((await uploads[1]?.answer)?.status, 200)
  for (const { abort } of uploads) abort()
  await until(() => unfinished() === 0)
  t.equal(await snapshot(context), before)
})

t.test('When nine users send large bodies, only one that arrives too slowly is ended', async (t) => {
  const { app, user, begin, largeBodies, pass } = await openForUploads(t)
  const connections: Socket[] = []
  app.server.on('connection', (socket) => connections.push(socket))
  const length = 2 * mebibyte
  const uploads: Upload[] = []
  for (let count = 0; count < 8; count++) uploads.push(await begin({ cookie: (await user(`${count}`)).cookie, length }))
  for (const { send } of uploads.slice(1)) send(mebibyte)
  await until(() => connections.filter(({ bytesRead }) => bytesRead > mebibyte).length === 7)
  const waiting = [await user('ada'), await user('bob')].map(({ cookie }) => begin({ cookie, length }))
  await until(() => largeBodies.load().waiting === 2)
  pass(5)
  t.same(await answered(uploads[0] as Upload), unavailable)
  t.same(largeBodies.load(), { taken: 8, waiting: 1 })
  pass(4)
  for (const { end } of uploads.slice(1)) end(nothing.padEnd(mebibyte))
  t.same(new Set(await Promise.all(uploads.slice(1).map(async ({ answer }) => (await answer).status))), new Set([200]))
  for (const { abort } of await Promise.all(waiting)) abort()
})

t.test('A client that is refused while it sends may finish: its connection serves the next request', async (t) => {
  const { user, origin, bodies, largeBodies, begin, pass } = await openForUploads(t)
  const [eve, ada] = [await user('eve'), await user('ada')]
  for (let other = 0; other < 6; other++) largeBodies.take(`other ${other}`)
  const { hostname, port } = new URL(origin)
  const connection = connect(Number(port), hostname)
  const head = [`POST ${push} HTTP/1.1`, 'Host: localhost', `Cookie: ${eve.cookie}`, 'Content-Type: application/json']
  connection.write([...head, 'Transfer-Encoding: chunked', '', '100000', ' '.repeat(mebibyte), ''].join('\r\n'))
  await until(() => largeBodies.load().taken === 7)
  const unfinished = await begin({ cookie: eve.cookie })
  const next = begin({ cookie: ada.cookie })
  await until(() => largeBodies.load().waiting === 1)
  pass(1)
  const [refusal] = await once(connection, 'data')
  t.match(String(refusal), /^HTTP\/1\.1 503 /)
  for (const { abort } of [unfinished, await next]) abort()
  for (let sent = 0; sent < 30; sent++) connection.write(`100000\r\n${' '.repeat(mebibyte)}\r\n`)
  connection.write('0\r\n\r\n')
  connection.write([...head, 'Content-Length: 14', 'Connection: close', '', nothing].join('\r\n'))
  t.match(await text(connection), /^HTTP\/1\.1 200 /)
  t.equal(bodies.load().taken, 0)
})

t.test('Callers without a session have places by their address, or with IPv6 by their network', async (t) => {
  const { user, call, smallBodies, pass } = await openForUploads(t)
  for (let count = 0; count < 256; count++) smallBodies.take('32.1.13.184.0.0.0.1')
  const signOut = async (from: string) => (await call('POST', logout, { headers: json, payload: '{}', from })).status
  const [first, second, ...others] = ['2001:db8:0:1::1', '2001:db8:0:1::2', '2001:db8:0:2::1', '192.0.2.1'].map(signOut)
  t.same(await Promise.all(others), [200, 200])
  const { cookie } = await user('ada')
  const pushed = { headers: { ...json, cookie }, payload: nothing, from: '2001:db8:0:1::1' }
  t.equal((await call('POST', push, pushed)).status, 200, 'callers with a session are not affected')
  pass(10)
  t.same(await Promise.all([first, second]), [503, 503])
})

t.test('Behind one address, a small body ends the oldest one, so that everybody can sign out', async (t) => {
  const { begin, smallBodies } = await openForUploads(t)
  const [oldest, next] = [await begin({ path: logout, length: 9 }), await begin({ path: logout, length: 9 })]
  while (smallBodies.load().taken < 256) smallBodies.take('127.0.0.1')
  const upload = await begin({ path: logout, length: 2 })
  upload.end('{}')
  t.equal((await upload.answer).status, 200)
  t.same(await answered(oldest), unavailable)
  t.equal(smallBodies.load().taken, 255, 'the other bodies stay')
  next.abort()
})

t.test("A request's place is free again, however the request ends", async (t) => {
  const { app, context, user, unfinished, begin } = await openForUploads(t)
  const { cookie } = await user('ada')
  const connections: Socket[] = []
  app.server.on('connection', (socket) => connections.push(socket))
  const ends: Record<string, (upload: Upload) => Promise<unknown>> = {
    async 'it succeeds'({ end, answer }) {
      end(nothing)
      t.equal((await answer).status, 200)
    },
    async 'it is malformed'({ end, answer }) {
      end('{')
      t.equal((await answer).status, 400)
    },
    async 'it is too large'({ send, answer, abort }) {
      send(32 * mebibyte)
      t.equal((await answer).status, 413)
      abort()
    },
    async 'it fails'({ end, answer }) {
      const repair = breakDatabase(context)
      end(nothing)
      t.ok((await answer).status >= 500)
      repair()
    },
    async 'its client disconnects'({ abort }) {
      abort()
    },
    async 'it takes too long'() {
      const timeout = Object.assign(new Error(), { code: 'ERR_HTTP_REQUEST_TIMEOUT' })
      app.server.emit('clientError', timeout, connections.at(-1))
    },
  }
  for (const [name, end] of Object.entries(ends)) {
    const upload = await begin({ cookie })
    upload.send(mebibyte)
    await until(() => unfinished() === 1)
    await end(upload)
    await until(() => unfinished() === 0)
    t.pass(name)
  }
})

t.test('A body in use keeps its place, even after its client has disconnected', async (t) => {
  const { app, context, user, unfinished, begin } = await openForUploads(t)
  const { cookie, userId } = await user('ada')
  const [begun, finish] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  interceptWrites(context, userId, async (write) => {
    begun.resolve()
    await finish.promise
    return write()
  })
  const upload = await begin({ cookie })
  upload.send(mebibyte)
  upload.end(nothing)
  await begun.promise
  upload.abort()
  await until(async () => (await connectionsOf(app)) === 0)
  t.equal(unfinished(), 1)
  finish.resolve()
  await until(() => unfinished() === 0)
})

t.test('A large body keeps its place until it is parsed, or dropped because its client disconnected', async (t) => {
  const { app, context, user, largeBodies, heavy, begin } = await openForUploads(t)
  const { cookie, userId } = await user('ada')
  const before = await snapshot(context)
  for (let count = 0; count < 2; count++) heavy.take(userId)
  const content = JSON.stringify({ changes: [change({ entity_id: 'dropped' })] }).padEnd(2 * mebibyte)
  const uploads = [0, 1].map(() => begin({ cookie, length: content.length }))
  for (const upload of uploads) (await upload).end(content)
  await until(() => heavy.load().waiting === 2)
  for (const upload of uploads) (await upload).abort()
  await until(async () => (await connectionsOf(app)) === 0)
  const next = begin({ cookie, length: content.length })
  const isWaiting = until(() => largeBodies.load().waiting === 1)
  t.equal(await Promise.race([next, isWaiting]), undefined, 'both bodies are still in memory')
  for (let count = 0; count < 2; count++) heavy.release(userId)
  const { end, answer } = await next
  end(nothing.padEnd(content.length))
  t.equal((await answer).status, 200)
  await until(() => largeBodies.load().taken === 0)
  t.equal(await snapshot(context), before)
})

t.test("A body of more than 4 KiB waits for its user's turn before it is parsed", async (t) => {
  const { user, call, requests } = await openForUploads(t)
  const [ada, bob] = [await user('ada'), await user('bob')]
  for (let count = 0; count < 8; count++) requests.take(ada.userId)
  const nested = `{"changes":${'['.repeat(5000)}${']'.repeat(5000)}}`
  const send = ({ cookie }: { cookie: string }, payload: string) =>
    call('POST', push, { headers: { ...json, cookie }, payload })
  const waiting = send(ada, nested)
  t.equal(await Promise.race([waiting, until(() => requests.load().waiting === 1)]), undefined)
  t.equal((await send(bob, nested)).status, 400)
  t.equal((await send(ada, '[')).status, 400, 'a small body is parsed at once')
  requests.release(ada.userId)
  t.equal((await waiting).status, 400)
})

t.test('Rewinds and pulls that wait for the database writer give their places to other requests', async (t) => {
  const app = await openForUploads(t)
  const { context, user, heavy, requests, begin } = app
  const ada = await user('ada')
  await storeMuch(app, ada, 5)
  const { promise: isOver, resolve: finish } = Promise.withResolvers<void>()
  let waiting = 0
  const stop = interceptWrites(context, ada.userId, async (write) => {
    waiting++
    await isOver
    return write()
  })
  const pull = (device: string) => ada.call('POST', '/api/v1/sync/pull', { headers: { 'x-device-id': device } })
  const rewind = () => ada.call('POST', '/api/v1/sync/rewind', { body: { to: 0, dry_run: false } })
  const taken = () => [heavy.load().taken, requests.load().taken]
  const answers = [pull('one'), pull('two')]
  await until(() => waiting === 2)
  t.same(taken(), [0, 0], 'pulls')
  answers.push(rewind(), rewind())
  await until(() => waiting === 4)
  t.same(taken(), [0, 0], 'rewinds')
  const { end, answer } = await begin({ cookie: ada.cookie, length: 2 * mebibyte })
  end('{'.padEnd(2 * mebibyte))
  t.equal((await answer).status, 400, 'a large body is parsed meanwhile')
  finish()
  t.same(
    (await Promise.all(answers)).map(({ status }) => status),
    [200, 200, 200, 200],
  )
  stop()
})

t.test('A body that has not arrived after 20 s, or 60 s if large, gets 408 and changes nothing', async (t) => {
  const { context, user, unfinished, begin, pass } = await openForUploads(t)
  const ada = await user('ada')
  const operations = allOperations(await furnish(ada, 'ada')).filter(({ method }) => method !== 'GET')
  const before = await snapshot(context)
  const cookie = `${ada.cookie}; service_refresh=${ada.refresh}`
  const late = [408, { error: 'Request timeout' }, 'close']
  for (const { operationId, method, path, maxBytes } of operations) {
    const lengths = [Math.min(maxBytes, mebibyte), ...(maxBytes > mebibyte ? [maxBytes] : [])]
    for (const length of lengths) {
      const upload = await begin({ method, path, cookie, length })
      upload.write('{')
      await until(() => unfinished() === 1)
      if (length > mebibyte) {
        pass(59)
        upload.write('{')
        await new Promise(setImmediate)
        t.equal(unfinished(), 1)
      }
      pass(length > mebibyte ? 60 : 20)
      const { status, body, headers } = await upload.answer
      t.same([status, body, headers.connection], late, `${operationId}: ${length}`)
      await until(() => unfinished() === 0)
    }
  }
  t.equal(await snapshot(context), before)
})

const [pushPath, bulkImport] = ['/api/v1/sync/push', '/api/v1/sync/import']
const mostTokens = 10_000
const limits = [
  { path: pushPath, start: '{"changes":[]', error: 'Invalid changes format' },
  { path: bulkImport, start: '{"bookmarks":[]', error: 'Invalid bookmarks format' },
  { path: '/api/v1/sync/pull', start: '{"since":0', error: `body must have at most ${mostTokens} JSON tokens` },
]

/** A body of this many JSON tokens, with an unknown field. Brackets and commas within strings are not tokens. */
function withTokens(start: string, tokens: number): string {
  const strings = ['{[,]}', '\\', '\\\\', '"', '\\"', '"\\', 'ä€😀,'].map((text) => JSON.stringify(text))
  const before = `${start},"unknown":[${strings}`
  const counted = 3 + (start.endsWith(']') ? 1 : 0) + strings.length - 1
  return `${before}${',0'.repeat(tokens - counted)}]}`
}

t.test('The guide to limits names the number of JSON tokens', async (t) => {
  const guide = readFileSync(new URL('../../docs/limits.md', import.meta.url), 'utf8')
  t.match(guide, new RegExp(`tokens.*${mostTokens.toLocaleString('en')}`, 'i'))
})

t.test('A body may have at most 10,000 JSON tokens', async (t) => {
  const { context, user } = await openForUploads(t)
  const ada = await user('ada')
  const before = await snapshot(context)
  for (const { path, start, error } of limits) {
    const send = (tokens: number) =>
      ada.call('POST', path, { headers: json, payload: Buffer.from(withTokens(start, tokens)) })
    const refused = await send(mostTokens + 1)
    t.same([refused.status, refused.body], [400, { error }], path)
    t.equal(await snapshot(context), before, 'nothing changed')
    t.equal((await send(mostTokens)).status, 200, path)
  }
})
