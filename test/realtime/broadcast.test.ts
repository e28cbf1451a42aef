import fc from 'fast-check'
import t from 'tap'
import type { TestUser } from '../support/app.ts'
import { change, pushEntities } from '../support/changes.ts'
import { depth } from '../support/depth.ts'
import { holdIntervals } from '../support/intervals.ts'
import { type Device, openDevice, startService } from './device.ts'

// With stopped intervals, no socket counts as silent on a slow machine.
holdIntervals(t)
const service = await startService(t)
let tests = 0

/** A new user of the service, and a function that makes others. */
async function open() {
  const number = ++tests
  const user = (name: string) => service.user(`${name} ${number}`)
  return { user, origin: service.origin, ada: await user('ada') }
}

const content = { encrypted_data: 'data', data_hash: 'hash' }
const fromA = { headers: { 'x-device-id': 'device-a' } }

/** Ways to write a bookmark. All of them act as device-a. */
const routes: Record<
  string,
  { operation: string; write(user: TestUser, id: string, socket: Device): Promise<unknown> }
> = {
  POST: {
    operation: 'create',
    write: (user, id) => user.call('POST', '/api/v1/bookmarks', { body: { id, ...content }, ...fromA }),
  },
  PUT: {
    operation: 'update',
    write: (user) => user.call('PUT', '/api/v1/bookmarks/known', { body: content, ...fromA }),
  },
  DELETE: { operation: 'delete', write: (user) => user.call('DELETE', '/api/v1/bookmarks/known', fromA) },
  push: {
    operation: 'update',
    write: (user, id) =>
      user.call('POST', '/api/v1/sync/push', {
        body: { changes: [change({ entity_id: id, operation: 'update' })] },
        ...fromA,
      }),
  },
  import: {
    operation: 'create',
    write: (user, id) =>
      user.call('POST', '/api/v1/sync/import', { body: { bookmarks: [{ id, ...content }] }, ...fromA }),
  },
  socket: {
    operation: 'create',
    write: async (_user, id, socket) => {
      socket.send({ type: 'sync', event: change({ entity_id: id }) })
      await socket.nextSync()
    },
  },
}

for (const [name, { operation, write }] of Object.entries(routes)) {
  t.test(`A change made by ${name} reaches each socket once, also others of its device`, async (t) => {
    const { user, origin, ada } = await open()
    const bob = await user('bob')
    await ada.call('POST', '/api/v1/bookmarks', { body: { id: 'known', ...content } })
    const before = (await ada.call('POST', '/api/v1/sync/pull', fromA)).body.last_sync_timestamp
    const [sender, own] = [
      await openDevice(t, origin, ada, { deviceId: 'device-a' }),
      await openDevice(t, origin, ada, { deviceId: 'device-a' }),
    ]
    const others = [own, await openDevice(t, origin, ada), await openDevice(t, origin, ada, { deviceId: 'device-c' })]
    // A change by a request reaches this socket, too. One made over this socket is acknowledged, which `write` reads.
    if (name !== 'socket') others.push(sender)
    const foreign = await openDevice(t, origin, bob)

    await write(ada, 'new', sender)
    const { body } = await ada.call('POST', '/api/v1/sync/pull', { body: {} })
    const [event, stamp] = [body.changes.at(-1), body.last_sync_timestamp]
    for (const other of others) {
      const { previous_stamp = 0, ...message } = await other.nextSync()
      t.same(message, { type: 'sync', event, stamp }, 'the message is the event that a pull returns, with its stamp')
      t.equal(previous_stamp, before)
    }
    t.match(event, { operation, user_id: ada.userId, device_id: 'device-a', conflict_resolved: false })
    t.match(event.entity_id, /^(new|known)$/)
    t.equal('encrypted_data' in event, operation !== 'delete', 'all but deletes have the ciphertext')
    t.equal('data_hash' in event, true)

    await Promise.all(
      [ada, bob].map((person) => person.call('POST', '/api/v1/bookmarks', { body: { id: 'last', ...content } })),
    )
    const rest = [...new Set([sender, ...others, foreign])].map((device) => device.takeEntities('last'))
    t.same(await Promise.all(rest), Array(5).fill(['last']), 'nothing else came')
  })
}

async function lastStamp(user: TestUser): Promise<number> {
  return (await user.call('POST', '/api/v1/sync/pull', { body: {} })).body.last_sync_timestamp
}

t.test('since replays missed changes in stamp order, then the channel is live', async (t) => {
  const { origin, ada } = await open()
  await pushEntities(ada, 'seen')
  const since = await lastStamp(ada)
  await pushEntities(ada, 'missed-1', 'missed-2')
  await pushEntities(ada, 'missed-3')
  const device = await openDevice(t, origin, ada, { since })
  t.same(await device.takeEntities('missed-3'), ['missed-1', 'missed-2', 'missed-3'])
  await pushEntities(ada, 'live')
  t.same(await device.takeEntities('live'), ['live'])
})

t.test("since beyond the user's last stamp, as after a restore, counts as 0", async (t) => {
  const { origin, ada } = await open()
  await pushEntities(ada, 'before')
  for (const since of [(await lastStamp(ada)) + 1, Number.MAX_SAFE_INTEGER]) {
    const device = await openDevice(t, origin, ada, { since })
    await pushEntities(ada, `after-${since}`)
    const delivered = await device.takeEntities(`after-${since}`)
    t.equal(delivered[0], 'before', `since ${since}`)
  }
})

t.test('A device that reconnects with its last stamp misses nothing, no matter where it was cut off', async (t) => {
  const { user, origin } = await open()
  let runs = 0
  const legs = fc.array(fc.record({ writes: fc.nat(30), read: fc.double({ min: 0, max: 1, noNaN: true }) }), {
    minLength: 1,
    maxLength: 5,
  })
  await fc.assert(
    fc.asyncProperty(legs, async (legs) => {
      const ada = await user(`ada-${runs++}`)
      const received: { id: string; stamp: number }[] = []
      const written: string[] = []
      const writing: Promise<unknown>[] = []
      for (const { writes, read } of legs) {
        const device = await openDevice(t, origin, ada, { since: received.at(-1)?.stamp ?? 0 })
        const ids = Array.from({ length: writes }, (_, index) => `bookmark-${written.length + index}`)
        written.push(...ids)
        writing.push(...ids.map((id) => pushEntities(ada, id)))
        const missing = Math.floor((written.length - received.length) * read)
        for (let taken = 0; taken < missing; taken++) {
          const { event, stamp } = await device.nextSync()
          received.push({ id: event.entity_id, stamp })
        }
        device.socket.terminate()
      }
      await Promise.all(writing)
      const device = await openDevice(t, origin, ada, { since: received.at(-1)?.stamp ?? 0 })
      while (received.length < written.length) {
        const { event, stamp } = await device.nextSync()
        received.push({ id: event.entity_id, stamp })
      }
      await pushEntities(ada, 'last')
      const rest = await device.takeEntities('last')
      device.socket.terminate()
      const stamps = received.map(({ stamp }) => stamp)
      const rising = stamps.every((stamp, index) => index === 0 || stamp > (stamps[index - 1] as number))
      const once = new Set(received.map(({ id }) => id)).size === written.length
      return rising && once && rest.length === 1
    }),
    { numRuns: depth(4, 25) },
  )
})
