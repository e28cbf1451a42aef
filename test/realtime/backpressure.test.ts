import { once } from 'node:events'
import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { setImmediate as eventLoopTurn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import { closeCodes } from '../../generated/channel.ts'
import type { TestApp, TestUser } from '../support/app.ts'
import { change, pushMany } from '../support/changes.ts'
import { checkAnswer } from '../support/contract.ts'
import { depth } from '../support/depth.ts'
import { holdClock, holdIntervals } from '../support/intervals.ts'
import { until } from '../support/until.ts'
import { unchecked } from '../sync/unchecked.ts'
import { type Device, openDevice, openPerson, realtimeUrl, startService } from './device.ts'

const mebibyte = 1024 * 1024
setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

const numbered = (count: number) => Array.from({ length: count }, (_, index) => `bookmark-${index}`)
/** Ids for changes of the maximum size: 17.5 MiB in all (deep: 50), and 16 MiB, which is more than sockets buffer. */
const [many, enough] = [numbered(depth(70, 200)), numbered(64)]

/** On a slow machine, no socket counts as silent before the test lets a minute pass. */
const passes = holdIntervals(t)
const common = await startService(t)
let people = 0

/** Waits until the shared app has no sockets. Returns it with a new user. */
async function open() {
  await until(() => common.app.websocketServer.clients.size === 0)
  return { app: common, origin: common.origin, ada: await common.user(`ada ${++people}`) }
}

async function write({ app }: TestApp, user: TestUser, ids: string[]): Promise<void> {
  const { call } = unchecked(app, user)
  await pushMany(
    { call },
    ids.map((entity_id) => change({ entity_id, encrypted_data: 'x'.repeat(262_144) })),
  )
}

async function usedMemory(): Promise<number> {
  for (let turn = 0; turn < 5; turn++) {
    await eventLoopTurn()
    collectGarbage()
  }
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

function unsentBytes({ app }: TestApp): number {
  const sockets = [...(app.websocketServer.clients as Set<WebSocket>)]
  return Math.max(...sockets.map((socket) => socket.bufferedAmount))
}
const { context, user, origin } = await startService(t)

t.test('A paused reader costs less than 8 MB, delays no other socket, and gets all changes in the end', async (t) => {
  const { app, ada, origin } = await open()
  await write(app, ada, numbered(20))
  const last = String(many.at(-1))
  const slow = await openDevice(t, origin, ada, { deviceId: 'slow' })
  const quick = await openDevice(t, origin, ada, { deviceId: 'quick' })
  const before = await usedMemory()

  slow.socket.pause()
  await write(app, ada, many)
  t.same(await quick.takeEntities(last), many, 'other sockets get everything meanwhile')
  t.ok(unsentBytes(app) >= mebibyte, 'the reader is behind')
  t.ok(unsentBytes(app) <= 1.3 * mebibyte, 'no more than 1 MiB and a message was handed to its socket')
  t.ok((await usedMemory()) - before < 8 * mebibyte)

  slow.socket.resume()
  t.same(await slow.takeEntities(last), many)
  await ada.call('POST', '/api/v1/bookmarks', { body: { id: 'live', encrypted_data: 'data', data_hash: 'hash' } })
  t.same(await slow.takeEntities('live'), ['live'])
})

t.test('A client that reads nothing for 60 s is closed, and cut off if it does not respond', async (t) => {
  const { app, ada, device: stuck } = await openPerson(t, await startService(t))
  stuck.socket.pause()
  await write(app, ada, enough)
  await until(() => unsentBytes(app) >= mebibyte)
  const waiting = unsentBytes(app)
  passes(60)
  t.equal(unsentBytes(app), waiting, 'not even a ping is added')
  passes(5)
  await until(() => app.context.hub.sockets() === 0)
  t.equal(app.app.websocketServer.clients.size, 0)
})

t.test('The service reads nothing from a client that sends without reading', async (t) => {
  const { app, ada, origin } = await open()
  const deaf = await openDevice(t, origin, ada)
  deaf.socket.pause()
  await write(app, ada, enough)
  await until(() => unsentBytes(app) >= mebibyte)
  const [serverSide] = app.app.websocketServer.clients as Set<WebSocket>
  const waiting = unsentBytes(app)
  for (let n = 0; n < 1000; n++) deaf.send({ type: 'ping' })
  await until(() => serverSide?.isPaused === true)
  for (let turn = 0; turn < 100; turn++) await eventLoopTurn()
  t.equal(unsentBytes(app), waiting, 'no response is added')
  deaf.socket.resume()
  let pongs = 0
  await deaf.take(({ type }) => type === 'pong' && ++pongs === 1000)
})

const kibibyte = 1024
const perMinute = 20
/** Bytes that the system's buffers and one more read can take in before the service can pause. */
const readAtOnce = 512 * kibibyte

async function openFlood(t: Test) {
  // The rate would refill on a slow machine.
  holdClock(t)
  const app = await startService(t, { RATE_LIMIT_PER_MINUTE: `${perMinute}` })
  const { serverSide: socket, ...opened } = await openPerson(t, app)
  const connection: Socket & { _handle?: { reading: boolean } } = socket._socket
  return { ...opened, socket, read: () => connection.bytesRead, isReading: () => connection._handle?.reading }
}

const floods: Record<string, (device: Device) => void> = {
  'protocol pongs': ({ socket }) => {
    for (let n = 0; n < 40_000; n++) socket.pong(Buffer.alloc(125))
  },
  'an endless message in small pieces with pongs between them': ({ socket }) => {
    for (let n = 0; n < 80; n++) {
      socket.send('x', { fin: false })
      for (let pong = 0; pong < 500; pong++) socket.pong(Buffer.alloc(125))
    }
  },
}

for (const [name, send] of Object.entries(floods)) {
  t.test(`Bytes sent over a socket count against the rate like request bodies: ${name}`, async (t) => {
    const { app, ada, device, socket, read, isReading } = await openFlood(t)
    const { spend } = app.context.limits
    let isOver = false
    app.context.limits.spend = (...charge) => {
      const restMs = spend(...charge)
      isOver ||= restMs !== undefined
      return restMs
    }
    send(device)
    // Before that, reading also pauses while the service handles what it has read.
    await until(() => isOver && !isReading())
    const before = read()
    t.ok(before < perMinute * 64 * kibibyte + readAtOnce, `${before} bytes were read`)
    t.equal((await ada.call('GET', '/api/v1/bookmarks')).status, 429)
    for (let turn = 0; turn < 100; turn++) await eventLoopTurn()
    t.ok(socket.isPaused)
    t.equal(read(), before, 'the service reads no further')
  })
}

t.test('A large message is charged by its size', async (t) => {
  const { app, ada, device } = await openFlood(t)
  let charged = 0
  const { spend } = app.context.limits
  app.context.limits.spend = (userId, requests) => {
    if (userId === ada.userId) charged += requests
    return spend(userId, requests)
  }
  const event = change({ entity_id: 'x', device_id: 'device-b', encrypted_data: 'x'.repeat(200 * kibibyte) })
  device.send({ type: 'sync', event })
  t.match(await device.nextSync(), { event: { entity_id: 'x' } })
  t.equal(charged, 3)
})

t.test('A message that is not complete after 60 s closes the socket', async (t) => {
  const { device, socket } = await openFlood(t)
  const arrived = () => new Promise((resolve) => socket.once('ping', resolve))
  device.socket.send('{"type":', { fin: false })
  for (let seconds = 0; seconds < 60; seconds += 20) {
    device.socket.ping('still there')
    await arrived()
    passes(20)
  }
  t.equal(socket.readyState, socket.OPEN, 'pings keep the socket open')
  passes(5)
  t.equal(await device.closeCode, closeCodes.silent)
})

t.test('Pings between messages, and messages in fragments, keep a socket open', async (t) => {
  const { device, socket } = await openFlood(t)
  for (let minute = 0; minute < 3; minute++) {
    device.socket.send('{"type":', { fin: false })
    device.socket.ping('between')
    device.socket.send('"ping"}', { fin: true })
    t.same(await device.next(), { type: 'pong' })
    passes(40)
    device.socket.ping('alone')
    await new Promise((resolve) => socket.once('ping', resolve))
    passes(40)
  }
  t.equal(device.socket.readyState, device.socket.OPEN)
})

t.test('A message in more than 1,000 fragments closes the socket with 1008', async (t) => {
  const { device } = await openPerson(t, await startService(t))
  for (let n = 0; n < 1001; n++) device.socket.send('x', { fin: false })
  t.equal(await device.closeCode, closeCodes.tooManyFragments)
})

const most = 256
const { hub, limits } = context

/** The socket, or the response that refused the upgrade. */
async function upgrade({ cookie, userId }: TestUser, headers: Record<string, string> = {}) {
  const ids = { 'x-user-id': userId, 'x-device-id': 'device-a' }
  const socket = new WebSocket(realtimeUrl(origin), { headers: { cookie, ...ids, ...headers } })
  t.teardown(() => socket.terminate())
  socket.on('error', () => {})
  const refused = once(socket, 'unexpected-response').then(async ([, response]) => {
    const { statusCode, headers } = response as { statusCode: number; headers: IncomingHttpHeaders }
    return checkAnswer('GET', '/api/v1/sync/realtime', statusCode, headers, await buffer(response))
  })
  return Promise.race([refused, once(socket, 'open').then(() => ({ status: 101, socket }))])
}

t.test(`A user has at most ${most} sockets`, async (t) => {
  const [ada, other, bob] = [await user('ada'), await user('ada'), await user('bob')]
  const { countUser } = limits
  const gate = Promise.withResolvers<void>()
  let arrived = 0
  limits.countUser = () => {
    if (++arrived === 300) gate.resolve()
    return gate.promise
  }
  const answers = await Promise.all(Array.from({ length: 300 }, () => upgrade(ada)))
  limits.countUser = countUser
  const sockets = answers.flatMap((answer) => ('socket' in answer ? [answer.socket] : []))

  t.test(`300 upgrades at once: exactly ${most} are opened`, async (t) => {
    t.equal(sockets.length, most)
    t.equal(hub.socketsOf(ada.userId), most)
    const refused = answers.flatMap((answer) => ('socket' in answer ? [] : [answer]))
    t.same(
      refused.map(({ status, body, headers }) => [status, body, headers['retry-after']]),
      Array(300 - most).fill([429, { error: 'Too many sockets' }, '60']),
    )
    t.equal((await upgrade(bob)).status, 101, 'other users are not affected')
    t.equal((await ada.call('GET', '/api/v1/bookmarks')).status, 200, 'requests are not affected')
  })

  t.test('A socket that is closed, or lost without a close, makes room for another', async (t) => {
    const [closed, gone] = sockets
    for (const leave of [() => closed?.close(), () => gone?.terminate()]) {
      leave()
      await until(() => hub.socketsOf(ada.userId) < most)
      t.equal((await upgrade(ada)).status, 101)
      t.equal((await upgrade(ada)).status, 429)
    }
  })

  t.test('The limit of sockets is checked last, and signing out makes room', async (t) => {
    t.equal((await upgrade(ada, { origin: 'https://evil.example' })).status, 403)
    t.equal((await upgrade(ada, { cookie: '' })).status, 401)
    t.equal((await upgrade(ada, { 'x-device-id': '' })).status, 400)
    t.equal((await upgrade(ada, { 'x-user-id': bob.userId })).status, 403)
    t.equal((await upgrade(other)).status, 429, 'another login of the same user')
    await ada.call('POST', '/api/v1/auth/logout')
    await until(() => hub.socketsOf(ada.userId) === 0)
    t.equal((await upgrade(other)).status, 101)
  })
})
