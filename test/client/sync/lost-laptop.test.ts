import t, { type Test } from 'tap'
import { openAccount } from '../../../src/client/account.ts'
import { createHistory, type History } from '../../../src/client/history.ts'
import { createVault, decryptBookmark, deriveKeys, memoryStore, rotateKeys } from '../../../src/client/index.ts'
import { pullAll, push } from '../../support/changes.ts'
import { sharedApp } from '../../support/shared-app.ts'
import { until } from '../../support/until.ts'
import { clientOver } from '../connection.ts'
import { bookmark, type Device, openVault, remove, send, shown, sync } from './device.ts'
import { up } from './network.ts'
import { clientOf, open } from './real-device.ts'

/** A lost device is signed out and its keys are rotated. Then versions and earlier states are restored. */

t.test('a lost laptop can be signed out, and a copy of its disk cannot decrypt later changes', async (t) => {
  const { listen, user } = await sharedApp()
  const [laptopUser, phoneUser] = [await user('carol'), await user('carol')]
  const { userId } = phoneUser
  const baseUrl = await listen()
  const phoneClient = clientOf({ baseUrl, user: phoneUser, id: 'phone' }).client
  const created = await createVault(phoneClient, { userId, passphrase: 'correct horse' })
  const vault = await created.confirm()
  const laptopStore = memoryStore()
  const keysThere = deriveKeys(vault.masterKey)
  const laptop = open(t, { baseUrl, user: laptopUser, keys: keysThere, id: 'laptop', store: laptopStore })
  const phone = open(t, { baseUrl, user: phoneUser, keys: vault.keys, id: 'phone' })
  await laptop.put([bookmark('x', 'before'), bookmark('y', 'too')])
  await Promise.all([laptop.start(), phone.start()])
  await until(() => laptop.status().state === 'online' && phone.bookmarks().size === 2)

  const account = openAccount({ client: phoneClient, userId, sync: phone })
  const [lost] = (await account.sessions()).filter(({ current }) => !current)
  await account.endSession(lost?.id ?? '')
  // The closed socket is all that can inform the laptop.
  await until(() => laptop.status().state === 'signed-out')
  await laptop.put(bookmark('x', 'by the thief'))
  await t.rejects(laptop.syncNow(), { name: 'SignedOutError' })
  const { status } = await push(laptopUser)
  t.equal(status, 401)

  const draft = await rotateKeys(phoneClient, { userId, recoveryCode: created.recoveryCode }, 'correct horse')
  const { keys } = await draft.confirm()
  await phone.adoptKeys(keys)
  await phone.put([bookmark('x', 'after'), bookmark('z', 'new')])
  await until(() => phone.status().waiting === 0)

  const disk = { rows: (await laptopStore.load()).rows, keys: deriveKeys(vault.masterKey) }
  t.equal(disk.rows.length, 2)
  const { changes } = await pullAll(phoneUser)
  t.equal(changes.length, 3)
  const first = Buffer.of(1)
  for (const { entity_id: id, encrypted_data = '', data_hash = '' } of changes) {
    t.ok(decryptBookmark(keys, { id, encrypted_data, data_hash }))
    const without = Buffer.from(encrypted_data, 'base64').subarray(keys.prefix.length)
    const renamed = Buffer.concat([first, without]).toString('base64')
    for (const data of [encrypted_data, renamed]) {
      t.throws(() => decryptBookmark(disk.keys, { id, encrypted_data: data, data_hash }), { name: 'RecordError' })
    }
  }
  // With equal hashes, somebody who knows a bookmark's content could find it by its hash.
  const hashes = disk.rows.map(({ version }) => version?.data_hash)
  t.notOk(changes.some(({ data_hash }) => hashes.includes(data_hash)))
})

async function openHistory(t: Test) {
  const person = await openVault(t)
  const device = (id: string): Device & { history: History } => {
    const opened = person.device(id)
    const { sync, keys } = opened
    const client = clientOver({ session: person.user }, id)
    return Object.assign(opened, { history: createHistory({ client, keys, userId: person.user.userId, sync }) })
  }
  const stale = async () => (await person.sealed(person.vault.keys))[1]
  return { vault: person.vault, world: person.world, device, stale }
}

const put = (device: Device, id: string, title: string) => send(device, bookmark(id, title))

const titles = (list: { bookmark: { title: string } | null }[]) => list.map(({ bookmark }) => bookmark?.title)

