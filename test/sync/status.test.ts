import fc from 'fast-check'
import t from 'tap'
import type { Schemas } from '../../src/service/contract/schemas.ts'
import { buildApp, type TestUser } from '../support/app.ts'
import { change, pullAll } from '../support/changes.ts'
import { depth } from '../support/depth.ts'
import { digestOf } from '../support/digest.ts'
import { sharedApp } from '../support/shared-app.ts'

const dayMs = 86_400_000
const content = { encrypted_data: 'data', data_hash: 'hash' }

const as = (device?: string) => ({ headers: device === undefined ? {} : { 'x-device-id': device } })
const statusOf = async (user: TestUser, device?: string): Promise<Schemas['SyncStatus']> =>
  (await user.call('GET', '/api/v1/sync/status', as(device))).body
const pull = async (user: TestUser, device?: string, body: object = {}): Promise<Schemas['PullResponse']> =>
  (await user.call('POST', '/api/v1/sync/pull', { body, ...as(device) })).body
const push = async (user: TestUser, fields: Parameters<typeof change>[0], device?: string) =>
  (await user.call('POST', '/api/v1/sync/push', { body: { changes: [change(fields)] }, ...as(device) })).body

t.test('A new user', async (t) => {
  const { user } = await sharedApp()
  const ada = await user('ada')
  const expected = { user_id: ada.userId, last_sync: 0, pending_changes: 0, conflict_count: 0, total_bookmarks: 0 }
  const { epoch, ...known } = await statusOf(ada)
  t.same(known, { ...expected, digest: '0'.repeat(32) })
  t.same(await statusOf(ada, 'a'), { ...known, epoch }, 'a device that never synced')
})

t.test('last_sync: the last pull or push of the device, or of any device if none is named', async (t) => {
  const { user, setClock } = await buildApp(t)
  const start = Date.now()
  setClock(start)
  const ada = await user('ada')
  const at = async (device?: string) => (await statusOf(ada, device)).last_sync - start
  await pull(ada, 'a')
  t.same([await at('a'), await at('b'), await at()], [0, -start, 0], 'a pull')
  setClock(start + 1000)
  await push(ada, { entity_id: 'x' }, 'b')
  t.same([await at('a'), await at('b'), await at()], [0, 1000, 1000], 'a push')
  setClock(start + 2000)
  await push(ada, { entity_id: 'y', device_id: 'c' })
  t.same(
    [await at('b'), await at('c'), await at()],
    [1000, 2000, 2000],
    'a push without the header: the device that made the change',
  )
  setClock(start + 3000)
  await ada.call('POST', '/api/v1/sync/import', { body: { bookmarks: [] }, ...as('d') })
  t.equal(await at('d'), 3000, 'an import')
  setClock(start + 4000)
  await pull(ada)
  await pull(ada, 'unknown')
  t.same([await at(), await at('unknown')], [3000, -start], 'unknown is not a device')
})

t.test('A pull writes only when the cursor moved or last_sync is over 60 s old', async (t) => {
  const { user, setClock } = await buildApp(t)
  const start = Date.now()
  setClock(start)
  const ada = await user('ada')
  const lastSync = async () => (await statusOf(ada, 'a')).last_sync - start
  await pull(ada, 'a')
  setClock(start + 59_000)
  await pull(ada, 'a')
  t.equal(await lastSync(), 0)
  setClock(start + 60_000)
  await pull(ada, 'a')
  t.equal(await lastSync(), 60_000)
  setClock(start + 61_000)
  await push(ada, { entity_id: 'x' })
  await pull(ada, 'a')
  t.equal(await lastSync(), 61_000)
})

t.test('pending_changes: changes of other devices beyond the cursor', async (t) => {
  const { user } = await sharedApp()
  const [ada, bob] = [await user('ada'), await user('bob')]
  const pending = async (device?: string) => (await statusOf(ada, device)).pending_changes
  for (const [entity_id, device_id] of [
    ['x', 'a'],
    ['y', 'a'],
    ['z', 'b'],
  ] as const) {
    await push(ada, { entity_id, device_id }, device_id)
  }
  await push(bob, { entity_id: 'bob', device_id: 'b' }, 'b')
  t.same([await pending('a'), await pending('b'), await pending('c')], [1, 2, 3], "not the device's own")
  t.equal(await pending(), 3, 'without a device: what no device has pulled')
  const { last_sync_timestamp } = await pull(ada, 'c', { limit: 1 })
  t.same([await pending('c'), await pending()], [2, 2], 'a pull moves the cursor to where it ended')
  await pull(ada, 'c', { since: last_sync_timestamp })
  t.same([await pending('c'), await pending('a'), await pending()], [0, 1, 0])
  await push(ada, { entity_id: 'x', operation: 'delete', device_id: 'b', timestamp: Date.now() + 1 }, 'b')
  t.same([await pending('c'), await pending('b')], [1, 1], 'a push moves no cursor')
  await ada.call('PUT', '/api/v1/bookmarks/y', { body: content })
  t.same([await pending('c'), await pending('a')], [2, 3], 'a REST write by unknown is pending for all')
  t.equal((await pull(ada, 'c', { since: 0 })).changes.length, 3)
  t.equal(await pending('c'), 0)
})

