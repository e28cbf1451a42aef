import t, { type Test } from 'tap'
import { createClient } from '../../../src/client/api.ts'
import { deriveKeys } from '../../../src/client/keys.ts'
import { memoryStore } from '../../../src/client/sync/store/memory.ts'
import { createSync } from '../../../src/client/sync.ts'
import { type FakeConnection, type FakeService, fakeService } from '../../../src/client/testing/fake-service.ts'
import { unwrap } from '../../../src/client/unwrap.ts'
import { createVault, hasVault, openVault } from '../../../src/client/vault.ts'
import { until } from '../../support/until.ts'
import { bookmark } from '../sync/device.ts'

let devices = 0

const keys = () => deriveKeys(new Uint8Array(32).fill(7))

t.test('Two devices of a user are in sync live; another user sees nothing', async (t) => {
  const service = fakeService()
  const [laptop, phone, other] = [open(t, service, 'ann'), open(t, service, 'ann'), open(t, service, 'ben')]
  await laptop.sync.put(bookmark('x', 'before the start'))
  await Promise.all([laptop, phone, other].map(({ sync }) => sync.start()))
  await until(() => [laptop, phone, other].every(({ sync }) => sync.status().state === 'online'))
  await until(() => phone.sync.get('x') !== undefined)
  await phone.sync.put([bookmark('x', 'changed'), bookmark('y', 'new')])
  await until(() => laptop.sync.get('x')?.title === 'changed' && laptop.sync.get('y') !== undefined)
  await laptop.sync.remove('y')
  await until(() => phone.sync.get('y') === undefined)
  await other.sync.syncNow()
  t.equal(other.sync.bookmarks().size, 0)
})

t.test('Offline edits of one bookmark on two devices: both end equal, and one is told', async (t) => {
  const service = fakeService()
  const [laptop, phone] = [open(t, service, 'ann'), open(t, service, 'ann')]
  await laptop.sync.put(bookmark('x', 'as it was'))
  await laptop.sync.syncNow()
  await phone.sync.syncNow()
  const told: unknown[] = []
  for (const { sync } of [laptop, phone]) sync.on('conflict', ({ id }) => told.push(id))
  for (const { connection } of [laptop, phone]) connection.goOffline()
  await laptop.sync.put({ ...bookmark('x', 'on the laptop') })
  await phone.sync.put({ ...bookmark('x', 'on the phone') })
  await t.rejects(laptop.sync.syncNow(), { name: 'OfflineError' })
  for (const { connection } of [laptop, phone]) connection.goOnline()
  for (const { sync } of [laptop, phone, laptop, phone]) await sync.syncNow()
  t.same(told, ['x'])
  t.equal(laptop.sync.get('x')?.title, phone.sync.get('x')?.title)
})

t.test('The network fails and comes back, the session ends: the states that an app shows', async (t) => {
  const { sync, connection } = open(t, fakeService(), 'ann')
  await sync.start()
  await until(() => sync.status().state === 'online')
  connection.goOffline()
  await until(() => sync.status().state === 'offline')
  connection.goOnline()
  await until(() => sync.status().state === 'online')
  connection.endSession()
  await until(() => sync.status().state === 'signed-out')
  connection.signIn()
  await sync.start()
  await until(() => sync.status().state === 'online')
})

t.test('The vault is created once, and opened on another device', async (t) => {
  const service = fakeService()
  const [one, another] = [client(service, service.connect('ann')), client(service, service.connect('ann'))]
  const owner = { userId: 'ann', passphrase: 'correct horse' }
  t.equal(await hasVault(one), false)
  const draft = await createVault(one, owner)
  const { masterKey } = await draft.confirm()
  t.equal(await hasVault(another), true)
  t.same((await openVault(another, owner)).masterKey, masterKey)
  await t.rejects(createVault(another, owner), { name: 'VaultExistsError' })
})

t.test('Signing out ends the session of that device alone', async (t) => {
  const service = fakeService()
  const [laptop, phone] = [open(t, service, 'ann'), open(t, service, 'ann')]
  await laptop.sync.signOut()
  t.equal((await laptop.client.GET('/api/v1/auth/session')).response.status, 401)
  t.equal(unwrap(await phone.client.GET('/api/v1/auth/session')).user.user_id, 'ann')
})

t.test('What the fake service lacks says so', async (t) => {
  const service = fakeService()
  const { error, response } = await client(service, service.connect('ann')).GET('/api/v1/exports')
  t.equal(response.status, 501)
  t.same(error, { error: 'The fake service has no GET /api/v1/exports' })
})

function client({ baseUrl }: FakeService, { fetch }: FakeConnection, deviceId = `device-${++devices}`) {
  return createClient({ baseUrl, deviceId, fetch })
}

/** A device as an app opens it. */
function open(t: Test, service: FakeService, userId: string) {
  const deviceId = `device-${++devices}`
  const connection = service.connect(userId)
  const made = client(service, connection, deviceId)
  const { webSocket } = connection
  const sync = createSync({
    client: made,
    webSocket,
    keys: keys(),
    userId,
    deviceId,
    store: memoryStore(),
    random: () => 0,
  })
  t.teardown(() => sync.stop())
  return { sync, connection, client: made }
}