t.test('re-encrypted copies count as one version by its original device; restoring takes the one before', async (t) => {
  const { vault, device } = await openHistory(t)
  const [a, b] = [device('a'), device('b')]
  await put(a, 'x', 'first')
  await put(a, 'x', 'second')
  await sync(b)
  const made = (await a.history.history('x')).map(({ timestamp }) => timestamp)
  for (const { sync } of [b, a]) await sync.adoptKeys(await vault.rotate())
  // The first rotation sent the re-encrypted bookmark as a change by the rotating device.
  t.match(await a.history.history('x'), [{ bookmark: { title: 'first' }, deviceId: 'a' }])
  t.equal((await a.history.history('x')).length, 1, 'the current version is not listed again under older keys')

  await put(a, 'x', 'third')
  const versions = await a.history.history('x')
  t.match(versions, [
    { bookmark: { title: 'second' }, deviceId: 'a', operation: 'update', reason: 'superseded' },
    { bookmark: { title: 'first' }, deviceId: 'a', timestamp: made[0] },
  ])
  t.equal(versions.length, 2)
  t.equal(versions[0]?.began, versions[1]?.ended)

  await a.history.restoreVersion('x', versions[0]?.versionId)
  await a.sync.adoptKeys(await vault.rotate())
  await a.history.restoreVersion('x')
  t.same(shown(a), { x: 'third' }, 'the version before was restored, not the same one under an older key')
})

t.test('a bookmark deleted before a rotation can be restored from the trash, and is re-encrypted', async (t) => {
  const { vault, device, stale } = await openHistory(t)
  const [a, b] = [device('a'), device('b')]
  await put(a, 'x', 'deleted before')
  await a.sync.remove('x')
  await put(a, 'y', 'deleted after')
  const keys = await vault.rotate()
  for (const { sync } of [a, b]) await sync.adoptKeys(keys)
  await remove(b, 'y')
  t.same(titles((await b.history.trash()).bookmarks), ['deleted after', 'deleted before'])
  for (const id of ['x', 'y']) await b.history.restoreVersion(id)
  t.same(shown(b), { x: 'deleted before', y: 'deleted after' })
  t.equal(await stale(), 1)
  await a.sync.start()
  // The next device that starts re-encrypts it.
  await until(async () => (await stale()) === 0)
  t.same(shown(a), shown(b))
})

t.test('going back to before a rotation brings back the older ciphertexts, which are re-encrypted', async (t) => {
  const { vault, world, device, stale } = await openHistory(t)
  const [a, b] = [device('a'), device('b')]
  for (const id of ['w', 'x', 'y', 'z']) await put(a, id, `${id} then`)
  await sync(b)
  await put(b, 'w', 'w by another device')
  await sync(a)
  const to = a.sync.seen()
  await world.pass(1)
  const keys = await vault.rotate()
  for (const { sync } of [a, b]) await sync.adoptKeys(keys)
  const counts = { restored: 4, deleted: 0, unchanged: 0, beyondRetention: 0 }
  t.same(await a.history.rewind({ to, dryRun: true }), counts)

  await put(b, 'x', 'x since')
  await b.sync.remove('y')
  await put(b, 'new', 'made since')
  const since = { restored: 4, deleted: 1, unchanged: 0, beyondRetention: 0 }
  t.same(await b.history.rewind({ to, dryRun: false }), since)
  t.equal(await stale(), 4)
  await a.sync.start()
  await until(async () => (await stale()) === 0)
  await sync(b)
  const then = { w: 'w by another device', x: 'x then', y: 'y then', z: 'z then' }
  t.same([shown(a), shown(b)], [then, then])
  t.same([a.conflicts, b.conflicts], [[], []])
})

t.test('an edit during the re-encryption of its bookmark makes no conflict', async (t) => {
  const { vault, device } = await openHistory(t)
  const [a, b] = [device('a'), device('b')]
  await put(a, 'x', 'before')
  await sync(b)
  await b.sync.put(bookmark('x', 'meanwhile'))
  const keys = await vault.rotate()
  // The edit is sent after the rotating device has pulled and before it pushes.
  a.network.fate = async (call) => {
    a.network.fate = call.name === 'push' ? up : a.network.fate
    if (call.name === 'push') await b.sync.adoptKeys(keys)
    return up(call)
  }
  await a.sync.adoptKeys(keys)
  t.same(titles(await a.history.history('x')), ['before'])
  t.same((await b.history.serverConflicts()).conflicts, [])
  t.same([shown(a).x, shown(b).x], ['meanwhile', 'meanwhile'])
})
