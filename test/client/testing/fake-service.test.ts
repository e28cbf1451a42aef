import t, { type Test } from 'tap'
import { openAccount } from '../../../src/client/account.ts'
import { createClient } from '../../../src/client/api/client.ts'
import { unwrap } from '../../../src/client/api/unwrap.ts'
import { deriveKeys } from '../../../src/client/crypto/keys.ts'
import { createHistory } from '../../../src/client/history.ts'
import { memoryStore } from '../../../src/client/sync/store/memory.ts'
import { isBlank } from '../../../src/client/sync/store/row.ts'
import type { Store } from '../../../src/client/sync/store/store.ts'
import { createSync } from '../../../src/client/sync/sync.ts'
import { type FakeConnection, type FakeService, fakeService } from '../../../src/client/testing/fake-service.ts'
import { storeCases } from '../../../src/client/testing/store-cases.ts'
import {
  changeVaultPassphrase,
  createVault,
  earlierKeyrings,
  eraseEarlierKeyrings,
  hasVault,
  openVault,
  restoreKeyring,
} from '../../../src/client/vault/vault.ts'
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

t.test('Two copies of a device, with one device id, are in sync live', async (t) => {
  const service = fakeService()
  const copies = [open(t, service, 'ann', 'laptop'), open(t, service, 'ann', 'laptop')] as const
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
  t.same(listed, [`laptop false`, `${copy.deviceId} true`], 'the person sees both')
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

t.test(
  'Junk under the event id and hash of what was there is rewound, and the first of a name is restored',
  async (t) => {
    let now = Date.now()
    const { sync, client } = open(t, fakeService({ now: () => now }), 'ann')
    const history = createHistory({ client, keys: keys(), userId: 'ann', sync })
    await sync.put(bookmark('x', 'good'))
    await sync.syncNow()
    const [good] = unwrap(await client.POST('/api/v1/sync/pull')).changes
    const { id = '', data_hash = '' } = good ?? {}
    now += 60_000
    for (const [index, name] of [id, `${id}~001`].entries()) {
      const content = { operation: 'update', device_id: 'thief', encrypted_data: 'SlVOSw==', data_hash } as const
      const timestamp = now + index
      const junk = { id: name, entity_type: 'bookmark', entity_id: 'x', timestamp, ...content } as const
      unwrap(await client.POST('/api/v1/sync/push', { body: { changes: [junk] } }))
    }
    t.same(
      (await history.history('x')).map(({ bookmark }) => bookmark?.title),
      [undefined, 'good'],
    )
    await history.restoreVersion('x')
    const current = async () => unwrap(await client.GET('/api/v1/bookmarks/{id}', { params: { path: { id: 'x' } } }))
    t.equal((await current()).encrypted_data, 'SlVOSw==', 'what was before it')
    await history.restoreVersion('x', id)
    t.equal((await current()).encrypted_data, good?.encrypted_data)
    const counts = { restored: 0, deleted: 0, unchanged: 1, beyondRetention: 0 }
    t.same(await history.rewind({ to: now - 30_000, dryRun: true }), counts, 'it has the ciphertext of then')
    await history.restoreVersion('x')
    t.same(await history.rewind({ to: now - 30_000, dryRun: false }), { ...counts, restored: 1, unchanged: 0 })
    t.equal((await current()).encrypted_data, good?.encrypted_data)
  },
)

t.test('A lost device is signed out; a deleted account begins anew', async (t) => {
  const start = Date.now()
  let now = start
  const service = fakeService({ now: () => now })
  const [laptop, phone] = [open(t, service, 'ann'), open(t, service, 'ann')]
  const account = openAccount({ client: phone.client, userId: 'ann', sync: phone.sync })
  await laptop.sync.put(bookmark('x', 'x'))
  await laptop.sync.start()
  await until(() => laptop.sync.status().state === 'online')
  const [lost] = (await account.sessions()).filter(({ current }) => !current)
  t.equal(lost?.sockets, 1)
  await account.endSession(lost?.id ?? '')
  await until(() => laptop.sync.status().state === 'signed-out')
  now += 11 * 60_000
  await t.rejects(account.deleteAccount(), { name: 'SignInAgainError' })

  const again = open(t, service, 'ann')
  await again.sync.syncNow()
  await openAccount({ client: again.client, userId: 'ann', sync: again.sync }).deleteAccount()
  t.same([again.sync.bookmarks().size, again.sync.status().state], [0, 'signed-out'])
  t.equal((await phone.client.GET('/api/v1/account')).response.status, 401)
  phone.connection.signIn()
  t.equal(unwrap(await phone.client.GET('/api/v1/account')).usage.records, 0)
})

t.test('What cannot be undone takes a young sign-in; a keyring that was replaced comes back', async (t) => {
  let now = Date.now()
  const service = fakeService({ now: () => now })
  const { client, connection } = open(t, service, 'ann')
  const owner = { userId: 'ann', passphrase: 'correct horse' }
  await (await createVault(client, owner)).confirm()
  await changeVaultPassphrase(client, owner, 'battery staple')
  const [earlier] = await earlierKeyrings(client)
  t.match(earlier, { revision: 1 })
  const current = { ...owner, passphrase: 'battery staple' }
  now += 11 * 60_000
  await t.rejects(changeVaultPassphrase(client, current, 'another passphrase'), { name: 'SignInAgainError' })
  await t.rejects(restoreKeyring(client, earlier?.id ?? ''), { name: 'SignInAgainError' })
  t.match(await client.DELETE('/api/v1/account/sessions'), { error: { error: 'Sign in again' } })
  await openVault(client, current)
  connection.signIn()
  await restoreKeyring(client, earlier?.id ?? '')
  await openVault(client, owner)
  t.match(await earlierKeyrings(client), [{ revision: 2 }])
  await eraseEarlierKeyrings(client)
  t.same(await earlierKeyrings(client), [])
})

t.test('What the fake service lacks says so', async (t) => {
  const service = fakeService()
  const { error, response } = await client(service, service.connect('ann')).GET('/api/v1/exports')
  t.equal(response.status, 501)
  t.same(error, { error: 'The fake service has no GET /api/v1/exports' })
})

function client({ baseUrl }: FakeService, { fetch }: Pick<FakeConnection, 'fetch'>, deviceId = `device-${++devices}`) {
  return createClient({ baseUrl, deviceId, fetch })
}

/** A device as an app opens it. */
function open(t: Test, service: FakeService, userId: string, deviceId = `device-${++devices}`) {
  const connection = service.connect(userId)
  const calls: string[] = []
  const fetch: FakeConnection['fetch'] = (request) => {
    calls.push(new URL(request.url).pathname)
    return connection.fetch(request)
  }
  const made = client(service, { fetch }, deviceId)
  const { webSocket } = connection
  const own = { client: made, webSocket, keys: keys(), userId, deviceId }
  const sync = createSync({ ...own, store: memoryStore(), random: () => 0 })
  t.teardown(() => sync.stop())
  return { sync, connection, client: made, calls }
}

/** Faults that a store may have, and the case that finds each. */
const faults: Record<string, { change(store: Store, all: Store[]): Partial<Store>; found: string }> = {
  'forgets everything when it is closed': {
    change: (store) => ({ close: () => void store.wipe() }),
    found: 'What was written is there after the store was opened again.',
  },
  'reads all rows': {
    change: (store) => ({ read: () => store.load() }),
    found: 'Reading some rows gives those that exist, and the meta.',
  },
  'writes the meta only with rows': {
    change: (store) => ({
      write: async (rows, meta) => store.write(rows, rows.length > 0 ? meta : ((await store.load()).meta ?? meta)),
    }),
    found: 'A write without rows changes the meta alone.',
  },
  'keeps what a blank row should remove': {
    change: (store) => ({
      write: (rows, meta) =>
        store.write(
          rows.filter((row) => !isBlank(row)),
          meta,
        ),
    }),
    found: 'A blank row is removed.',
  },
  'stops after 500 rows': {
    change: (store) => ({ write: (rows, meta) => store.write(rows.slice(0, 500), meta) }),
    found: '600 rows are written and read in one call.',
  },
  'cuts texts at a NUL': {
    change: (store) => ({
      load: async () => JSON.parse(JSON.stringify(await store.load()).replaceAll(/\\u0000[^"]*/g, '')),
    }),
    found: 'Every text and every field of a bookmark comes back as it was.',
  },
  'wipes all users': {
    change: (_, all) => ({
      wipe: async () => {
        for (const store of all) await store.wipe()
      },
    }),
    found: "A store is one user's.",
  },
  'wipes nothing': {
    change: () => ({ wipe: async () => {} }),
    found: 'A store that was wiped is empty when it is opened again.',
  },
}

for (const [fault, { change, found }] of Object.entries(faults)) {
  t.test(`A store that ${fault} fails: ${found}`, async (t) => {
    const stores = new Map<string, Store>()
    const open = (userId: string) => {
      const store = stores.get(userId) ?? memoryStore()
      stores.set(userId, store)
      return { ...store, ...change(store, [...stores.values()]) }
    }
    const failed: string[] = []
    for (const { title, run } of storeCases) await run(open).catch(() => failed.push(title))
    t.ok(failed.includes(found), failed.join(' '))
  })
}