t.test('pending_changes is counted up to 10,000', async (t) => {
  const { user } = await sharedApp()
  const ada = await user('ada')
  for (const count of [9_999, 1, 1]) {
    const changes = Array.from({ length: count }, () => change({ entity_id: crypto.randomUUID() }))
    await ada.call('POST', '/api/v1/sync/push', { body: { changes } })
    const { pending_changes, total_bookmarks } = await statusOf(ada, 'other')
    t.equal(pending_changes, Math.min(10_000, total_bookmarks), `${total_bookmarks} changes`)
  }
})

const hex = (digit: string) => digit.repeat(64)
const digest = async (user: TestUser) => (await statusOf(user)).digest

t.test('digest: the sum over the hashes of what is live, of any type, however it was written', async (t) => {
  const { user } = await sharedApp()
  const ada = await user('ada')
  await push(ada, { entity_id: 'a', data_hash: hex('f') })
  t.equal(await digest(ada), 'f'.repeat(32))
  await push(ada, { entity_id: 'b', data_hash: 'E'.repeat(32) })
  t.equal(await digest(ada), `${'e'.repeat(31)}d`, 'modulo 2^128')
  await push(ada, { entity_id: 'b', operation: 'delete', timestamp: Date.now() + 1 })
  await push(ada, { entity_id: 'group', entity_type: 'group', data_hash: hex('1') })
  const bookmarks = [{ id: 'imported', encrypted_data: 'data', data_hash: 'no digits' }]
  await ada.call('POST', '/api/v1/sync/import', { body: { bookmarks } })
  const sum = [hex('f'), hex('1'), 'no digits'].map((data_hash) => ({ data_hash }))
  t.equal(await digest(ada), digestOf(sum))
  const edited = { encrypted_data: 'data', data_hash: hex('3').slice(0, 31) }
  await ada.call('PUT', '/api/v1/bookmarks/a', { body: edited })
  await ada.call('POST', '/api/v1/bookmarks/b/restore', { body: {} })
  t.equal(await digest(ada), digestOf([edited, ...sum.slice(1), { data_hash: 'E'.repeat(32) }]))
})

t.test('digest: what an instance that knows none has written is in it, and null while others write', async (t) => {
  const { user, context } = await buildApp(t)
  const ada = await user('ada')
  const hashes = async () => (await pullAll(ada)).changes.filter(({ operation }) => operation !== 'delete')
  const changes = Array.from({ length: depth(1_100, 20_000) }, (_, index) => change({ entity_id: `x${index}` }))
  await ada.call('POST', '/api/v1/sync/push', { body: { changes } })
  const { db } = context.database
  const writeWithoutIt = async () => {
    const last_stamp = Date.now() + 100_000
    await db
      .updateTable('records')
      .set({ stamp: last_stamp, data_hash: hex('a') })
      .where('entity_id', '=', 'x7')
      .execute()
    await db.updateTable('users').set({ last_stamp }).where('id', '=', ada.userId).execute()
  }
  await writeWithoutIt()
  t.equal(await digest(ada), digestOf(await hashes()), 'computed anew')
  await push(ada, { entity_id: 'x8', operation: 'delete' })
  t.equal(await digest(ada), digestOf(await hashes()), 'and kept again')

  await writeWithoutIt()
  await push(ada, { entity_id: 'x9', operation: 'delete' })
  const before = digestOf(await hashes())
  const [one, , other] = await Promise.all([digest(ada), push(ada, { entity_id: 'later', timestamp: 1 }), digest(ada)])
  const right = digestOf(await hashes())
  t.same(
    [one, other].filter((told) => ![null, before, right].includes(told)),
    [],
  )
  t.equal(await digest(ada), right)
})

