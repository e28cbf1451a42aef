import t from 'tap'
import type { TestUser } from '../support/app.ts'
import { change } from '../support/changes.ts'
import { depth } from '../support/depth.ts'
import { sharedApp } from '../support/shared-app.ts'
import { type Device, openDevice } from './device.ts'

const content = { encrypted_data: 'data', data_hash: 'hash' }
const fromA = { headers: { 'x-device-id': 'device-a' } }

/** Every way to write, each as device-a. */
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
  DELETE: {
    operation: 'delete',
    write: (user) => user.call('DELETE', '/api/v1/bookmarks/known', fromA),
  },
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
  t.test(`A change made by ${name} reaches the other devices once, and not its own`, async (t) => {
    const { user, listen } = await sharedApp()
    const origin = await listen()
    const [ada, bob] = [await user('ada'), await user('bob')]
    await ada.call('POST', '/api/v1/bookmarks', { body: { id: 'known', ...content } })
    await ada.call('POST', '/api/v1/sync/pull', fromA)
    const [sender, own] = [
      await openDevice(t, origin, ada, { deviceId: 'device-a' }),
      await openDevice(t, origin, ada, { deviceId: 'device-a' }),
    ]
    const others = [await openDevice(t, origin, ada), await openDevice(t, origin, ada, { deviceId: 'device-c' })]
    const foreign = await openDevice(t, origin, bob)

    await write(ada, 'new', sender)
    const { body } = await ada.call('POST', '/api/v1/sync/pull', { body: {} })
    const [event, stamp] = [body.changes.at(-1), body.last_sync_timestamp]
    for (const other of others)
      t.same(
        await other.nextSync(),
        { type: 'sync', event, stamp },
        'it is the event that a pull returns, with its stamp',
      )
    t.match(event, { operation, user_id: ada.userId, device_id: 'device-a', conflict_resolved: false })
    t.match(event.entity_id, /^(new|known)$/)
    t.equal('encrypted_data' in event, operation !== 'delete', 'the ciphertext is there unless it is deleted')
    t.equal('data_hash' in event, true)

    await Promise.all(
      [ada, bob].map((person) => person.call('POST', '/api/v1/bookmarks', { body: { id: 'last', ...content } })),
    )
    const rest = [sender, own, ...others, foreign].map((device) => device.takeEntities('last'))
    t.same(await Promise.all(rest), Array(5).fill(['last']), 'nothing else came')
  })
}

t.test('Changes come in stamp order, whoever made them', async (t) => {
  const { user, listen } = await sharedApp()
  const origin = await listen()
  const ada = await user('ada')
  const reader = await openDevice(t, origin, ada)
  const ids = Array.from({ length: 120 }, (_, index) => `bookmark-${index}`)
  const writers = [0, 1, 2, 3].map(async (writer) => {
    for (const id of ids.filter((_, index) => index % 4 === writer)) {
      await ada.call('POST', '/api/v1/bookmarks', {
        body: { id, ...content },
        headers: { 'x-device-id': `writer-${writer}` },
      })
    }
  })
  await Promise.all(writers)
  await ada.call('POST', '/api/v1/bookmarks', { body: { id: 'last', ...content } })

  const { body } = await ada.call('POST', '/api/v1/sync/pull', { body: {} })
  t.same(
    await reader.takeEntities('last'),
    body.changes.map(({ entity_id }: { entity_id: string }) => entity_id),
  )
})

const many = depth(600, 3000)
t.test(`A push of ${many} changes arrives whole, in the order of the push`, async (t) => {
  const { user, listen } = await sharedApp()
  const origin = await listen()
  const ada = await user('ada')
  const reader = await openDevice(t, origin, ada)
  const changes = Array.from({ length: many }, (_, index) => change({ entity_id: `bookmark-${index}` }))
  await ada.call('POST', '/api/v1/sync/push', { body: { changes }, ...fromA })
  t.same(
    await reader.takeEntities(`bookmark-${many - 1}`),
    changes.map(({ entity_id }) => entity_id),
  )
})

t.test('Changes of the device `unknown` reach all devices, their sender as well', async (t) => {
  const { user, listen } = await sharedApp()
  const origin = await listen()
  const ada = await user('ada')
  const devices = [await openDevice(t, origin, ada, { deviceId: 'unknown' }), await openDevice(t, origin, ada)]
  await ada.call('POST', '/api/v1/bookmarks', { body: { id: 'x', ...content } })
  for (const device of devices) t.match(await device.nextSync(), { event: { entity_id: 'x', device_id: 'unknown' } })
})

t.test('It is the device of the change that counts, not the one that pushed it', async (t) => {
  const { user, listen } = await sharedApp()
  const origin = await listen()
  const ada = await user('ada')
  const [a, b] = [await openDevice(t, origin, ada, { deviceId: 'device-a' }), await openDevice(t, origin, ada)]
  const changes = [change({ entity_id: 'x', device_id: 'device-b' })]
  await ada.call('POST', '/api/v1/sync/push', { body: { changes }, ...fromA })
  t.match(await a.nextSync(), { event: { entity_id: 'x', device_id: 'device-b' } })
  await ada.call('POST', '/api/v1/bookmarks', { body: { id: 'last', ...content } })
  t.same(await b.takeEntities('last'), ['last'])
})

t.test('A push that changes nothing is not broadcast', async (t) => {
  const { user, listen } = await sharedApp()
  const origin = await listen()
  const ada = await user('ada')
  const [first, older] = [change({ entity_id: 'x', timestamp: 2000 }), change({ entity_id: 'x', timestamp: 1000 })]
  await ada.call('POST', '/api/v1/sync/push', { body: { changes: [first] }, ...fromA })
  const reader = await openDevice(t, origin, ada)
  await ada.call('POST', '/api/v1/sync/push', { body: { changes: [first] }, ...fromA })
  await ada.call('POST', '/api/v1/sync/push', { body: { changes: [older] }, ...fromA })
  await ada.call('POST', '/api/v1/bookmarks', { body: { id: 'last', ...content } })
  t.same(await reader.takeEntities('last'), ['last'])
})

t.test('A change that wins a conflict says so', async (t) => {
  const { user, listen } = await sharedApp()
  const origin = await listen()
  const ada = await user('ada')
  const reader = await openDevice(t, origin, ada)
  await ada.call('POST', '/api/v1/sync/push', {
    body: { changes: [change({ entity_id: 'x', timestamp: 1000, device_id: 'device-c' })] },
  })
  await reader.nextSync()
  await ada.call('POST', '/api/v1/sync/push', {
    body: { changes: [change({ entity_id: 'x', timestamp: 2000, base: 0 })] },
  })
  t.match(await reader.nextSync(), { event: { conflict_resolved: true, resolution_strategy: 'last_write_wins' } })
})
