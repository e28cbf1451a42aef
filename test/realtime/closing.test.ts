import { once } from 'node:events'
import t, { type Test } from 'tap'
import { endLogin } from '../../src/service/db/tables/logins.ts'
import type { TestApp } from '../support/app.ts'
import { change, pushEntities } from '../support/changes.ts'
import { breakDatabase, interceptWrites } from '../support/database.ts'
import { depth } from '../support/depth.ts'
import { holdIntervals } from '../support/intervals.ts'
import { until } from '../support/until.ts'
import { type Device, openDevice, openPerson, startService } from './device.ts'

const dayMs = 86_400_000

/** No ping comes, and no sweep runs, before the test asks for it. */
const tick = holdIntervals(t)
const common = await startService(t)
const open = (t: Test, app = common) => openPerson(t, app)

function loseNotices(t: Test, { context: { notices } }: TestApp): void {
  const { publishChange } = notices
  t.teardown(() => Object.assign(notices, { publishChange }))
  notices.publishChange = () => {}
}

t.test('Signing out closes every socket of the login with 4401, and no other', async (t) => {
  const { app, origin, name, ada, device } = await open(t)
  const second = await openDevice(t, origin, ada, { deviceId: 'device-c' })
  const sameUser = await app.user(name)
  const others = [
    await openDevice(t, origin, sameUser, { deviceId: 'device-d' }),
    await openDevice(t, origin, await app.user('bob')),
  ]
  await ada.call('POST', '/api/v1/auth/logout')
  t.same(await Promise.all([device.closeCode, second.closeCode]), [4401, 4401])
  await pushEntities(sameUser, 'later')
  t.match(await others[0]?.nextSync(), { event: { entity_id: 'later' } })
  for (const { socket } of others) t.equal(socket.readyState, socket.OPEN)
  t.same([device.messages, second.messages], [[], []], 'sockets of the ended login received nothing more')
})

t.test('Once a login has ended elsewhere, its socket receives no more changes', async (t) => {
  const { app, name, ada, device } = await open(t)
  await app.context.database.write((trx) => endLogin(trx, ada))
  await pushEntities(await app.user(name), 'secret')
  t.equal(await device.closeCode, 4401)
  t.same(device.messages, [])
})

t.test('Once a login has ended elsewhere, its socket writes nothing more', async (t) => {
  const { app, ada, device } = await open(t)
  await app.context.database.write((trx) => endLogin(trx, ada))
  for (let n = 0; n < 3; n++) device.send({ type: 'sync', event: change({ entity_id: `x${n}` }) })
  t.equal(await device.closeCode, 4401)
  const records = app.context.database.db.selectFrom('records').where('user_id', '=', ada.userId)
  t.same(await records.select('entity_id').execute(), [])
})

t.test('If a login ends while its socket is opening, the socket is not greeted', async (t) => {
  const { app, origin, ada } = await open(t)
  const { database } = app.context
  const { websocketServer } = app.app
  const { handleUpgrade } = websocketServer
  t.teardown(() => Object.assign(websocketServer, { handleUpgrade }))
  // The upgrade runs after the session was looked up.
  websocketServer.handleUpgrade = async (...upgrade) => {
    await database.write((trx) => endLogin(trx, ada))
    handleUpgrade.apply(websocketServer, upgrade)
  }
  await t.rejects(openDevice(t, origin, ada), { message: 'closed with 4401' })
})

t.test('After a refresh, a socket stays open beyond the end of the session token it was opened with', async (t) => {
  const { app, name, ada, device } = await open(t)
  t.teardown(() => app.setClock(undefined))
  app.setClock(Date.now() + 6 * dayMs)
  const cookie = `service_refresh=${ada.refresh}`
  t.equal((await app.call('POST', '/api/v1/auth/refresh', { headers: { cookie } })).status, 200)
  app.setClock(Date.now() + 8 * dayMs)
  await pushEntities(await app.user(name), 'x')
  t.match(await device.nextSync(), { event: { entity_id: 'x' } })
})

/** Counts the queries outside of transactions from now on. */
function countQueries({ context: { database } }: TestApp): () => number {
  let queries = 0
  database.db = database.db.withPlugin({
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      queries++
      return result
    },
  })
  return () => queries
}

const signs: Record<string, (device: Device) => void> = {
  pong: (device) => device.send({ type: 'pong' }),
  'a malformed message': (device) => device.socket.send('?'),
  'a protocol ping': (device) => device.socket.ping(),
  'a protocol pong': (device) => device.socket.pong(),
}

