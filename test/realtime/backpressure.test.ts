import { mock } from 'node:test'
import { setImmediate as eventLoopTurn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import type { WebSocket } from 'ws'
import { buildApp, type TestApp, type TestUser } from '../support/app.ts'
import { change } from '../support/changes.ts'
import { depth } from '../support/depth.ts'
import { until } from '../support/until.ts'
import { unchecked } from '../sync/unchecked.ts'
import { openDevice } from './device.ts'

const mebibyte = 1024 * 1024
setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

const numbered = (count: number) => Array.from({ length: count }, (_, index) => `bookmark-${index}`)
/** Of the largest changes there are: 25 MB (deep: 50 MB), and 16 MB, which is more than the sockets of both sides hold. */
const [many, enough] = [numbered(depth(70, 200)), numbered(64)]

const common = await buildApp(t)
const commonOrigin = await common.listen()
let people = 0

/** The app as long as it has no sockets, and a new user. */
async function open() {
  await until(() => common.app.websocketServer.clients.size === 0)
  return { app: common, origin: commonOrigin, ada: await common.user(`ada ${++people}`) }
}

async function write({ app }: TestApp, user: TestUser, ids: string[]): Promise<void> {
  const { call } = unchecked(app, user)
  for (let start = 0; start < ids.length; start += 50) {
    const changes = ids
      .slice(start, start + 50)
      .map((entity_id) => change({ entity_id, encrypted_data: 'x'.repeat(262_144) }))
    await call('POST', '/api/v1/sync/push', { body: { changes } })
  }
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

t.test(
  'A paused reader costs under 8 MB however much waits for it, delays nobody, and gets everything once it reads again',
  async (t) => {
    const { app, ada, origin } = await open()
    await write(app, ada, numbered(20))
    const last = String(many.at(-1))
    const slow = await openDevice(t, origin, ada, { deviceId: 'slow' })
    const quick = await openDevice(t, origin, ada, { deviceId: 'quick' })
    const before = await usedMemory()

    slow.socket.pause()
    await write(app, ada, many)
    t.same(await quick.takeEntities(last), many, 'the others get everything meanwhile')
    t.ok(unsentBytes(app) >= mebibyte, 'the reader is behind')
    t.ok(unsentBytes(app) <= 1.3 * mebibyte, 'by what was handed to its socket: 1 MiB and a message')
    t.ok((await usedMemory()) - before < 8 * mebibyte)

    slow.socket.resume()
    t.same(await slow.takeEntities(last), many)
    await ada.call('POST', '/api/v1/bookmarks', { body: { id: 'live', encrypted_data: 'data', data_hash: 'hash' } })
    t.same(await slow.takeEntities('live'), ['live'])
  },
)

t.test('A reader that reads slowly is sent the newest changes when it gets there', async (t) => {
  const { app, ada, origin } = await open()
  const slow = await openDevice(t, origin, ada)
  slow.socket.pause()
  await write(app, ada, enough)
  await until(() => unsentBytes(app) >= mebibyte)
  const newer = change({ entity_id: 'bookmark-40', timestamp: Date.now() + 1000 })
  await ada.call('POST', '/api/v1/sync/push', { body: { changes: [newer] } })
  slow.socket.resume()
  const entities = await slow.takeEntities('bookmark-40')
  t.same(entities, [...enough.filter((id) => id !== 'bookmark-40'), 'bookmark-40'])
})

t.test('A reader that reads nothing for 60 s is closed, and cut off if it does not respond', async (t) => {
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => mock.timers.reset())
  const app = await buildApp(t)
  const origin = await app.listen()
  const ada = await app.user('ada')
  const stuck = await openDevice(t, origin, ada)
  stuck.socket.pause()
  await write(app, ada, enough)
  await until(() => unsentBytes(app) >= mebibyte)
  const waiting = unsentBytes(app)
  mock.timers.tick(60_000)
  t.equal(unsentBytes(app), waiting, 'not even a ping is added')
  mock.timers.tick(5000)
  await until(() => app.context.hub.sockets() === 0)
  t.equal(app.app.websocketServer.clients.size, 0)
})

t.test('A client that sends without reading is not read from', async (t) => {
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
