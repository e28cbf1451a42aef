import { Socket } from 'node:net'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import type { TestApp, TestUser } from '../support/app.ts'
import { change, pushMany } from '../support/changes.ts'
import { onRead } from '../support/database.ts'
import { depth } from '../support/depth.ts'
import { holdIntervals } from '../support/intervals.ts'
import { countPerTurn, type PerTurn } from '../support/per-turn.ts'
import { unchecked } from '../sync/unchecked.ts'
import { openDevice, realtimeUrl, startService } from './device.ts'

// On a slow machine, pings would be counted, too.
holdIntervals(t)
const sockets = depth(24, 256)
const changes = sockets * 64

t.test(`While ${sockets} sockets replay from different places, others are served between any two pages`, async (t) => {
  const app = await startService(t)
  const [ada, bob] = [await app.user('ada'), await app.user('bob')]
  const stamps = await push(app, ada, changes)
  const follower = await openDevice(t, app.origin, bob)

  const pages = countPerTurn(t)
  onRead(app.context, () => pages.add(1))
  const replays = Array.from({ length: sockets }, async (_, index) => {
    const since = (stamps[index * (changes / sockets)] as number) - 1
    await replay(t, app.origin, ada, since, stamps.at(-1) as number)
    return pages.all
  })
  const served = await Promise.race([follow(bob, follower), ...replays])
  const read = Math.max(...(await Promise.all(replays)))
  t.comment(`${read} pages, ${served} of them before another user had been served`)
  t.ok(read > changes / 256, 'each change was read')
  t.ok(served < read, 'another user’s writes, reads and live changes were served meanwhile')
  t.ok(pages.most <= 3, `${pages.most} pages per turn of the event loop: one of ada's replays, two of bob`)

  /** Makes five changes. Each one is pushed, pulled and received live. */
  async function follow(user: TestUser, device: Awaited<ReturnType<typeof openDevice>>): Promise<number> {
    for (let count = 0; count < 5; count++) {
      const entity_id = `live-${count}`
      await user.call('POST', '/api/v1/sync/push', { body: { changes: [change({ entity_id })] } })
      await user.call('POST', '/api/v1/sync/pull')
      await device.takeEntities(entity_id)
    }
    return pages.all
  }
})

t.test('A page for many sockets is sent over several turns of the event loop', async (t) => {
  const app = await startService(t)
  const ada = await app.user('ada')
  const devices = await Promise.all(Array.from({ length: 16 }, () => openDevice(t, app.origin, ada)))
  const [messages, bytes] = countSent(t)
  await push(app, ada, 256)
  await Promise.all(devices.map((device) => device.takeEntities('bookmark-255')))
  t.equal(messages.all, 16 * 256, 'each socket was sent each change')
  t.ok(messages.most <= 2048, `${messages.most} messages between two turns of the event loop`)

  const large = [0, 1, 2, 3].map((n) => change({ entity_id: `large-${n}`, encrypted_data: 'x'.repeat(262_144) }))
  await ada.call('POST', '/api/v1/sync/push', { body: { changes: large } })
  await Promise.all(devices.map((device) => device.takeEntities('large-3')))
  t.ok(bytes.most < 10 * 1024 * 1024, `${bytes.most} bytes between two turns of the event loop`)
})

/** Pushes this many changes. Returns their sequence numbers in order. */
async function push(app: TestApp, user: TestUser, count: number): Promise<number[]> {
  const { call } = unchecked(app.app, user)
  const numbered = Array.from({ length: count }, (_, index) => change({ entity_id: `bookmark-${index}` }))
  await pushMany({ call }, numbered)
  const query = app.context.database.db.selectFrom('records').select('sequence').where('user_id', '=', user.userId)
  return (await query.orderBy('sequence').execute()).map(({ sequence }) => sequence)
}

/** Opens a socket from `since`. Resolves when the change with the number `last` has arrived. */
async function replay(t: Test, origin: string, user: TestUser, since: number, last: number): Promise<void> {
  const headers = { cookie: user.cookie, 'x-user-id': user.userId, 'x-device-id': 'device-b' }
  const socket = new WebSocket(`${realtimeUrl(origin)}?since=${since}`, { headers })
  t.teardown(() => socket.terminate())
  const end = Buffer.from(`"stamp":${last},`)
  await new Promise<void>((resolve) => {
    socket.on('message', (message: Buffer) => {
      if (message.subarray(-100).includes(end)) resolve()
    })
  })
}

/** Counts the messages that the service sends from now on, and their bytes, per turn of the event loop. */
function countSent(t: Test): [messages: PerTurn, bytes: PerTurn] {
  const [messages, bytes] = [countPerTurn(t), countPerTurn(t)]
  const { write } = Socket.prototype
  t.teardown(() => Object.assign(Socket.prototype, { write }))
  Socket.prototype.write = function (this: Socket, ...args: [data: unknown]) {
    const [data] = args
    // An unmasked text frame, which only a server sends.
    if (Buffer.isBuffer(data) && data[0] === 0x81 && (data[1] as number) < 0x80) {
      messages.add(1)
      bytes.add(data.length)
    }
    return write.apply(this, args as never)
  }
  return [messages, bytes]
}
