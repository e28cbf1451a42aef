import { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { queryObjects } from 'node:v8'
import type { KyselyPlugin } from 'kysely'
import t from 'tap'
import type { WebSocket } from 'ws'
import type { TestUser } from '../support/app.ts'
import { change, push } from '../support/changes.ts'
import { depth } from '../support/depth.ts'
import { holdIntervals } from '../support/intervals.ts'
import { type Device, openDevice, startService } from './device.ts'

const names = ['ada', 'bob', 'eve', 'joe']
const ofEach = depth(20, 250)

// On a slow machine, a sweep would read once more.
holdIntervals(t)
const all = names.length * ofEach
t.test(`${all} sockets of four users: one read and serialization per user; a sign-out closes hers only`, async (t) => {
  const app = await startService(t)
  const { context, origin } = app
  const streams: Socket[] = []
  app.app.server.on('connection', (stream: Socket) => streams.push(stream))
  const users = await Promise.all(names.map(app.user))
  const devices = new Map<TestUser, Device[]>(users.map((user) => [user, []]))
  for (const [user, own] of devices) {
    while (own.length < ofEach) {
      const batch = Array.from({ length: 10 }, (_, index) => `device-${own.length + index}`)
      own.push(...(await Promise.all(batch.map((deviceId) => openDevice(t, origin, user, { deviceId })))))
    }
  }
  t.equal(context.hub.sockets(), all)
  const responses = queryObjects(ServerResponse, { format: 'count' })
  t.ok(responses < all / 2, `sockets do not keep their request and response in memory: ${responses} are there`)

  const elsewhere = (entity_id: string) => change({ entity_id, device_id: 'elsewhere' })
  for (const [user, own] of devices) {
    await push(user, elsewhere('x'))
    const got = await Promise.all(own.map((device) => device.nextSync()))
    t.same(new Set(got.map(({ stamp, event }) => `${stamp} ${event.user_id} ${event.entity_id}`)).size, 1, 'all got it')
    t.match(got[0], { event: { user_id: user.userId, entity_id: 'x' } })
  }

  let queries = 0
  const counter: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      // The health check also queries the database, but not a table.
      const isFromTable = Object.keys(result.rows[0] ?? {}).some((column) => /_|^id$/.test(column))
      if (isFromTable) queries++
      return result
    },
  }
  context.database.db = context.database.db.withPlugin(counter)
  const publish = context.notices.publishChange
  context.notices.publishChange = () => {}
  for (const user of users) await push(user, elsewhere('y'))
  queries = 0
  const sent = streams.map((stream) => t.capture(stream, 'write', stream.write))
  for (const { userId } of users) publish(userId)
  await Promise.all([...devices.values()].flat().map((device) => device.nextSync()))
  t.equal(queries, 2 * users.length, 'changes and logins were read once per user')
  const buffers = sent
    .flatMap((calls) => calls().map(({ args: [frame] }) => frame as Buffer))
    .filter((frame) => frame.includes('"sync"'))
  t.equal(buffers.length, all)
  t.equal(new Set(buffers).size, users.length, 'all sockets of a user get the same buffer')

  const [ada] = users as [TestUser]
  await ada.call('POST', '/api/v1/auth/logout')
  const open = [...(app.app.websocketServer.clients as Set<WebSocket>)].filter(
    ({ readyState, OPEN }) => readyState === OPEN,
  )
  t.equal(open.length, (users.length - 1) * ofEach, 'all her sockets are closing when the sign-out is answered')
  const codes = await Promise.all((devices.get(ada) ?? []).map(({ closeCode }) => closeCode))
  t.same([...new Set(codes)], [4401])
  t.ok(
    // On a slow machine, pings may have arrived meanwhile.
    [...devices.values()].flat().every(({ messages }) => messages.every(({ type }) => type === 'ping')),
    'no socket got a change twice',
  )
})
