import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { createShapeCheck } from '../../src/service/http/json.ts'
import { createBudgets } from '../../src/service/load/budget.ts'
import { networkOf } from '../../src/service/load/rates.ts'
import { allOperations, furnish } from '../hostile/requests.ts'
import { breakDatabase, interceptWrites, snapshot } from '../support/database.ts'
import { depth } from '../support/depth.ts'
import { until } from '../support/until.ts'
import { mebibyte, nothing, nothingIn, openForUploads, push, type Upload } from './uploads.ts'

const json = { 'content-type': 'application/json' }
const unavailable = [503, { error: 'Service unavailable' }, '1']
const most = 128 * mebibyte

t.test('128 MiB of bodies at a time, half of them from one user: what would exceed that is refused', async (t) => {
  const { context, user, call, origin, bodies, begin, send, log } = await openForUploads(t)
  const [ada, bob, eve] = [await user('ada'), await user('bob'), await user('eve')]
  const begun = performance.now()
  const before = await snapshot(context)
  const [adas, bobs] = [bodies.hold(ada.userId), bodies.hold(bob.userId)]
  adas.add(64 * mebibyte - 40)

  await t.test('One user gets half: others are not affected', async (t) => {
    t.equal(await send(ada, 40), 200)
    t.same(await send(ada, 41), unavailable)
    t.equal(await send(bob, 32 * mebibyte), 200)
  })

  bobs.add(64 * mebibyte)
  const [others, little] = [bodies.hold('others'), 16 * mebibyte]
  await t.test('Then 16 MiB are left for those who hold up to 1 MiB', async (t) => {
    t.equal(await send(eve, mebibyte), 200)
    t.same(await send(eve, mebibyte + 1), unavailable)
    t.same(await send(bob, 41), unavailable)
  })

  others.insist(little)
  t.test('128 MiB in all, and these', async (t) => {
    t.same(await send(eve, 41), unavailable, 'with its length')
    const announced = await begin({ cookie: eve.cookie, length: mebibyte })
    t.equal((await announced.answer).status, 503, 'before it is sent')
    const inChunks = await begin({ cookie: eve.cookie })
    inChunks.send(mebibyte)
    const { status, body, headers } = await inChunks.answer
    t.same([status, body, headers['retry-after']], unavailable, 'in chunks')
    for (const upload of [announced, inChunks]) upload.abort()
    t.equal(await send(eve, 40), 200, 'what just fits')
    for (const path of ['/api/v1/bookmarks', '/api/v1/sync/status'])
      t.equal((await eve.call('GET', path)).status, 200, 'without a body there is nothing to refuse')
  })

  t.test('It is checked after the size, before the content', async (t) => {
    const { cookie } = eve
    for (const [status, headers, payload] of [
      [403, { ...json, cookie, origin: 'https://evil.example' }, nothingIn(100)],
      [401, json, nothingIn(100)],
      [415, { cookie, 'content-type': 'text/plain' }, nothingIn(100)],
      [413, { ...json, cookie }, nothingIn(32 * mebibyte + 1)],
      [503, { ...json, cookie }, '{'.padEnd(100)],
    ] as const) {
      const answer = await call('POST', push, { headers, payload })
      t.equal(answer.status, status)
    }
  })

  t.test('A client that is refused while it sends may go on: its connection serves the next request', async (t) => {
    const { hostname, port } = new URL(origin)
    const connection = connect(Number(port), hostname)
    const head = [`POST ${push} HTTP/1.1`, 'Host: localhost', `Cookie: ${eve.cookie}`, 'Content-Type: application/json']
    connection.write([...head, 'Transfer-Encoding: chunked', '', '100000', ' '.repeat(mebibyte), ''].join('\r\n'))
    const [refusal] = await once(connection, 'data')
    t.match(String(refusal), /^HTTP\/1\.1 503 /)
    for (let sent = 0; sent < 30; sent++) connection.write(`100000\r\n${' '.repeat(mebibyte)}\r\n`)
    connection.write('0\r\n\r\n')
    for (const hold of [adas, bobs, others]) hold.release()
    connection.write([...head, 'Content-Length: 14', 'Connection: close', '', nothing].join('\r\n'))
    t.match(await text(connection), /^HTTP\/1\.1 200 /)
  })

  t.test('Afterwards there is room again, nothing has changed, and the log reports the refusals', async (t) => {
    for (const person of [ada, eve]) t.equal(await send(person, 32 * mebibyte), 200)
    await until(() => bodies.held() === 0)
    t.equal(await snapshot(context), before)
    const told = (part: string) => log.filter((line) => line.includes(part)).map((line) => JSON.parse(line))
    t.match(told('too many bytes')[0], { level: 40, refused: 1 })
    t.ok(told('too many bytes').length <= 1 + (performance.now() - begun) / 10_000, 'every ten seconds at most')
    t.same(told('Service unavailable'), [], 'and no line for each')
  })
})

