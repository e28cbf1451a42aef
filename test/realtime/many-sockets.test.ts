import type { KyselyPlugin } from 'kysely'
import t from 'tap'
import type { WebSocket } from 'ws'
import { buildApp } from '../support/app.ts'
import { change } from '../support/changes.ts'
import { type Device, openDevice } from './device.ts'

const count = 1000

t.test('1,000 sockets get a change from one read and one serialization, and sign-out closes them all', async (t) => {
  const app = await buildApp(t)
  const { context } = app
  const origin = await app.listen()
  const ada = await app.user('ada')
  const devices: Device[] = []
  for (let opened = 0; opened < count; opened += 50) {
    const batch = Array.from({ length: 50 }, (_, index) => `device-${opened + index}`)
    devices.push(...(await Promise.all(batch.map((deviceId) => openDevice(t, origin, ada, { deviceId })))))
  }
  t.equal(context.hub.sockets(), count)

  let queries = 0
  const counter: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      queries++
      return result
    },
  }
  const event = change({ entity_id: 'x', device_id: 'elsewhere' })
  await ada.call('POST', '/api/v1/sync/push', { body: { changes: [event] } })
  const [first, ...others] = await Promise.all(devices.map((device) => device.nextSync()))
  t.match(first, { event })
  t.ok(
    others.every(({ stamp }) => stamp === first?.stamp),
    'all got it',
  )

  context.database.db = context.database.db.withPlugin(counter)
  const publish = context.pulse.publishChange
  context.pulse.publishChange = () => {}
  await ada.call('POST', '/api/v1/sync/push', {
    body: { changes: [change({ entity_id: 'y', device_id: 'elsewhere' })] },
  })
  queries = 0
  const sockets = [...(app.app.websocketServer.clients as Set<WebSocket>)]
  const sent = sockets.map((socket) => t.capture(socket, 'send', socket.send))
  publish(ada.userId)
  await Promise.all(devices.map((device) => device.nextSync()))
  t.equal(queries, 2, 'the page and the logins were read, once')
  const buffers = sent.flatMap((calls) => calls().map(({ args: [message] }) => message))
  t.equal(buffers.length, count)
  t.equal(new Set(buffers).size, 1, 'the same bytes for all')

  await ada.call('POST', '/api/v1/auth/logout')
  const open = [...(app.app.websocketServer.clients as Set<WebSocket>)].filter(
    ({ readyState, OPEN }) => readyState === OPEN,
  )
  t.equal(open.length, 0, 'all are being closed when the sign-out is answered')
  const codes = await Promise.all(devices.map(({ closeCode }) => closeCode))
  t.same([...new Set(codes)], [4401])
  t.ok(
    devices.every(({ messages }) => messages.length === 0),
    'none got anything twice',
  )
})
