import t from 'tap'
import { listNewestChanges } from '../../src/service/db/tables/changes.ts'
import { buildApp, type TestUser } from '../support/app.ts'
import { change, push, pushMany } from '../support/changes.ts'
import { sharedApp } from '../support/shared-app.ts'

const limit = 1000
const { context, user, setClock } = await buildApp(t)
/** The time at which the first of the test's devices was last seen. */
const seen = Date.now() - 3_600_000
const as = (deviceId: string) => ({ headers: { 'x-device-id': deviceId } })

/** Requests that make a device known. */
const requests: [what: string, send: (user: TestUser, deviceId: string) => ReturnType<TestUser['call']>][] = [
  ['pull', (user, id) => user.call('POST', '/api/v1/sync/pull', as(id))],
  ['push', (user, id) => pushBy(user, id)],
  ['import', (user, id) => user.call('POST', '/api/v1/sync/import', { body: { bookmarks: [] }, ...as(id) })],
]

const pushBy = (user: TestUser, device_id: string) => push(user, change({ entity_id: device_id, device_id }))

async function addDevices({ userId }: TestUser, count: number, seenAt: (index: number) => number) {
  const devices = Array.from({ length: count }, (_, index) => ({
    user_id: userId,
    device_id: `d${index}`,
    cursor: 2_000_000_000_000,
    last_sync: seenAt(index),
  }))
  for (let done = 0; done < count; done += 100) {
    await context.database.db
      .insertInto('devices')
      .values(devices.slice(done, done + 100))
      .execute()
  }
}

async function known({ userId }: TestUser): Promise<Set<string>> {
  const devices = context.database.db.selectFrom('devices').select('device_id').where('user_id', '=', userId)
  const rows = await devices.execute()
  return new Set(rows.map(({ device_id }) => device_id))
}

t.test('A new device beyond the limit is kept, even if the clock was set back', async (t) => {
  setClock(1_800_000_000_000)
  t.teardown(() => setClock(undefined))
  const ada = await user('ada back')
  await addDevices(ada, limit + 5, (index) => 1_900_000_000_000 + index)
  await ada.call('POST', '/api/v1/sync/pull', as('d7'))
  t.equal((await known(ada)).size, limit + 5, 'a request of a known device removes no other')
  await ada.call('POST', '/api/v1/sync/pull', as('new'))
  const left = await known(ada)
  t.equal(left.size, limit, 'a new device removes all beyond the limit')
  t.same(
    ['new', 'd7', 'd4', 'd5'].map((id) => left.has(id)),
    [true, false, false, true],
  )
})

t.test('The limit of devices holds when 16 new ones appear at once', async (t) => {
  const [ada, bob] = [await user('ada at once'), await user('bob')]
  await pushBy(bob, 'of another user')
  await addDevices(ada, limit - 4, (index) => seen + index)
  for (const [round, [what, send]] of requests.entries()) {
    const answers = await Promise.all(Array.from({ length: 16 }, (_, index) => send(ada, `${what}-${index}`)))
    t.same(new Set(answers.map(({ status }) => status)), new Set([200]))
    const left = await known(ada)
    t.equal(left.size, limit, what)
    t.equal([...left].filter((id) => id.startsWith(what)).length, 16)
    const gone = 16 * (round + 1) - 4
    t.same([left.has(`d${gone - 1}`), left.has(`d${gone}`)], [false, true], 'the devices seen longest ago are removed')
  }
  t.equal((await known(bob)).size, 1, "another user's stay")
})

const path = '/api/v1/account/devices'

t.test('A user can list the devices that have synced, with their pending changes, and remove one', async (t) => {
  const app = await sharedApp()
  const [ada, bob] = [await app.user('ada'), await app.user('bob')]
  const as = (id: string) => ({ headers: { 'x-device-id': id } })
  const pushAs = (device_id: string, ...ids: string[]) => {
    const changes = ids.map((entity_id) => change({ entity_id, device_id }))
    return ada.call('POST', '/api/v1/sync/push', { ...as(device_id), body: { changes } })
  }
  const list = async (query = '') => (await ada.call('GET', path + query, as('phone'))).body
  t.same(await list(), { devices: [], next: null })

  const before = Date.now()
  await pushAs('phone', 'a', 'b')
  await ada.call('POST', '/api/v1/sync/pull', as('laptop'))
  await pushAs('laptop', 'c')
  await pushAs('phone', 'd')
  const { devices } = await list()
  t.same(
    devices.map(({ last_seen, ...device }: { last_seen: number }) => ({ ...device, isNow: last_seen >= before })),
    [
      { id: 'laptop', pending_changes: 1, current: false, encrypted_name: null, isNow: true },
      { id: 'phone', pending_changes: 1, current: true, encrypted_name: null, isNow: true },
    ],
  )
  for (const id of ['laptop', 'phone']) {
    const { pending_changes } = (await ada.call('GET', '/api/v1/sync/status', as(id))).body
    t.equal(pending_changes, 1, 'the status agrees')
  }
  const first = await list('?limit=1')
  t.same([first.devices[0].id, first.next], ['laptop', 'laptop'])
  const second = await list(`?limit=1&after=${first.next}`)
  t.same([second.devices[0].id, second.next], ['phone', null])

  const rename = (who: TestUser, encrypted_name: string | null) =>
    who.call('PUT', `${path}/laptop`, { body: { encrypted_name } })
  const names = async () => (await list()).devices.map((device: { encrypted_name: unknown }) => device.encrypted_name)
  t.equal((await rename(ada, 'AbCd')).status, 200)
  await pushAs('laptop', 'c')
  const refused = await rename(bob, 'EfGh')
  t.same([refused.status, refused.body], [404, { error: 'Device not found' }])
  t.equal((await rename(ada, 'A'.repeat(1204))).status, 400)
  t.same(await names(), ['AbCd', null], 'a sync keeps the name, and other users cannot change it')
  t.equal((await rename(ada, null)).status, 200)
  t.same(await names(), [null, null])
  await rename(ada, 'AbCd')

  const foreign = await bob.call('DELETE', `${path}/laptop`)
  t.same([foreign.status, foreign.body], [404, { error: 'Device not found' }])
  t.equal((await ada.call('DELETE', `${path}/laptop`)).status, 200)
  t.equal((await ada.call('DELETE', `${path}/laptop`)).status, 404)
  t.same((await list()).devices.length, 1)
  const again = await ada.call('GET', '/api/v1/sync/status', as('laptop'))
  t.same([again.body.last_sync, again.body.pending_changes], [0, 3], 'a forgotten device starts over')
  t.equal((await ada.call('GET', '/api/v1/bookmarks')).body.meta.total, 4, 'bookmarks made by the removed device stay')

  const content = { encrypted_data: 'data', data_hash: 'hash' }
  await ada.call('POST', '/api/v1/bookmarks', { body: { id: 'e', ...content } })
  await ada.call('POST', '/api/v1/sync/import', { body: { bookmarks: [{ id: 'f', ...content }] } })
  await ada.call('POST', '/api/v1/sync/pull')
  t.equal((await list()).devices.length, 1, 'requests without a device id make no device known')
})

t.test('The list of the newest changes ends at the number that is asked for', async (t) => {
  const ada = await user('ada of many')
  await pushMany(
    ada,
    Array.from({ length: 501 }, (_, index) => change({ entity_id: `x${index}` })),
  )
  t.equal((await listNewestChanges(context.database.db, ada.userId, 0, 500)).length, 500)
})