t.test('conflict_count: versions that lost to one that had not seen them, until the conflict is settled', async (t) => {
  const { user } = await sharedApp()
  const ada = await user('ada')
  const conflicts = async () => (await statusOf(ada)).conflict_count
  const lose = async (entity_id: string, device_id: string) => {
    const { conflicts } = await push(ada, { entity_id, device_id, timestamp: 1000, operation: 'update' }, device_id)
    t.equal(conflicts.length, 1, `${device_id} loses ${entity_id}`)
  }
  for (const entity_id of ['x', 'y', 'z'])
    await push(ada, { entity_id, timestamp: 5000, device_id: 'winner' }, 'winner')
  t.equal(await conflicts(), 0)
  await lose('x', 'a')
  await lose('y', 'a')
  t.equal(await conflicts(), 2)
  await lose('x', 'b')
  t.equal(await conflicts(), 3, 'each version counts')

  await pull(ada, 'c')
  await push(ada, { entity_id: 'y', timestamp: 6000, device_id: 'c', operation: 'update' }, 'c')
  t.equal(await conflicts(), 3, 'a later change by one that does not know of it settles nothing')
  await push(ada, { entity_id: 'y', timestamp: 7000, device_id: 'd', operation: 'update' }, 'd')
  t.equal(await conflicts(), 4, 'one that overwrites a version unseen is another conflict')
  for (const device of ['a', 'b', 'c']) await pull(ada, device)
  t.equal(await conflicts(), 4, 'not settled by a pull of the device that lost: its store may have been emptied')

  await lose('z', 'a')
  await ada.call('PUT', '/api/v1/bookmarks/z', { body: content })
  t.equal(await conflicts(), 5, 'nor by a REST write')
  await lose('z', 'e')
  t.equal(await conflicts(), 6)
  const { version_id } = (await ada.call('GET', '/api/v1/sync/conflicts')).body.conflicts[0]
  for (const status of [200, 404]) {
    t.equal(
      (await ada.call('DELETE', `/api/v1/sync/conflicts/${version_id}`)).status,
      status,
      'settled by anybody, once',
    )
  }
  t.equal(await conflicts(), 5)
})

t.test('A loser and its winner in one push', async (t) => {
  const { user } = await sharedApp()
  const ada = await user('ada')
  const changes = [
    change({ entity_id: 'x', timestamp: 1000, device_id: 'a' }),
    change({ entity_id: 'x', timestamp: 2000, device_id: 'b' }),
  ]
  const { body } = await ada.call('POST', '/api/v1/sync/push', { body: { changes }, ...as('relay') })
  t.equal(body.conflicts.length, 1)
  t.equal((await statusOf(ada)).conflict_count, 1)
})

t.test('Rejections for the user_id or the clock are not conflicts', async (t) => {
  const { user } = await sharedApp()
  const [ada, bob] = [await user('ada'), await user('bob')]
  t.equal((await push(ada, { entity_id: 'x', user_id: bob.userId })).conflicts.length, 1)
  t.equal((await push(ada, { entity_id: 'x', timestamp: Date.now() + 2 * dayMs })).conflicts.length, 1)
  t.equal((await statusOf(ada)).conflict_count, 0)
})

const id = fc.constantFrom('a', 'b', 'c', 'd')
const event = fc.record({
  entity_id: id,
  entity_type: fc.constantFrom('bookmark' as const, 'group' as const),
  operation: fc.constantFrom('create' as const, 'update' as const, 'delete' as const),
  timestamp: fc.integer({ min: 1, max: 50 }).map((hours) => Date.now() + (hours - 40) * 3_600_000),
  device_id: fc.constantFrom('d1', 'd2'),
})
const step = fc.oneof(
  fc.record({ route: fc.constant('POST' as const), id }),
  fc.record({ route: fc.constant('PUT' as const), id }),
  fc.record({ route: fc.constant('DELETE' as const), id }),
  fc.record({ route: fc.constant('push' as const), events: fc.array(event, { maxLength: 5 }) }),
  fc.record({ route: fc.constant('import' as const), ids: fc.array(id, { maxLength: 5 }) }),
)

async function take(user: TestUser, write: typeof step extends fc.Arbitrary<infer Step> ? Step : never): Promise<void> {
  const { route } = write
  if (route === 'POST') await user.call(route, '/api/v1/bookmarks', { body: { id: write.id, ...content } })
  if (route === 'PUT') await user.call(route, `/api/v1/bookmarks/${write.id}`, { body: content })
  if (route === 'DELETE') await user.call(route, `/api/v1/bookmarks/${write.id}`)
  if (route === 'push') {
    await user.call('POST', '/api/v1/sync/push', { body: { changes: write.events.map((fields) => change(fields)) } })
  }
  if (route === 'import') {
    const bookmarks = write.ids.map((id) => ({ id, ...content }))
    await user.call('POST', '/api/v1/sync/import', { body: { bookmarks } })
  }
}

t.test('total_bookmarks is the number of live bookmarks, whatever was written, and by whichever route', async (t) => {
  const { user } = await sharedApp()
  let run = 0
  let counts = 0
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
      run += 1
      const person = await user(`person-${run}`)
      for (const write of steps) {
        await take(person, write)
        const { body } = await person.call('GET', '/api/v1/bookmarks')
        const { total_bookmarks } = await statusOf(person)
        if (total_bookmarks !== body.data.length || body.meta.total !== body.data.length) return false
        counts += total_bookmarks
      }
      return true
    }),
    { numRuns: depth(10, 80) },
  )
  t.ok(counts > run, `${run} scripts`)
})