t.test('Periodic work for sockets', async (t) => {
  t.test('The next sweep finds a session that has ended, even without a change', async (t) => {
    const { app, device } = await open(t)
    t.teardown(() => app.setClock(undefined))
    app.setClock(Date.now() + 31 * dayMs)
    tick(30)
    t.equal(await device.closeCode, 4401)
  })

  t.test('The server sends a ping every 20 s', async (t) => {
    const { device } = await open(t)
    const isPing = ({ type }: { type: string }) => type === 'ping'
    for (let n = 0; n < 3; n++) {
      tick(20)
      t.same(await device.take(isPing), { type: 'ping' })
      t.same(device.messages, [])
      device.send({ type: 'ping' })
      await device.next()
    }
  })

  t.test('A socket that has been silent for 60 s is closed with 4408', async (t) => {
    const { device, serverSide } = await open(t)
    tick(60)
    t.equal(serverSide.readyState, serverSide.OPEN, 'still open at 60 s')
    tick(5)
    t.equal(await device.closeCode, 4408)
  })

  for (const [name, say] of Object.entries(signs)) {
    t.test(`A socket is kept open by ${name}`, async (t) => {
      const { device, serverSide } = await open(t)
      for (let n = 0; n < 3; n++) {
        tick(55)
        const heard = Promise.race(['message', 'ping', 'pong'].map((event) => once(serverSide, event)))
        say(device)
        await heard
        await until(() => !serverSide.isPaused)
      }
      t.equal(device.socket.readyState, device.socket.OPEN)
      tick(65)
      t.equal(await device.closeCode, 4408)
    })
  }

  t.test('A client does not count as silent while the service handles its message', async (t) => {
    const { app, ada, device } = await open(t)
    const [began, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const stop = interceptWrites(app.context, ada.userId, async (write) => {
      began.resolve()
      await released.promise
      return write()
    })
    t.teardown(stop)
    device.send({ type: 'sync', event: change({ entity_id: 'x', device_id: 'device-b' }) })
    await began.promise
    tick(120)
    released.resolve()
    t.match(await device.take(({ type }) => type === 'sync'), { event: { entity_id: 'x' } })
  })

  t.test('A lost notice is made up for within 30 s', async (t) => {
    const { app, ada, device } = await open(t)
    loseNotices(t, app)
    await pushEntities(ada, 'x')
    device.send({ type: 'ping' })
    t.same(await device.next(), { type: 'pong' }, 'nothing came')
    tick(30)
    t.match(await device.nextSync(), { event: { entity_id: 'x' } })
  })

  t.test('Idle sockets cost two queries every 30 s for 1,000 users, even if clients send pongs', async (t) => {
    const app = await startService(t)
    const names = Array.from({ length: depth(12, 1200) }, (_, index) => `idle ${index}`)
    const users = await Promise.all(names.map(app.user))
    loseNotices(t, app)
    const devices: Device[] = []
    for (const user of users) {
      await pushEntities(user, 'x')
      const device = await openDevice(t, app.origin, user, { since: 0 })
      // After a socket has received what it missed, the service runs no more queries for it alone.
      await device.nextSync()
      devices.push(device)
    }
    // Raises a user's last stamp without a record, as a delete does that finds no room for its tombstone.
    const { database } = app.context
    await database.db
      .updateTable('users')
      .set({ last_sequence: Date.now() + dayMs })
      .where('id', '=', users[0]?.userId ?? '')
      .execute()
    const queries = countQueries(app)
    const [sweep, exports, pairings, changesOfOne] = [2 * Math.ceil(users.length / 1000), 1, 1, 2]
    // The first tick also looks for exports of a killed instance, and the second one sweeps pairings.
    const ofTicks = [sweep + 2 * exports + changesOfOne, sweep + exports + pairings, sweep + exports]
    let expected = 0
    for (const ofTick of ofTicks) {
      for (const device of devices) device.send({ type: 'pong' })
      tick(30)
      expected += ofTick
      // Wait for all queries: a look for exports that has not begun is not repeated.
      await until(() => queries() >= expected)
      for (const device of devices) device.send({ type: 'ping' })
      await Promise.all(devices.map((device) => device.next()))
      t.equal(queries(), expected)
    }
  })

  t.test('If reading changes for sockets fails, it is retried 5 s later', async (t) => {
    const { app, ada, device, log } = await open(t)
    loseNotices(t, app)
    await pushEntities(ada, 'x')
    const repair = breakDatabase(app.context)
    tick(30)
    await until(() => log().includes('changes could not be read'))
    repair()
    tick(5)
    t.match(await device.nextSync(), { event: { entity_id: 'x' } })
  })

  t.test('A socket that could not be greeted is greeted 5 s later', async (t) => {
    const { app, origin, ada, log } = await open(t)
    const { countUser } = app.context.limits
    t.teardown(() => Object.assign(app.context.limits, { countUser }))
    let repair = () => {}
    // `countUser` runs after the session was looked up and before the upgrade.
    app.context.limits.countUser = async () => {
      repair = breakDatabase(app.context)
    }
    const opening = openDevice(t, origin, ada)
    await until(() => log().includes('changes could not be read'))
    repair()
    tick(5)
    await opening
  })
})

t.test('When the server stops, each socket is closed with 1001', async (t) => {
  const { app, origin, ada, device } = await open(t, await startService(t))
  const second = await openDevice(t, origin, ada)
  await app.close()
  t.same(await Promise.all([device.closeCode, second.closeCode]), [1001, 1001])
})

t.test('A change that is being written when the server stops is stored, but not broadcast', async (t) => {
  const { app, ada, device } = await open(t, await startService(t))
  const began = Promise.withResolvers<void>()
  let written = false
  interceptWrites(app.context, ada.userId, (write) => {
    began.resolve()
    return write(async (work) => {
      await new Promise((resolve) => setTimeout(resolve, 100))
      return work()
    }).finally(() => {
      written = true
    })
  })
  device.send({ type: 'sync', event: change({ entity_id: 'x' }) })
  await began.promise
  await app.close()
  t.ok(written)
  t.notMatch(app.log.join(''), /"level":50/)
})

t.test('A client that does not respond does not delay the stop', async (t) => {
  const { app, device } = await open(t, await startService(t))
  device.socket.pause()
  await app.close()
  t.equal(app.context.hub.sockets(), 0)
})

t.test('The service keeps nothing about a client that has disconnected', async (t) => {
  const { app, origin, ada, device } = await open(t)
  const { hub } = app.context
  const rude = await openDevice(t, origin, ada)
  t.equal(hub.socketsOf(ada.userId), 2)
  device.socket.close()
  rude.socket.terminate()
  await until(() => hub.socketsOf(ada.userId) === 0)
  t.equal((await pushEntities(ada, 'x')).status, 200)
})
