import t from 'tap'
import type { Schemas } from '../../src/service/contract/schemas.ts'
import { buildApp, type TestUser } from '../support/app.ts'
import { change, pushMany } from '../support/changes.ts'
import { digestOf } from '../support/digest.ts'
import { sharedUser } from '../support/shared-app.ts'

const content = { encrypted_data: 'data', data_hash: 'hash' }

const as = (device?: string) => ({ headers: device === undefined ? {} : { 'x-device-id': device } })
const statusOf = async (user: TestUser, device?: string): Promise<Schemas['SyncStatus']> =>
  (await user.call('GET', '/api/v1/sync/status', as(device))).body
const pull = async (user: TestUser, device?: string, body: object = {}): Promise<Schemas['PullResponse']> =>
  (await user.call('POST', '/api/v1/sync/pull', { body, ...as(device) })).body
const pushBy = async (user: TestUser, fields: Parameters<typeof change>[0], device?: string) =>
  (await user.call('POST', '/api/v1/sync/push', { body: { changes: [change(fields)] }, ...as(device) })).body

t.test('The status of a new user is empty', async (t) => {
  const ada = await sharedUser()
  const expected = { user_id: ada.userId, last_sync: 0, pending_changes: 0, conflict_count: 0, total_bookmarks: 0 }
  const { epoch, ...known } = await statusOf(ada)
  t.same(known, { ...expected, digest: '0'.repeat(32) })
  t.same(await statusOf(ada, 'a'), { ...known, epoch }, 'a device that never synced')
})

t.test('last_sync is the last pull or push of the device, or of any device if none is named', async (t) => {
  const { user, setClock } = await buildApp(t)
  const start = Date.now()
  setClock(start)
  const ada = await user('ada')
  const at = async (device?: string) => (await statusOf(ada, device)).last_sync - start
  await pull(ada, 'a')
  t.same([await at('a'), await at('b'), await at()], [0, -start, 0], 'a pull')
  setClock(start + 1000)
  await pushBy(ada, { entity_id: 'x' }, 'b')
  t.same([await at('a'), await at('b'), await at()], [0, 1000, 1000], 'a push')
  setClock(start + 2000)
  await pushBy(ada, { entity_id: 'y', device_id: 'c' })
  t.same(
    [await at('b'), await at('c'), await at()],
    [1000, 2000, 2000],
    'a push without the header counts for the device that made the change',
  )
  setClock(start + 3000)
  await ada.call('POST', '/api/v1/sync/import', { body: { bookmarks: [] }, ...as('d') })
  t.equal(await at('d'), 3000, 'an import')
  setClock(start + 4000)
  await pull(ada)
  await pull(ada, 'unknown')
  t.same([await at(), await at('unknown')], [3000, -start], '`unknown` is not a device')
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
  await pushBy(ada, { entity_id: 'x' })
  await pull(ada, 'a')
  t.equal(await lastSync(), 61_000)
})

t.test('pending_changes counts changes of other devices after the cursor', async (t) => {
  const [ada, bob] = [await sharedUser(), await sharedUser()]
  const pending = async (device?: string) => (await statusOf(ada, device)).pending_changes
  for (const [entity_id, device_id] of [
    ['x', 'a'],
    ['y', 'a'],
    ['z', 'b'],
  ] as const) {
    await pushBy(ada, { entity_id, device_id }, device_id)
  }
  await pushBy(bob, { entity_id: 'bob', device_id: 'b' }, 'b')
  t.same([await pending('a'), await pending('b'), await pending('c')], [1, 2, 3], 'own changes do not count')
  t.equal(await pending(), 3, 'without a device, changes that no device has pulled count')
  const { last_sync_timestamp } = await pull(ada, 'c', { limit: 1 })
  t.same([await pending('c'), await pending()], [2, 2], 'a pull moves the cursor to its end')
  await pull(ada, 'c', { since: last_sync_timestamp })
  t.same([await pending('c'), await pending('a'), await pending()], [0, 1, 0])
  await pushBy(ada, { entity_id: 'x', operation: 'delete', device_id: 'b', timestamp: Date.now() + 1 }, 'b')
  t.same([await pending('c'), await pending('b')], [1, 1], 'a push does not move cursors')
  await ada.call('PUT', '/api/v1/bookmarks/y', { body: content })
  t.same([await pending('c'), await pending('a')], [2, 3], 'a REST write without a device id is pending for all')
  t.equal((await pull(ada, 'c', { since: 0 })).changes.length, 3)
  t.equal(await pending('c'), 0)
})

t.test('pending_changes is counted up to 10,000', async (t) => {
  const ada = await sharedUser()
  for (const count of [9_999, 1, 1]) {
    const changes = Array.from({ length: count }, () => change({ entity_id: crypto.randomUUID() }))
    await pushMany(ada, changes)
    const { pending_changes, total_bookmarks } = await statusOf(ada, 'other')
    t.equal(pending_changes, Math.min(10_000, total_bookmarks), `${total_bookmarks} changes`)
  }
})

const hex = (digit: string) => digit.repeat(64)
const digest = async (user: TestUser) => (await statusOf(user)).digest

t.test('The digest is the sum of the hashes of all live records, however they were written', async (t) => {
  const ada = await sharedUser()
  await pushBy(ada, { entity_id: 'a', data_hash: hex('f') })
  t.equal(await digest(ada), 'f'.repeat(32))
  await pushBy(ada, { entity_id: 'b', data_hash: 'E'.repeat(32) })
  t.equal(await digest(ada), `${'e'.repeat(31)}d`, 'modulo 2^128')
  await pushBy(ada, { entity_id: 'b', operation: 'delete', timestamp: Date.now() + 1 })
  await pushBy(ada, { entity_id: 'group', entity_type: 'group', data_hash: hex('1') })
  const bookmarks = [{ id: 'imported', encrypted_data: 'data', data_hash: 'no digits' }]
  await ada.call('POST', '/api/v1/sync/import', { body: { bookmarks } })
  const sum = [hex('f'), hex('1'), 'no digits'].map((data_hash) => ({ data_hash }))
  t.equal(await digest(ada), digestOf(sum))
  const edited = { encrypted_data: 'data', data_hash: hex('3').slice(0, 31) }
  await ada.call('PUT', '/api/v1/bookmarks/a', { body: edited })
  await ada.call('POST', '/api/v1/bookmarks/b/restore', { body: {} })
  t.equal(await digest(ada), digestOf([edited, ...sum.slice(1), { data_hash: 'E'.repeat(32) }]))
})
