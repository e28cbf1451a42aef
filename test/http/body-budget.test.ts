import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { buildApp, type TestUser } from '../support/app.ts'
import { breakDatabase, snapshot } from '../support/database.ts'
import { beginUpload, mebibyte, type Upload, type UploadOptions, until } from './uploads.ts'

const push = '/api/v1/sync/push'
const json = { 'content-type': 'application/json' }
const nothing = '{"changes":[]}'
const unavailable = [503, { error: 'Service unavailable' }, '1']
const most = 128 * mebibyte

async function open(t: Test) {
  const app = await buildApp(t)
  const origin = await app.listen()
  const { bodies } = app.context
  const begin = (options: UploadOptions) => beginUpload(origin, options)

  /** Unfinished pushes of the user that hold this much. */
  async function hold({ cookie }: TestUser, bytes: number): Promise<Upload[]> {
    const [before, uploads] = [bodies.waitingBytes(), [] as Upload[]]
    for (let left = bytes; left > 0; left -= 31 * mebibyte) {
      const upload = await begin({ cookie, length: 32 * mebibyte })
      upload.send(Math.min(left, 31 * mebibyte))
      uploads.push(upload)
    }
    await until(() => bodies.waitingBytes() === before + bytes)
    return uploads
  }

  async function send({ call }: Pick<TestUser, 'call'>, bytes: number, path = push) {
    const { status, body, headers } = await call('POST', path, { headers: json, payload: nothing.padEnd(bytes) })
    return status === 503 ? [status, body, headers['retry-after']] : status
  }

  async function abort(uploads: Upload[]): Promise<void> {
    for (const upload of uploads) upload.abort()
    await until(() => bodies.waitingBytes() === 0)
  }
  return { ...app, origin, bodies, begin, hold, send, abort }
}

t.test('128 MiB of bodies at a time: what would pass them is refused, and nothing changed', async (t) => {
  const { context, user, call, bodies, begin, hold, send, abort, log } = await open(t)
  const [ada, bob, eve] = [await user('ada'), await user('bob'), await user('eve')]
  const before = await snapshot(context)
  const held = [...(await hold(ada, 64 * mebibyte)), ...(await hold(bob, 64 * mebibyte - 20))]
  t.same(await send(eve, 21), unavailable, 'with its length')
  const announced = await begin({ cookie: eve.cookie, length: mebibyte })
  t.equal((await announced.answer).status, 503, 'before it is sent')
  const inChunks = await begin({ cookie: eve.cookie })
  inChunks.send(mebibyte)
  const { status, body, headers } = await inChunks.answer
  t.same([status, body, headers['retry-after']], unavailable, 'in chunks')
  for (const upload of [announced, inChunks]) upload.abort()
  t.equal(await send(eve, 20), 200, 'what just fits')
  for (const path of ['/api/v1/bookmarks', '/api/v1/sync/status'])
    t.equal((await eve.call('GET', path)).status, 200, 'without a body there is nothing to refuse')

  const { cookie } = eve
  for (const [status, headers, payload] of [
    [403, { ...json, cookie, origin: 'https://evil.example' }, nothing.padEnd(100)],
    [401, json, nothing.padEnd(100)],
    [415, { cookie, 'content-type': 'text/plain' }, nothing.padEnd(100)],
    [413, { ...json, cookie }, nothing.padEnd(32 * mebibyte + 1)],
    [503, { ...json, cookie }, '{'.padEnd(100)],
  ] as const) {
    const answer = await call('POST', push, { headers, payload })
    t.equal(answer.status, status, `${status} comes in the order of checks`)
  }

  await abort(held)
  t.equal(await send(eve, 32 * mebibyte), 200, 'afterwards')
  await until(() => bodies.waitingBytes() === 0)
  t.equal(await snapshot(context), before)
  const told = (part: string) => log.filter((line) => line.includes(part)).map((line) => JSON.parse(line))
  t.match(told('too many bytes')[0], { level: 40, refused: 1 })
  t.equal(told('too many bytes').length, 1, 'the log says it once')
  t.same(told('Service unavailable'), [], 'and nothing of each')
})

t.test('One user has half: others are not concerned', async (t) => {
  const { user, hold, send, abort } = await open(t)
  const [ada, bob] = [await user('ada'), await user('bob')]
  const held = await hold(ada, 64 * mebibyte - 20)
  t.equal(await send(ada, 20), 200)
  t.same(await send(ada, 21), unavailable)
  t.equal(await send(bob, 32 * mebibyte), 200)
  await abort(held)
  t.equal(await send(ada, 32 * mebibyte), 200)
})

