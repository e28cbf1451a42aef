/** `encrypted-bookmark-sync/testing` is used here like in the tests of an app, together with the client package. */
import { readdirSync } from 'node:fs'
import t, { type Test } from 'tap'
import { openAccount } from '../src/client/account.ts'
import {
  createBackup,
  createClient,
  createSync,
  createVault,
  deriveKeys,
  memoryStore,
  openBackup,
  unwrap,
} from '../src/client/index.ts'
import { startService, type TestConnection } from '../src/service/testing.ts'
import { bookmark } from './client/sync/device.ts'
import { until } from './support/until.ts'

let now = Date.now()
const service = await startService({ now: () => now })
t.teardown(() => service.close())
let devices = 0

t.test('Two devices of a user are in sync live; another user sees nothing', async (t) => {
  const [laptop, phone, other] = [await open(t, 'ann'), await open(t, 'ann'), await open(t, 'ben')]
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

t.test('Two copies of a device, with one device id, are in sync live', async (t) => {
  const copies = [await open(t, 'cleo', 'laptop'), await open(t, 'cleo', 'laptop')] as const
  const [{ sync: one }, { sync: copy }] = copies
  await Promise.all(copies.map(({ sync }) => sync.start()))
  await until(() => copies.every(({ sync }) => sync.status().state === 'online'))
  const pulls = () => copies.flatMap(({ calls }) => calls.filter((path) => path.endsWith('/pull'))).length
  const before = pulls()
  await one.put(bookmark('x', 'by the one'))
  await until(() => copy.get('x') !== undefined)
  await copy.put(bookmark('y', 'by the copy'))
  await until(() => one.get('y') !== undefined)
  t.equal(pulls(), before)
  await Promise.all(copies.map(({ sync }) => sync.syncNow()))
  const { devices } = unwrap(await copies[1].client.GET('/api/v1/account/devices'))
  const listed = devices.map(({ id, current }) => `${id} ${current}`)
  t.same(listed.toSorted(), [`laptop false`, `${copy.deviceId} true`].toSorted(), 'the list of devices has both')
})

t.test('When the network fails and returns, and when the session ends, the sync has the right state', async (t) => {
  const { sync, connection } = await open(t, 'dora')
  await sync.start()
  await until(() => sync.status().state === 'online')
  connection.goOffline()
  await until(() => sync.status().state === 'offline')
  await t.rejects(sync.syncNow(), { name: 'OfflineError' })
  connection.goOnline()
  await until(() => sync.status().state === 'online')
  await connection.endSession()
  await until(() => sync.status().state === 'signed-out')
  await connection.signIn()
  await sync.start()
  await until(() => sync.status().state === 'online')
})

t.test("The test's clock makes a sign-in old, and a session that has expired is refreshed", async (t) => {
  const { client, connection, sync } = await open(t, 'emil')
  const { userId } = connection
  now += 8 * 86_400_000
  t.equal((await client.GET('/api/v1/auth/session')).response.status, 200)
  await t.rejects(openAccount({ client, userId, sync }).deleteAccount(), { name: 'SignInAgainError' })
  const again = await open(t, 'emil')
  await openAccount({ ...again, userId }).deleteAccount()
  t.equal((await client.GET('/api/v1/account')).response.status, 401)
  t.not((await service.connect('emil')).userId, userId, 'the next sign-in makes a new user')
})

t.test('Calls beside the sync work, too, for example exports', async (t) => {
  const { client, connection } = await open(t, 'finn')
  const { userId } = connection
  const { keys } = await (await createVault(client, { userId, passphrase: 'tinsel walrus oboe fjord' })).confirm()
  t.same((await openBackup(await createBackup(client, { userId, keys }), keys)).bookmarks, [])
})

t.test('Each service has its own data, which are deleted when it is closed', async (t) => {
  const { TMPDIR } = process.env
  t.teardown(() => (TMPDIR === undefined ? delete process.env.TMPDIR : Object.assign(process.env, { TMPDIR })))
  const folder = t.testdir({})
  process.env.TMPDIR = folder
  const other = await startService()
  t.match(readdirSync(folder), [/^ebs-testing-/])
  const [mine, theirs] = [await service.connect('ann'), await other.connect('ann')]
  t.not(mine.userId, theirs.userId)
  await other.close()
  t.same(readdirSync(folder), [])
  await t.rejects(theirs.fetch(new Request(theirs.baseUrl)), TypeError)
})

/** Opens a device like an app does. */
async function open(t: Test, name: string, deviceId = `device-${++devices}`) {
  const connection = await service.connect(name)
  const calls: string[] = []
  const fetch: TestConnection['fetch'] = (request) => {
    calls.push(new URL(request.url).pathname)
    return connection.fetch(request)
  }
  const client = createClient({ ...connection, fetch, deviceId })
  const sync = createSync({
    ...connection,
    client,
    keys: deriveKeys(new Uint8Array(32)),
    deviceId,
    store: memoryStore(),
    random: () => 0,
  })
  t.teardown(() => sync.stop())
  return { sync, connection, client, calls }
}
