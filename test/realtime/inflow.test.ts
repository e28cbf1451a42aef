import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { WebSocket } from 'ws'
import { closeCodes } from '../../generated/channel.ts'
import { buildApp } from '../support/app.ts'
import { change } from '../support/changes.ts'
import { holdIntervals } from '../support/intervals.ts'
import { until } from '../support/until.ts'
import { type Device, openDevice } from './device.ts'

const kibibyte = 1024
const perMinute = 20
/** Of the system's buffers and one more read, which nothing can take back. */
const readAtOnce = 512 * kibibyte

async function open(t: Test) {
  const app = await buildApp(t, { RATE_LIMIT_PER_MINUTE: `${perMinute}` })
  const origin = await app.listen()
  const ada = await app.user('ada')
  const device = await openDevice(t, origin, ada)
  const [serverSide] = app.app.websocketServer.clients as Set<WebSocket & { _socket: Socket }>
  const socket = serverSide as WebSocket & { _socket: Socket }
  return { app, ada, device, socket, read: () => socket._socket.bytesRead }
}

const floods: Record<string, (device: Device) => void> = {
  'pongs of the protocol': ({ socket }) => {
    for (let n = 0; n < 40_000; n++) socket.pong(Buffer.alloc(125))
  },
  'a message that never ends, in small pieces with pongs between them': ({ socket }) => {
    for (let n = 0; n < 80; n++) {
      socket.send('x', { fin: false })
      for (let pong = 0; pong < 500; pong++) socket.pong(Buffer.alloc(125))
    }
  },
}

for (const [name, send] of Object.entries(floods)) {
  t.test(`What a client sends counts like the bytes of requests: ${name}`, async (t) => {
    const { ada, device, socket, read } = await open(t)
    send(device)
    await until(() => read() > perMinute * 64 * kibibyte)
    // The library pauses it, too, for as long as it works on what it has read.
    for (let looks = 0; looks < 50; looks = socket.isPaused ? looks + 1 : 0) await sleep(4)
    const before = read()
    t.ok(before < perMinute * 64 * kibibyte + readAtOnce, `${before} bytes were read`)
    await sleep(200)
    t.ok(socket.isPaused)
    t.equal(read(), before, 'the rest is left to the system')
    t.equal((await ada.call('GET', '/api/v1/bookmarks')).status, 429)
  })
}

t.test('A large message counts for its bytes, too', async (t) => {
  const { app, ada, device } = await open(t)
  let charged = 0
  const { chargeUser } = app.context.limits
  app.context.limits.chargeUser = (userId, requests) => {
    if (userId === ada.userId) charged += requests
    return chargeUser(userId, requests)
  }
  const event = change({ entity_id: 'x', device_id: 'device-b', encrypted_data: 'x'.repeat(200 * kibibyte) })
  device.send({ type: 'sync', event })
  t.match(await device.nextSync(), { event: { entity_id: 'x' } })
  t.equal(charged, 3)
})

t.test('A message is to be complete within 60 s', async (t) => {
  const tick = holdIntervals(t)
  const { device, socket } = await open(t)
  const arrived = () => new Promise((resolve) => socket.once('ping', resolve))
  device.socket.send('{"type":', { fin: false })
  for (let seconds = 0; seconds < 60; seconds += 20) {
    device.socket.ping('still there')
    await arrived()
    tick(20)
  }
  t.equal(socket.readyState, socket.OPEN, 'not yet')
  tick(5)
  t.equal(await device.closeCode, closeCodes.silent)
})

t.test('Pings between whole messages keep a socket open, and so do messages in fragments', async (t) => {
  const tick = holdIntervals(t)
  const { device, socket } = await open(t)
  for (let minute = 0; minute < 3; minute++) {
    device.socket.send('{"type":', { fin: false })
    device.socket.ping('between')
    device.socket.send('"ping"}', { fin: true })
    t.same(await device.next(), { type: 'pong' })
    tick(40)
    device.socket.ping('alone')
    await new Promise((resolve) => socket.once('ping', resolve))
    tick(40)
  }
  t.equal(device.socket.readyState, device.socket.OPEN)
})

t.test('A message in more than 16,384 fragments closes the socket with 1008', async (t) => {
  const app = await buildApp(t)
  const origin = await app.listen()
  const device = await openDevice(t, origin, await app.user('ada'))
  for (let n = 0; n < 16_385; n++) device.socket.send('x', { fin: false })
  t.equal(await device.closeCode, closeCodes.tooManyFragments)
})
