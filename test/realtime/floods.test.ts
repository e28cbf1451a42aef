import type { Socket } from 'node:net'
import t from 'tap'
import type { WebSocket } from 'ws'
import { change } from '../support/changes.ts'
import { interceptWrites } from '../support/database.ts'
import { depth } from '../support/depth.ts'
import { holdClock } from '../support/intervals.ts'
import { countPerTurn } from '../support/per-turn.ts'
import { until } from '../support/until.ts'
import { type Device, openDevice, openPerson, startService } from './device.ts'

const kinds = {
  'messages that are not JSON': ({ socket }: Device) => socket.send('x'),
  messages: ({ socket }: Device) => socket.send('{"type":"ping"}'),
  'pings of the protocol': ({ socket }: Device) => socket.ping(),
  'pongs of the protocol': ({ socket }: Device) => socket.pong(),
}
type Kind = keyof typeof kinds
const control = ['pings of the protocol', 'pongs of the protocol'] as const

/** Sends the messages in one TCP write, so that the service can read all at once. */
function sendAtOnce(device: Device, count: number, send: (device: Device) => void): void {
  const { _socket: connection } = device.socket as unknown as { _socket: Socket }
  connection.cork()
  for (let sent = 0; sent < count; sent++) send(device)
  connection.uncork()
}

const sockets = 24
const frames = depth(60, 900)
for (const name of Object.keys(kinds) as Kind[]) {
  t.test(`Of the frames that ${sockets} sockets send at once, one of each is read per turn: ${name}`, async (t) => {
    const { app, origin, user } = await startService(t)
    const ada = await user('ada')
    const devices = []
    for (let n = 0; n < sockets; n++) devices.push(await openDevice(t, origin, ada, { deviceId: `device-${n}` }))
    const read = countPerTurn(t)
    for (const socket of app.websocketServer.clients as Set<WebSocket>)
      for (const event of ['message', 'ping', 'pong']) socket.on(event, () => read.add(1))
    for (const device of devices) sendAtOnce(device, frames, kinds[name])
    await until(() => read.all === sockets * frames)
    t.ok(read.most <= sockets, `${read.most} between two turns of the event loop`)
  })
}

t.test('A message counts when it arrives, even if earlier ones are still being handled', async (t) => {
  holdClock(t)
  const { app, ada, device } = await openPerson(t, await startService(t, { RATE_LIMIT_PER_MINUTE: '20' }))
  const [begun, finish] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const stop = interceptWrites(app.context, ada.userId, async (write) => {
    begun.resolve()
    await finish.promise
    return write()
  })
  let pings = 0
  sendAtOnce(device, 31, () =>
    device.send(
      pings++ === 0 ? { type: 'sync', event: change({ entity_id: 'x', device_id: 'device-b' }) } : { type: 'ping' },
    ),
  )
  await begun.promise
  await until(async () => (await ada.call('GET', '/api/v1/bookmarks')).status === 429)
  finish.resolve()
  stop()
  // On Postgres, the change comes from the hub after a notice, and the pongs do not wait for it.
  t.same(await device.takeEntities('x'), ['x'], 'the earlier message is handled')
})

for (const name of control) {
  t.test(`Each frame counts as 4 KiB: ${name}`, async (t) => {
    holdClock(t)
    const { app, ada, device, serverSide } = await openPerson(
      t,
      await startService(t, { RATE_LIMIT_PER_MINUTE: '100' }),
    )
    let read = 0
    serverSide.on(name === control[0] ? 'ping' : 'pong', () => read++)
    sendAtOnce(device, 16 * 50, kinds[name])
    await until(() => read === 16 * 50)
    t.notOk(app.context.limits.isUsedUp(ada.userId), 'half of the rate')
    sendAtOnce(device, 16 * 60, kinds[name])
    await until(() => app.context.limits.isUsedUp(ada.userId))
    t.equal((await ada.call('GET', '/api/v1/bookmarks')).status, 429)
    t.ok(serverSide.isPaused, 'nothing more is read')
    t.equal(device.socket.readyState, device.socket.OPEN)
  })
}
