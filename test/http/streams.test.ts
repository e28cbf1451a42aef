import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import type { Socket } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { setImmediate as eventLoopTurn, setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { Schemas } from '../../src/service/contract/schemas.ts'
import { openDevice } from '../realtime/device.ts'
import { buildApp, type TestApp, type TestUser } from '../support/app.ts'
import { change, pushMany } from '../support/changes.ts'
import { type Answered, checkAnswer } from '../support/contract.ts'
import { breakDatabase, interceptWrites, onRead, watchReads } from '../support/database.ts'
import { holdClock, holdIntervals } from '../support/intervals.ts'
import { until } from '../support/until.ts'
import { ignoreLag, type Operation, openEndlessExports, openUnread as openUnbuffered, storeMuch } from './unread.ts'

const mebibyte = 1024 * 1024
const list = '/api/v1/bookmarks?limit=1000'
const pull = '/api/v1/sync/pull'
// Unread responses are cut off only when a test lets seconds pass, and not because the machine is slow.
const passes = holdIntervals(t)
ignoreLag(t)
const app = await buildApp(t)
const origin = await app.listen()

const connections = ({ app: { server } }: Pick<TestApp, 'app'>) =>
  new Promise<number>((resolve) => server.getConnections((_, count) => resolve(count)))
const taken = ({ context }: Pick<TestApp, 'context'>) => context.gate.streams.load().taken

t.test('A user may have 8 unread responses at a time; other users are not affected', async (t) => {
  const app = await buildApp(t)
  const [ada, bob] = [await app.user('ada'), await app.user('bob')]
  const [id] = await storeMuch(app, ada)
  const file = await openEndlessExports(app).make(ada)
  const mostRead = watchReads(app.context)
  const unread = []
  for (let count = 0; count < 8; count++) {
    const operations: Operation[] = [
      ['GET', list],
      ['POST', pull, { limit: 10_000 }],
      ['GET', file],
    ]
    unread.push(await openUnbuffered(app, ada, operations[count % 3] as Operation))
  }
  t.same(new Set(unread.map(({ status }) => status)), new Set([200]))
  t.equal(mostRead(), mebibyte / 4, 'no more than one record is read at a time')
  const later = ada.call('GET', list)
  t.equal((await bob.call('GET', list)).status, 200)
  t.equal((await ada.call('DELETE', `/api/v1/bookmarks/${id}`)).status, 200, 'a write needs no place')
  t.equal((await ada.call('GET', '/api/v1/exports')).status, 200, 'a short read needs no place')
  t.equal(app.context.gate.streams.load().waiting, 1)
  t.equal(
    (await ada.call('GET', '/api/v1/bookmarks?limit=1&page=99')).status,
    200,
    'a list or pull of little data needs no place',
  )
  unread[0]?.abort()
  t.equal((await later).status, 200, 'the waiting response begins once a place is free')
  for (const { abort } of unread) abort()
  await until(() => taken(app) === 0)
})

t.test('A response that has waited 10 s for a place is refused', async (t) => {
  const goOn = holdClock(t)
  const app = await buildApp(t)
  const ada = await app.user('ada')
  await storeMuch(app, ada, 1)
  const { streams } = app.context.gate
  for (let count = 0; count < 8; count++) streams.take(ada.userId)
  const refused = ada.call('GET', list)
  await until(() => streams.load().waiting === 1)
  goOn(10)
  passes(10)
  const { status, headers, raw } = await refused
  t.same([status, headers['retry-after'], `${raw}`], [503, '1', '{"error":"Service unavailable"}'])
  t.match(app.log.join(''), /too many responses that are not read/)
})

t.test('With 64 unread responses, one that has waited 1 s ends the oldest of the user with the most', async (t) => {
  const goOn = holdClock(t)
  const app = await buildApp(t)
  const { streams } = app.context.gate
  const [ada, bob] = [await app.user('ada'), await app.user('bob')]
  await storeMuch(app, ada)
  await storeMuch(app, bob, 1)
  const oldest = await openUnbuffered(app, ada, ['GET', list])
  const next = await openUnbuffered(app, ada, ['GET', list])
  for (let other = 0; other < 62; other++) streams.take(`other ${other}`)
  const served = bob.call('GET', list)
  await until(() => streams.load().waiting === 1)
  goOn(1)
  passes(1)
  t.equal((await served).status, 200)
  t.same([oldest.isCutOff(), next.isCutOff()], [true, false])
  next.abort()
})

t.test('A caller who disconnects during a long response is not logged as an error', async (t) => {
  const app = await buildApp(t)
  const origin = await app.listen()
  const ada = await app.user('ada')
  await storeMuch(app, ada, 3)
  const caller = new AbortController()
  onRead(app.context, async () => {
    caller.abort()
    await until(async () => (await connections(app)) === 0)
  })
  const { inFlight } = app.context
  const { follow } = inFlight
  const closed = Promise.withResolvers<void>()
  inFlight.follow = (login, body) => follow(login, body.once('close', closed.resolve))
  const headers = { cookie: ada.cookie, 'content-type': 'application/json' }
  await t.rejects(fetch(origin + pull, { method: 'POST', headers, body: '{"since":0}', signal: caller.signal }))
  await closed.promise
  await eventLoopTurn()
  t.notMatch(app.log.join(''), /"level":50/)
  t.equal(taken(app), 0)
})

const content = { encrypted_data: 'new', data_hash: 'new' }

const large = (count: number) =>
  Array.from({ length: count }, (_, n) => change({ entity_id: `large-${n}`, encrypted_data: 'x'.repeat(262_144) }))
const idsOf = (bookmarks: { id: string }[]) => bookmarks.map(({ id }) => id)
const entitiesOf = (changes: Schemas['SyncEvent'][]) => changes.map(({ entity_id }) => entity_id)

for (const [title, changes, limit] of [
  ['nothing', [], 1],
  ['one full part', large(2), 1],
  ['three parts, by their size', large(5), 1],
  ['two parts, by their number', Array.from({ length: 600 }, (_, n) => change({ entity_id: `"${n}\\` })), 100],
] as const) {
  t.test(`A body in parts is the JSON that it would be in one piece: ${title}`, async (t) => {
    const user = await app.user(title)
    await pushMany(user, [...changes])
    const [listed, pulled] = [await user.call('GET', list), await user.call('POST', pull)]
    for (const { headers, raw, body } of [listed, pulled]) {
      t.equal(headers['content-type'], 'application/json; charset=utf-8')
      t.ok(raw.toString() === JSON.stringify(body), 'the parts join without a gap')
    }
    const data: object[] = []
    for (let page = 1; data.length < changes.length; page++)
      data.push(...(await user.call('GET', `/api/v1/bookmarks?limit=${limit}&page=${page}`)).body.data)
    t.strictSame(listed.body, { data, meta: { total: changes.length, page: 1, limit: 1000 } })
    const events: Schemas['SyncEvent'][] = []
    let [since, has_more] = [0, true]
    while (has_more) {
      const { body } = await user.call('POST', pull, { body: { since, limit } })
      events.push(...body.changes)
      since = body.last_sync_timestamp
      has_more = body.has_more
    }
    t.match(pulled.body, { last_sync_timestamp: since, has_more })
    t.strictSame(pulled.body.changes, events)
  })
}

t.test('A bookmark that changes while a list is read comes once or not at all', async (t) => {
  const ada = await app.user('lists')
  const ids = await storeMuch(app, ada)
  const unread = await openUnread(t, origin, ada, list)
  await ada.call('DELETE', `/api/v1/bookmarks/${ids[0]}`)
  await ada.call('PUT', `/api/v1/bookmarks/${ids[1]}`, { body: content })
  await ada.call('PUT', `/api/v1/bookmarks/${ids[63]}`, { body: content })
  await ada.call('POST', '/api/v1/bookmarks', { body: content })
  const { body } = await unread.read()
  t.same(idsOf(body.data), ids.slice(1).reverse())
  t.equal(body.data.at(-1).data_hash, 'new', 'a bookmark comes as it is when its part is read')
  t.same(body.meta, { total: 64, page: 1, limit: 1000 }, 'the total is that of the beginning')
})

t.test('A change while a page is pulled comes once: with this page, or with the next', async (t) => {
  const ada = await app.user('pulls')
  // A page has about 2 MiB. If the sockets' buffers hold all of it, it is complete before the two changes.
  const ids = await storeMuch(app, ada)
  const unread = await openUnread(t, origin, ada, pull, { limit: 10_000 })
  await ada.call('PUT', `/api/v1/bookmarks/${ids[0]}`, { body: content })
  await ada.call('PUT', `/api/v1/bookmarks/${ids[31]}`, { body: content })
  const { body } = await unread.read()
  const [first, next] = [entitiesOf(body.changes), await pullFrom(ada, body.last_sync_timestamp)]
  t.equal(new Set(first).size, first.length)
  t.same(new Set([...first, ...next]), new Set(ids))
  t.same(next.slice(-2), [ids[0], ids[31]])
})

async function pullFrom(user: TestUser, since: number): Promise<string[]> {
  const { body } = await user.call('POST', pull, { body: { since, limit: 10_000 } })
  return [...entitiesOf(body.changes), ...(body.has_more ? await pullFrom(user, body.last_sync_timestamp) : [])]
}

t.test('A list that fails midway ends the connection, because half of it is not JSON', async (t) => {
  const ada = await app.user('fails')
  await storeMuch(app, ada)
  const unread = await openUnread(t, origin, ada, list)
  const repair = breakDatabase(app.context)
  await t.rejects(unread.read(), { message: 'aborted' })
  repair()
  t.match(app.log.join(''), /disk I\/O error/)
  await until(() => taken(app) === 0)
})

t.test('A connection that reads no more of its response is closed after 2 minutes at most', async (t) => {
  const app = await buildApp(t)
  const { hub } = app.context
  const origin = await app.listen()
  const connections = new Set<Socket>()
  app.app.server.on('connection', (socket) => connections.add(socket.once('close', () => connections.delete(socket))))
  const ada = await app.user('ada')
  await storeMuch(app, ada)
  const { make, openFiles } = openEndlessExports(app)

  await openUnread(t, origin, ada, list)
  await openUnread(t, origin, ada, await make(ada))
  const slow = await openUnread(t, origin, ada, list)
  const begun = Promise.withResolvers<void>()
  const finish = Promise.withResolvers<void>()
  interceptWrites(app.context, ada.userId, async (write) => {
    begun.resolve()
    await finish.promise
    return write()
  })
  const headers = { cookie: ada.cookie, 'content-type': 'application/json' }
  const working = fetch(`${origin}/api/v1/bookmarks`, {
    method: 'POST',
    headers,
    body: '{"encrypted_data":"x","data_hash":"x"}',
  })
  await begun.promise
  await settle(connections)

  passes(90)
  await openDevice(t, origin, ada)
  passes(30)
  t.equal(connections.size, 5)
  await slow.take(4 * 1024 * 1024)
  await settle(connections)
  passes(5)
  await until(() => connections.size === 3)
  await until(() => taken(app) === 1)
  t.equal(openFiles(), 0, 'its file, too')
  t.equal(hub.sockets(), 1, 'a WebSocket has its own check')
  t.equal((await slow.read()).body.data.length, 64, 'a slow reader is not closed')
  finish.resolve()
  t.equal((await working).status, 201, 'a caller waiting for a response is not closed')
})

const stalls = await app.user('stalls')
await storeMuch(app, stalls)
const endless = openEndlessExports(app)

/** Opens two lists and two downloads of 16 MiB or more and reads nothing. Returns the service's sockets. */
async function openStalled(t: Test) {
  const connections = new Set<Socket>()
  const add = (socket: Socket) => connections.add(socket.once('close', () => connections.delete(socket)))
  app.app.server.on('connection', add)
  t.teardown(() => app.app.server.off('connection', add))
  await until(() => taken(app) === 0)
  const file = await endless.make(stalls)
  const sockets: Socket[] = []
  for (const path of [list, list, file, file]) {
    await openUnread(t, origin, stalls, path)
    sockets.push([...connections].find((socket) => !sockets.includes(socket)) as Socket)
  }
  await settle(connections)
  passes(5)
  return { ...app.context, sockets: sockets as [Socket, Socket, Socket, Socket] }
}

/** Pretends that the client has read this many bytes. Real reads would not show, because of the system's buffers. */
function takes(socket: Socket, bytes: number): void {
  Object.defineProperty(socket, 'bytesWritten', { value: socket.bytesWritten + bytes, configurable: true })
}

const areClosed = (sockets: Socket[]) => sockets.map(({ destroyed }) => destroyed)

t.test('A response read at less than 128 KiB in 10 s is cut off; one read at that rate is not', async (t) => {
  const { gate, sockets } = await openStalled(t)
  const [list1, , file1] = sockets
  const goOn = (seconds: number, slowly: number) => {
    for (let passed = 0; passed < seconds; passed += 5) {
      for (const socket of sockets) takes(socket, socket === list1 || socket === file1 ? slowly : 64 * 1024)
      passes(5)
    }
  }
  goOn(300, 64 * 1024)
  t.same(areClosed(sockets), [false, false, false, false], 'none is cut off at 128 KiB in 10 s')
  goOn(240, 32 * 1024)
  t.same(areClosed(sockets), [true, false, true, false])
  await until(() => gate.streams.load().taken === 2)
})

t.test('A client that reads 128 KiB in 10 s goes on, even if the bytes move in leaps every 100 s', async (t) => {
  const { sockets } = await openStalled(t)
  const [list1, list2, file1, file2] = sockets
  for (let leaps = 0; leaps < 10; leaps++) {
    for (const socket of [list1, file1]) takes(socket, 1.25 * mebibyte)
    for (const socket of [list2, file2]) takes(socket, mebibyte)
    passes(100)
  }
  t.same(areClosed(sockets), [false, true, false, true], 'those that read a fifth less are closed')
  for (const socket of [list1, file1]) takes(socket, 8 * mebibyte)
  passes(120)
  t.same(areClosed([list1, file1]), [false, false])
  passes(5)
  t.same(areClosed([list1, file1]), [true, true], 'one large read does not help for longer')
})

t.test('A client that resumes reading after a long pause may pause for another 30 s', async (t) => {
  const { sockets } = await openStalled(t)
  passes(115)
  for (const socket of sockets) takes(socket, 64 * 1024)
  passes(5)
  passes(25)
  t.same(areClosed(sockets), [false, false, false, false])
  passes(5)
  t.same(areClosed(sockets), [true, true, true, true])
})

/** Resolves when no byte has moved for 400 ms, because all buffers are full. The service retries after 200 ms. */
async function settle(connections: Set<Socket>): Promise<void> {
  let last: string | undefined
  for (let quiet = 0; quiet < 400; ) {
    await sleep(1)
    const taken = [...connections].map(({ bytesWritten, writableLength }) => bytesWritten - writableLength).join()
    quiet = taken === last ? quiet + 1 : 0
    last = taken
  }
}

t.test('A download whose login cannot be looked up gets 503, and its file is closed', async (t) => {
  const app = await buildApp(t)
  const ada = await app.user('ada')
  const { make, openFiles } = openEndlessExports(app)
  const path = await make(ada)
  const { objects } = app.context
  const { get } = objects
  let repair = () => {}
  objects.get = async (...object) => {
    const found = await get(...object)
    repair = breakDatabase(app.context)
    return found
  }
  const { status } = await ada.call('GET', path)
  repair()
  t.same([status, openFiles()], [503, 0])
})

/** A response whose body is not read until `read` or `take` is called. */
interface Unread {
  status: number
  /** Reads the rest and checks it against openapi.yaml. Rejects if the connection ends too early. */
  read(): Promise<Answered>
  /** Reads this many bytes. */
  take(bytes: number): Promise<void>
  abort(): void
}

async function openUnread(
  t: Pick<Test, 'teardown'>,
  origin: string,
  { cookie }: TestUser,
  path: string,
  body?: object,
): Promise<Unread> {
  const method = body ? 'POST' : 'GET'
  const headers = { cookie, ...(body && { 'content-type': 'application/json' }) }
  const sent = request(origin + path, { method, agent: false, headers })
  sent.end(body && JSON.stringify(body))
  t.teardown(() => sent.destroy())
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  const status = response.statusCode ?? 0
  sent.on('error', () => {})
  response.on('error', () => {})
  const taken: Buffer[] = []
  return {
    status,
    async read() {
      return checkAnswer(method, path, status, response.headers, Buffer.concat([...taken, await buffer(response)]))
    },
    async take(bytes) {
      let left = bytes
      while (left > 0) {
        const piece: Buffer | null = response.read()
        if (piece) taken.push(piece)
        else await once(response, 'readable')
        left -= piece?.length ?? 0
      }
    },
    abort: () => sent.destroy(),
  }
}
