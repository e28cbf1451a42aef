import type { Socket } from 'node:net'
import t from 'tap'
import type { WebSocket } from 'ws'
import { closeCodes } from '../../generated/channel.ts'
import { change } from '../support/changes.ts'
import { interceptWrites } from '../support/database.ts'
import { countPerTurn } from '../support/per-turn.ts'
import { until } from '../support/until.ts'
import { type Device, openDevice, openPerson, startService } from './device.ts'

const kinds: Record<string, (device: Device) => void> = {
  'messages that are no JSON': ({ socket }) => socket.send('x'),
  messages: ({ socket }) => socket.send('{"type":"ping"}'),
  'pings of the protocol': ({ socket }) => socket.ping(),
  'pongs of the protocol': ({ socket }) => socket.pong(),
  fragments: ({ socket }) => socket.send('', { fin: false }),
}

/** Sends them in one piece, as one read may find them. */
function sendAtOnce(device: Device, count: number, send: (device: Device) => void): void {
  const { _socket: connection } = device.socket as unknown as { _socket: Socket }
  connection.cork()
  for (let sent = 0; sent < count; sent++) send(device)
  connection.uncork()
}

for (const [name, send] of Object.entries(kinds)) {
  t.test(`More than 1,000 frames at once close the socket: ${name}`, async (t) => {
    const { app, ada, device, serverSide } = await openPerson(t, await startService(t))
    let read = 0
    for (const event of ['message', 'ping', 'pong']) serverSide.on(event, () => read++)
    sendAtOnce(device, 1500, send)
    t.equal(await device.closeCode, closeCodes.flooded)
    t.ok(read < 1000, `${read} were read`)
    await until(() => app.context.hub.socketsOf(ada.userId) === 0)
  })
}

const sockets = 24
/** Of pings, the library itself takes few at once. */
for (const name of ['messages that are no JSON', 'messages', 'pongs of the protocol']) {
  const send = kinds[name] as (device: Device) => void
  t.test(`Of what ${sockets} sockets of a user send at once, a little is read in a turn: ${name}`, async (t) => {
    const { app, origin, user } = await startService(t)
    const ada = await user('ada')
    const devices = []
    for (let n = 0; n < sockets; n++) devices.push(await openDevice(t, origin, ada, { deviceId: `device-${n}` }))
    const read = countPerTurn(t)
    for (const socket of app.websocketServer.clients as Set<WebSocket>)
      for (const event of ['message', 'ping', 'pong']) socket.on(event, () => read.add(1))
    for (const device of devices) sendAtOnce(device, 900, send)
    await until(() => read.all === sockets * 900)
    t.ok(read.most <= 4 * 64, `${read.most} between two turns of the event loop`)
  })
}

t.test('A message costs something when it arrives, also if those before it are still worked on', async (t) => {
  const { app, ada, device } = await openPerson(t, await startService(t, { RATE_LIMIT_PER_MINUTE: '20' }))
  const [begun, finish] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const stop = interceptWrites(app.context, async (write) => {
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
  t.equal((await ada.call('GET', '/api/v1/bookmarks')).status, 429)
  finish.resolve()
  stop()
  t.equal((await device.next()).type, 'sync', 'what came before is carried out')
})

for (const name of ['pings of the protocol', 'pongs of the protocol', 'fragments']) {
  t.test(`Frames that are no messages cost something: ${name}`, async (t) => {
    const limited = await startService(t, { RATE_LIMIT_PER_MINUTE: '20' })
    const { ada, device, serverSide } = await openPerson(t, limited)
    const before = serverSide._socket.bytesRead
    sendAtOnce(device, 400, kinds[name] as (device: Device) => void)
    await until(() => serverSide._socket.bytesRead - before >= 400 * 6)
    t.equal((await ada.call('GET', '/api/v1/bookmarks')).status, 429)
  })
}