t.test('Where the process may use little memory, fewer bytes are held; the largest body fits', async (t) => {
  const roomOf = (memory: number) => {
    const { bodies } = createBudgets(memory * mebibyte)
    const owners = Array.from({ length: 8 }, (_, n) => `user ${n}`)
    return owners.filter((owner) => bodies.hold(owner).add(32 * mebibyte)).length
  }
  t.same([256, 384, 512, 768, 4096].map(roomOf), [1, 1, 2, 4, 4])
})

t.test('Callers without a session count by their address, or with IPv6 by their network', async (t) => {
  const { user, call, bodies } = await openForUploads(t)
  const full = bodies.hold(networkOf('2001:db8:0:1::1'))
  t.ok(full.add(64 * mebibyte - 1))
  const logout = async (from: string) =>
    (await call('POST', '/api/v1/auth/logout', { headers: json, payload: '{}', from })).status
  const addresses = ['2001:db8:0:1::1', '2001:db8:0:1::2', '2001:db8:0:2::1', '192.0.2.1']
  t.same(await Promise.all(addresses.map((from) => logout(from))), [503, 503, 200, 200])
  const { cookie } = await user('ada')
  const pushed = { headers: { ...json, cookie }, payload: nothing, from: '2001:db8:0:1::1' }
  t.equal((await call('POST', push, pushed)).status, 200, 'a session is not concerned')
})

t.test('What is announced and not sent takes no room from others', async (t) => {
  const { user, bodies, begin, send, abort } = await openForUploads(t)
  const [ada, bob] = [await user('ada'), await user('bob')]
  const announced: Upload[] = []
  while (announced.length < 12) announced.push(await begin({ cookie: ada.cookie, length: 32 * mebibyte }))
  t.equal(bodies.held(), 0)
  t.equal(await send(ada, mebibyte), 200)
  t.equal(await send(bob, mebibyte), 200)
  await abort(announced)
})

const names = ['ada', 'bob', 'eve', 'joe', 'kim', 'lea']
const atOnce = depth(6, 12)
t.test(`${atOnce} of 32 MiB at once: 128 MiB are never exceeded, and four or more get through`, async (t) => {
  const { user, bodies, begin } = await openForUploads(t)
  const people = await Promise.all(names.map(user))
  let highest = 0
  const watch = () => {
    highest = Math.max(highest, bodies.held())
    timer.refresh()
  }
  const timer = setTimeout(watch)
  t.teardown(() => clearTimeout(timer))
  const uploads = await Promise.all(
    [...people, ...people].slice(0, atOnce).map(({ cookie }) => begin({ cookie, length: 32 * mebibyte })),
  )
  for (const upload of uploads) {
    const body = nothingIn(32 * mebibyte)
    for (let sent = 0; sent < 31; sent++) upload.write(body.slice(sent * mebibyte, (sent + 1) * mebibyte))
    upload.end(body.slice(31 * mebibyte))
  }
  const statuses = (await Promise.all(uploads.map(({ answer }) => answer))).map(({ status }) => status)
  t.same(new Set(statuses), new Set([200, 503]))
  t.ok(statuses.filter((status) => status === 200).length >= 4, String(statuses))
  t.ok(highest > 64 * mebibyte && highest <= most, `at most ${highest} bytes`)
  await until(() => bodies.held() === 0)
})