t.test('Callers without a session count as one', async (t) => {
  const { user, call, bodies, begin, send, abort } = await open(t)
  const [path, ada] = ['/api/v1/auth/logout', await user('ada')]
  const held: Upload[] = []
  while (held.length < 64) held.push(await begin({ path, length: mebibyte }))
  for (const upload of held) upload.send(mebibyte - 1)
  await until(() => bodies.waitingBytes() === 64 * (mebibyte - 1))
  t.equal(await send({ call }, 64, path), 200)
  t.same(await send({ call }, 65, path), unavailable)
  t.equal(await send(ada, 32 * mebibyte), 200)
  await abort(held)
})

t.test('What is announced and not sent keeps nobody out', async (t) => {
  const { user, bodies, begin, send, abort } = await open(t)
  const [ada, bob] = [await user('ada'), await user('bob')]
  const announced: Upload[] = []
  while (announced.length < 12) announced.push(await begin({ cookie: ada.cookie, length: 32 * mebibyte }))
  t.equal(bodies.waitingBytes(), 0)
  t.equal(await send(ada, 32 * mebibyte), 200)
  t.equal(await send(bob, 32 * mebibyte), 200)
  await abort(announced)
})

t.test('Twelve of 32 MiB at once: 128 MiB are never passed, and four or more get through', async (t) => {
  const { user, bodies, begin } = await open(t)
  const people = await Promise.all(['ada', 'bob', 'eve', 'joe', 'kim', 'lea'].map(user))
  let highest = 0
  const watch = setInterval(() => {
    highest = Math.max(highest, bodies.waitingBytes())
  })
  t.teardown(() => clearInterval(watch))
  const uploads = await Promise.all(
    [...people, ...people].map(({ cookie }) => begin({ cookie, length: 32 * mebibyte })),
  )
  for (const upload of uploads) {
    for (let sent = 0; sent < 31; sent++) upload.send(mebibyte)
    upload.end(nothing.padStart(mebibyte))
  }
  const statuses = (await Promise.all(uploads.map(({ answer }) => answer))).map(({ status }) => status)
  t.same(new Set(statuses), new Set([200, 503]))
  t.ok(statuses.filter((status) => status === 200).length >= 4, String(statuses))
  t.ok(highest > 64 * mebibyte && highest <= most, `at most ${highest} bytes`)
  await until(() => bodies.waitingBytes() === 0)
})

t.test('A client that is refused while it sends may go on: its connection serves the next request', async (t) => {
  const { user, origin, hold, abort } = await open(t)
  const { cookie } = await user('ada')
  const held = [...(await hold(await user('bob'), 64 * mebibyte)), ...(await hold(await user('eve'), 64 * mebibyte))]
  const { hostname, port } = new URL(origin)
  const connection = connect(Number(port), hostname)
  const head = [`POST ${push} HTTP/1.1`, 'Host: localhost', `Cookie: ${cookie}`, 'Content-Type: application/json']
  connection.write([...head, 'Transfer-Encoding: chunked', '', '100000', ' '.repeat(mebibyte), ''].join('\r\n'))
  const [refusal] = await once(connection, 'data')
  t.match(String(refusal), /^HTTP\/1\.1 503 /)
  for (let sent = 0; sent < 30; sent++) connection.write(`100000\r\n${' '.repeat(mebibyte)}\r\n`)
  connection.write('0\r\n\r\n')
  await abort(held)
  connection.write([...head, 'Content-Length: 14', 'Connection: close', '', nothing].join('\r\n'))
  t.match(await text(connection), /^HTTP\/1\.1 200 /)
})

t.test('However a request ends, its bytes are given back', async (t) => {
  const { app, context, user, bodies, begin } = await open(t)
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
    await until(() => bodies.waitingBytes() === mebibyte)
    await end(upload)
    await until(() => bodies.waitingBytes() === 0)
    t.pass(name)
  }
})

t.test('What is worked with is counted, also when its client is gone', async (t) => {
  const { app, context, user, bodies, begin } = await open(t)
  const { cookie } = await user('ada')
  const { write } = context.database
  const [begun, finish] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  context.database.write = async (work) => {
    begun.resolve()
    await finish.promise
    return write(work)
  }
  const upload = await begin({ cookie })
  upload.send(mebibyte)
  upload.end(nothing)
  await begun.promise
  const isConnected = () =>
    new Promise<boolean>((resolve) => app.server.getConnections((_, count) => resolve(count > 0)))
  upload.abort()
  await until(async () => !(await isConnected()))
  t.equal(bodies.waitingBytes(), mebibyte + nothing.length)
  finish.resolve()
  await until(() => bodies.waitingBytes() === 0)
})
