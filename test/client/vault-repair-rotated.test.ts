import t from 'tap'
import { unwrap } from '../../src/client/api/unwrap.ts'
import { deriveKeys } from '../../src/client/crypto/keys.ts'
import { encryptBookmark } from '../../src/client/crypto/record.ts'
import {
  createVault,
  earlierKeyrings,
  eraseEarlierKeyrings,
  openVault,
  repairVault,
  restoreKeyring,
  rotateKeys,
} from '../../src/client/vault/vault.ts'
import { buildApp } from '../support/app.ts'
import { keyringOf } from '../support/keyrings.ts'
import rotatedVector from '../vectors/rotated.json' with { type: 'json' }
import { clientOver } from './connection.ts'

// The laptop was offline while the phone replaced the keys, once and then again. Then a faulty program replaced the keyring.

const app = await buildApp(t)
const ada = await app.user('ada')
const { userId } = ada
const client = clientOver({ session: ada }, 'laptop')
const passphrase = 'correct horse'
const first = await (await createVault(client, { userId, passphrase })).confirm()
const current = { userId, passphrase }
const second = await (await rotateKeys(client, current, passphrase)).confirm()
const phone = await (await rotateKeys(client, current, passphrase)).confirm()
const replaced = { name: 'KeyringError', fault: 'keys-replaced', message: /only a device that was opened since/ }

async function put(keyring: string): Promise<void> {
  const { revision } = unwrap(await client.GET('/api/v1/account/keyring'))
  unwrap(await client.PUT('/api/v1/account/keyring', { body: { keyring, revision: revision + 1 } }))
}

/** Of the devices, only the phone has the newest keys. */
async function demandOnlyPhoneRepairs(t: Tap): Promise<void> {
  const before = unwrap(await client.GET('/api/v1/account/keyring'))
  for (const { masterKey } of [first, second]) {
    await t.rejects(repairVault(client, { userId, masterKey, passphrase }), replaced)
  }
  t.same(unwrap(await client.GET('/api/v1/account/keyring')), before)
  const repaired = await (await repairVault(client, { userId, masterKey: phone.masterKey, passphrase })).confirm()
  t.same(repaired.masterKey, phone.masterKey)
  t.same(await openVault(client, current), repaired)
}

type Tap = Pick<typeof t, 'rejects' | 'same'>

const junk = keyringOf('of a faulty program')

t.test('Junk that names no key: the earlier keyrings tell that these keys were replaced', async (t) => {
  await put(junk)
  await demandOnlyPhoneRepairs(t)
})

t.test('A keyring of older keys that a faulty program has stored again is not mended with them', async (t) => {
  const versions = await earlierKeyrings(client)
  t.match(versions.find(({ revision }) => revision === 1)?.keyId, undefined)
  for (const oldRevision of [1, 2]) {
    const old = versions.find(({ revision }) => revision === oldRevision)
    await restoreKeyring(client, old?.id ?? '')
    await t.rejects(repairVault(client, { userId, masterKey: first.masterKey, passphrase }), replaced)
    const repair = await repairVault(client, { userId, masterKey: phone.masterKey, passphrase })
    t.same((await repair.confirm()).masterKey, phone.masterKey)
  }
})

t.test('Where no earlier keyring is kept, the bookmarks tell it', async (t) => {
  const sealed = encryptBookmark(phone.keys, { id: 'b', title: 'B', source: 'bookmarks' })
  unwrap(await client.POST('/api/v1/bookmarks', { body: { id: 'b', ...sealed } }))
  await put(junk)
  await eraseEarlierKeyrings(client)
  await demandOnlyPhoneRepairs(t)
})

t.test(
  'If nobody has the newest keys, or junk names one that never was, new ones are made; none is put back',
  async (t) => {
    const { id, key_id } = { id: 'b', key_id: Buffer.from('strange!').toString('base64') }
    await put(JSON.stringify({ ...JSON.parse(rotatedVector.keyring), key_id }))
    await eraseEarlierKeyrings(client)
    await t.rejects(repairVault(client, { userId, masterKey: phone.masterKey, passphrase }), replaced)
    const draft = await repairVault(client, { userId, masterKey: phone.masterKey, passphrase, replacesKeys: true })
    const repaired = await draft.confirm()
    t.same(repaired.masterKey.subarray(32), phone.masterKey)
    t.same(await openVault(client, { userId, recoveryCode: draft.recoveryCode }), repaired)
    const [bookmark] = unwrap(await client.GET('/api/v1/bookmarks')).data
    t.equal(bookmark?.id, id)
    t.same(deriveKeys(repaired.masterKey).older?.prefix, phone.keys.prefix, 'which opens the bookmarks of before')
  },
)

t.test(
  'Keys that another rotation has replaced by mistake do not stop the device whose keys came after them',
  async (t) => {
    const versions = await earlierKeyrings(client)
    t.same(versions.length, 1)
    const { masterKey } = await (await rotateKeys(client, current, passphrase)).confirm()
    const [undone] = await earlierKeyrings(client)
    await restoreKeyring(client, undone?.id ?? '')
    const after = await (await rotateKeys(client, current, passphrase)).confirm()
    t.notSame(after.masterKey.subarray(32, 64), masterKey.subarray(0, 32))
    await put(junk)
    const repair = await repairVault(client, { userId, masterKey: after.masterKey, passphrase })
    t.same((await repair.confirm()).masterKey, after.masterKey)
  },
)