t.test('However a request ends, its bytes are released', async (t) => {
  const { app, context, user, bodies, begin } = await openForUploads(t)
  const { cookie } = await user('ada')
  const connections: Socket[] = []
  app.server.on('connection', (socket) => connections.push(socket))
  const ends: Record<string, (upload: Upload) => Promise<unknown>> = {
    async 'it is carried out'({ end, answer }) {
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
    async 'its client is gone'({ abort }) {
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
    await until(() => bodies.held() === mebibyte)
    await end(upload)
    await until(() => bodies.held() === 0)
    t.pass(name)
  }
})

t.test('A body in use is counted, even when its client is gone', async (t) => {
  const { app, context, user, bodies, begin } = await openForUploads(t)
  const { cookie } = await user('ada')
  const [begun, finish] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  interceptWrites(context, async (write) => {
    begun.resolve()
    await finish.promise
    return write()
  })
  const upload = await begin({ cookie })
  upload.send(mebibyte)
  upload.end(nothing)
  await begun.promise
  const isConnected = () =>
    new Promise<boolean>((resolve) => app.server.getConnections((_, count) => resolve(count > 0)))
  upload.abort()
  await until(async () => !(await isConnected()))
  t.equal(bodies.held(), mebibyte + nothing.length)
  finish.resolve()
  await until(() => bodies.held() === 0)
})

const login = '/api/v1/auth/login'
const kibibyte = 1024

t.test('A body that does not go on: 408, whatever the operation, and nothing changed', async (t) => {
  const { context, user, bodies, begin, pass } = await openForUploads(t)
  const ada = await user('ada')
  const operations = allOperations(await furnish(ada, 'ada')).filter(({ method }) => method !== 'GET')
  const before = await snapshot(context)
  const cookie = `${ada.cookie}; service_refresh=${ada.refresh}`
  const uploads = await Promise.all(operations.map(({ method, path }) => begin({ method, path, cookie })))
  for (const upload of uploads) upload.write('{')
  await until(() => bodies.held() === uploads.length)
  pass(20)
  const answers = await Promise.all(uploads.map(({ answer }) => answer))
  t.same(
    answers.map(({ status, body, headers }) => [status, body, headers.connection]),
    operations.map(() => [408, { error: 'Request timeout' }, 'close']),
  )
  await until(() => bodies.held() === 0)
  t.equal(await snapshot(context), before)
})

/** With the pushes, no more at a time than are served however slow the machine is. */
const slowAtOnce = 28

t.test(`${slowAtOnce} unfinished logins and two pushes keep nobody out and hold little for long`, async (t) => {
  const { app, user, call, bodies, begin, hold, send, pass } = await openForUploads(t)
  const [eve, ada] = [await user('eve'), await user('ada')]
  const held = await hold(eve, 62 * mebibyte)
  const logins: Upload[] = []
  while (logins.length < slowAtOnce) logins.push(await begin({ path: login }))
  for (const upload of logins) upload.send(8 * kibibyte)
  const most = 62 * mebibyte + slowAtOnce * 8 * kibibyte
  await until(() => bodies.held() === most)
  const half = slowAtOnce / 2
  for (const upload of logins.slice(half)) upload.send(mebibyte)
  const tooLarge = await Promise.all(logins.slice(half).map(({ answer }) => answer))
  t.same(new Set(tooLarge.map(({ status }) => status)), new Set([413]), 'a login has 8 KiB')
  t.equal(await send(ada, mebibyte), 200)
  t.equal(await send({ call }, 8 * kibibyte, '/api/v1/auth/logout'), 200)

  pass(20)
  const slow = await Promise.all([...held, ...logins.slice(0, half)].map(({ answer }) => answer))
  t.same(new Set(slow.map(({ status }) => status)), new Set([408]))
  await until(() => bodies.held() === 0)
  t.equal(await send(eve, mebibyte), 200)
  const isConnected = () => new Promise((resolve) => app.server.getConnections((_, count) => resolve(count > 0)))
  await until(async () => !(await isConnected()))
})

t.test('A body that goes on is left alone; the more it holds, the faster it must', async (t) => {
  const { user, bodies, begin, pass } = await openForUploads(t)
  const { cookie } = await user('ada')
  const [steady, dripping] = [await begin({ cookie }), await begin({ cookie })]
  let arrived = 0
  const arrive = async (steadily: number, dripped: number) => {
    steady.send(steadily)
    dripping.send(dripped)
    arrived += steadily + dripped
    await until(() => bodies.held() === arrived)
    pass(10)
    await new Promise(setImmediate)
  }
  await arrive(16 * kibibyte, 24 * mebibyte)
  await arrive(16 * kibibyte, 2 * mebibyte)
  await arrive(16 * kibibyte, 16 * kibibyte)
  t.equal((await dripping.answer).status, 408)
  await until(() => bodies.held() === 48 * kibibyte)
  steady.end(nothing)
  t.equal((await steady.answer).status, 200)
})

const [pushPath, bulkImport] = ['/api/v1/sync/push', '/api/v1/sync/import']
/** The most tokens that the operations take, and their answer to more. */
const limits = [
  { path: pushPath, most: 600_000, start: '{"changes":[]', error: 'Invalid changes format' },
  { path: bulkImport, most: 600_000, start: '{"bookmarks":[]', error: 'Invalid bookmarks format' },
  { path: '/api/v1/sync/pull', most: 100_000, start: '{"since":0', error: 'body must have at most 100000 JSON tokens' },
]

/** A body with an unknown array, and so many tokens. */
function withTokens(start: string, tokens: number): string {
  const before = `${start},"unknown":[0`
  const rest = tokens - [...before.matchAll(/[[{,:]|"\w+"/g)].length
  return `${before}${',0'.repeat(rest)}]}`
}

t.test('The guide to limits names these numbers', async (t) => {
  const guide = readFileSync(new URL('../../docs/limits.md', import.meta.url), 'utf8')
  const [, named = ''] = /^\| JSON tokens of a body.*\| (.*) \| 400 \|$/m.exec(guide) ?? []
  const [ofPush, ofImport, ofOthers] = limits.map(({ most }) => most.toLocaleString('en'))
  t.equal(ofImport, ofPush)
  t.equal(named, `${ofOthers}; of a push or an import ${ofPush}`)
})

t.test('A body has as many tokens as its operation could use, and no more', async (t) => {
  const { context, user } = await openForUploads(t)
  const ada = await user('ada')
  const before = await snapshot(context)
  for (const { path, most, start, error } of limits) {
    const send = (tokens: number) =>
      ada.call('POST', path, { headers: json, payload: Buffer.from(withTokens(start, tokens)) })
    const refused = await send(most + 1)
    t.same([refused.status, refused.body], [400, { error }], path)
    t.equal(await snapshot(context), before, 'nothing changed')
    t.equal((await send(most)).status, 200, path)
  }
})

t.test('A body that cannot be valid is refused while it arrives, and the rest is read', async (t) => {
  const { user, bodies, begin, send, abort } = await openForUploads(t)
  const ada = await user('ada')
  for (const [path, start, error] of [
    [pushPath, `{"changes":[${'{},'.repeat(350_000)}`, 'Invalid changes format'],
    [pushPath, '['.repeat(700_000), 'Invalid changes format'],
    [bulkImport, `{"bookmarks":[${'{"id":"x"},'.repeat(200_000)}`, 'Invalid bookmarks format'],
  ] as const) {
    const upload = await begin({ path, cookie: ada.cookie })
    upload.write(start)
    const { status, body } = await upload.answer
    t.same([status, body], [400, { error }], start.slice(0, 20))
    upload.send(1024 * 1024)
    upload.end(nothing)
    await abort([])
    t.equal(bodies.held(), 0)
  }
  t.equal(await send(ada, 100), 200)
})

t.test('However a body is cut into chunks, what stands in strings is no token', (t) => {
  const strings = ['', '{[,:]}', '\\', '\\\\', '"', '\\"', '"\\', '\n\u2028', 'ä€😀', '\\u0022'].map((text) =>
    JSON.stringify({ [text]: text }),
  )
  const text = `{"strings":[${strings}]}`
  const tokens = 4 + strings.length * 5 - 1
  const full = Buffer.from(`[${text}${',0'.repeat(1024 - tokens - 1)}]`)
  const tooMuch = Buffer.from(`[${text}${',0'.repeat(1024 - tokens)}]`)
  const faults = (body: Buffer, size: number) => {
    const check = createShapeCheck(1024, body.length)
    const chunks = Array.from({ length: Math.ceil(body.length / size) }, (_, index) =>
      body.subarray(index * size, (index + 1) * size),
    )
    return chunks.map(check).find((fault) => fault !== undefined)
  }
  const sizes = Array.from({ length: 300 }, (_, index) => index + 1)
  t.same(new Set(sizes.map((size) => faults(full, size))), new Set([undefined]))
  t.same(new Set(sizes.map((size) => faults(tooMuch, size))), new Set(['must have at most 1024 JSON tokens']))
  t.end()
})
