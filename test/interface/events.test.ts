import { once } from 'node:events'
import t from 'tap'
import { WebSocket } from 'ws'
import { openDevice, realtimeUrl } from '../realtime/device.ts'
import { buildApp } from '../support/app.ts'
import { change, pullAll } from '../support/changes.ts'
import { checkMessage } from '../support/contract.ts'

const app = await buildApp(t)
const origin = await app.listen()

t.test('connected | deviceId (string), timestamp (integer) | Connection established', async (t) => {
  const ada = await app.user('ada')
  const before = Date.now()
  const headers = { cookie: ada.cookie, 'x-user-id': ada.userId, 'x-device-id': 'my phone' }
  const socket = new WebSocket(realtimeUrl(origin), { headers })
  t.teardown(() => socket.terminate())
  const [data] = await once(socket, 'message')
  const { timestamp, epoch: _, ...message } = checkMessage(String(data))
  t.same(message, { type: 'connected', deviceId: 'my phone' })
  t.ok(timestamp >= before && timestamp <= Date.now(), "the server's time")
})

t.test('sync | event (sync event) | A change, also broadcast from another device', async (t) => {
  const ada = await app.user('ada sync')
  const [phone, desk] = [
    await openDevice(t, origin, ada, { deviceId: 'phone' }),
    await openDevice(t, origin, ada, { deviceId: 'desk' }),
  ]
  const event = change({ entity_id: 'b1', device_id: 'phone' })
  phone.send({ type: 'sync', event })
  const acknowledged = await phone.nextSync()
  const broadcast = await desk.nextSync()
  t.same(acknowledged, broadcast, 'its sender gets it as the acknowledgement')
  t.hasStrict(broadcast.event, { ...event, user_id: ada.userId, conflict_resolved: false })
  const { changes, cursor } = await pullAll(ada)
  t.same([broadcast.event, broadcast.stamp], [changes[0], cursor], 'as a pull returns it')
})

t.test('ping | none | Keep-alive', async (t) => {
  const ada = await app.user('ada ping')
  const phone = await openDevice(t, origin, ada)
  phone.send({ type: 'ping' })
  t.same(await phone.next(), { type: 'pong' }, 'the server responds to a ping')
})

t.test('pong | none | Reply to a ping', async (t) => {
  const ada = await app.user('ada pong')
  const phone = await openDevice(t, origin, ada)
  phone.send({ type: 'pong' })
  phone.send({ type: 'ping' })
  t.same(await phone.next(), { type: 'pong' }, 'a pong is accepted without a response')
})

t.test('error | error (string) | Error report', async (t) => {
  const ada = await app.user('ada error')
  const phone = await openDevice(t, origin, ada)
  await ada.call('POST', '/api/v1/sync/push', {
    body: { changes: [change({ entity_id: 'b1', timestamp: 2000, device_id: 'desk' })] },
  })
  t.hasStrict(await phone.next(), { type: 'sync' })
  phone.send({ type: 'sync', event: change({ entity_id: 'b1', timestamp: 1000, device_id: 'phone' }) })
  t.match(await phone.next(), { type: 'error', error: /^bookmark b1: Last write wins/ })
  phone.socket.send('garbage')
  t.same(await phone.next(), { type: 'error', error: 'Malformed message: it is not JSON' })
  phone.send({ type: 'ping' })
  t.same(await phone.next(), { type: 'pong' }, 'the socket stays open')
})

t.test('The service sends no other events.', async (t) => {
  const ada = await app.user('ada quiet')
  const phone = await openDevice(t, origin, ada)
  for (const type of ['connected', 'error', 'subscribe', '__proto__', '', null]) {
    phone.send({ type })
    t.match(await phone.next(), { type: 'error', error: /^Malformed message: type must be one of: sync, ping, pong$/ })
  }
  await ada.call('GET', '/api/v1/bookmarks')
  await ada.call('POST', '/api/v1/exports')
  phone.send({ type: 'ping' })
  t.same(await phone.next(), { type: 'pong' }, 'reading and exporting send no events')
})

t.test('After logout the socket of that login is closed at once, and those of others stay open', async (t) => {
  const [here, there] = [await app.user('ada out'), await app.user('ada out')]
  const [closing, staying] = [await openDevice(t, origin, here), await openDevice(t, origin, there, { deviceId: 'c' })]
  await here.call('POST', '/api/v1/auth/logout')
  t.equal(await closing.closeCode, 4401)
  await there.call('POST', '/api/v1/bookmarks', { body: { encrypted_data: 'data', data_hash: 'hash' } })
  t.equal((await staying.next()).type, 'sync')
})
