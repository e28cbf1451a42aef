import t, { type Test } from 'tap'
import type { Client } from '../../src/client/api/client.ts'
import { unwrap } from '../../src/client/api/unwrap.ts'
import { deriveKeys } from '../../src/client/crypto/keys.ts'
import { encryptBookmark } from '../../src/client/crypto/record.ts'
import { SignInAgainError, WrongKeyError } from '../../src/client/errors.ts'
import {
  changeVaultPassphrase,
  createVault,
  earlierKeyrings,
  eraseEarlierKeyrings,
  openVault,
  repairVault,
  replaceRecoveryCode,
  restoreKeyring,
  rotateKeys,
} from '../../src/client/vault/vault.ts'
import { buildApp } from '../support/app.ts'
import { depth } from '../support/depth.ts'
import { keyringOf } from '../support/keyrings.ts'
import rotatedVector from '../vectors/rotated.json' with { type: 'json' }
import { type Connection, clientOver } from './connection.ts'

// The tests share a vault, and change it in turn.

const passphrase = 'correct horse'
const app = await buildApp(t)
const ada = await app.user('ada')
const { userId } = ada
const connection: Connection = { session: ada }
const client = clientOver(connection, 'laptop')
const vault = await (await createVault(client, { userId, passphrase })).confirm()

// The laptop was offline while the phone replaced the keys twice. Then a faulty program replaced the keyring.
const bob = await app.user('bob')
const laptop = clientOver({ session: bob }, 'laptop')
const current = { userId: bob.userId, passphrase }
const first = await (await createVault(laptop, current)).confirm()
const second = await (await rotateKeys(laptop, current, passphrase)).confirm()
const phone = await (await rotateKeys(laptop, current, passphrase)).confirm()
const replaced = { name: 'KeyringError', fault: 'keys-replaced', message: /only a device that was opened since/ }

/** The keyring that a faulty program stores. */
const junk = keyringOf('of a faulty program')

async function put(client: Client, keyring: string): Promise<void> {
  const { revision } = unwrap(await client.GET('/api/v1/account/keyring'))
  unwrap(await client.PUT('/api/v1/account/keyring', { body: { keyring, revision: revision + 1 } }))
}

t.test('After a restore of a keyring that a faulty program replaced, its passphrase opens the vault', async (t) => {
  t.same(await earlierKeyrings(client, { userId }), [])
  await put(client, junk)
  await t.rejects(openVault(client, { userId, passphrase }), WrongKeyError)
  const [earlier] = await earlierKeyrings(client, { userId })
  t.match(earlier, { revision: 1, replacedAt: Number, erasedAt: Number })
  await restoreKeyring(client, { userId, id: earlier?.id ?? '' })
  t.same(await openVault(client, { userId, passphrase }), vault)
  t.match(await earlierKeyrings(client, { userId }), [{ revision: 2 }])
  await restoreKeyring(client, { userId, id: earlier?.id ?? '' })
  t.match(
    await earlierKeyrings(client, { userId }),
    [{ revision: 2 }],
    'repeating the call after a lost answer changes nothing',
  )
})

t.test('An unlocked device can make a new keyring for its keys, also after a rotation', async (t) => {
  let { masterKey } = vault
  for (let rotations = 0; rotations < depth(2, 3); rotations++) {
    const owner = { userId, masterKey, passphrase: `repaired staple ${rotations}` }
    await put(client, junk)
    const draft = await repairVault(client, owner)
    const current = { userId, recoveryCode: draft.recoveryCode }
    await t.rejects(openVault(client, current), WrongKeyError, 'the new keyring counts once it is confirmed')
    const repaired = await draft.confirm()
    t.same(repaired.masterKey, masterKey)
    t.same(await openVault(client, { userId, passphrase: owner.passphrase }), repaired)
    t.same(await openVault(client, current), repaired)
    const rotation = await rotateKeys(client, current, 'rotated staple')
    masterKey = (await rotation.confirm()).masterKey
  }
})

t.test('The earlier keyrings can be erased', async (t) => {
  t.not((await earlierKeyrings(client, { userId })).length, 0)
  await eraseEarlierKeyrings(client, { userId })
  t.same(await earlierKeyrings(client, { userId }), [])
})

t.test('After an old sign-in the vault opens, but changes of it need another sign-in', async (t) => {
  await changeVaultPassphrase(client, { userId, passphrase: 'rotated staple' }, passphrase)
  await put(client, junk)
  await restoreKeyring(client, { userId, id: (await earlierKeyrings(client, { userId }))[0]?.id ?? '' })
  const current = { userId, passphrase }
  const [code, rotation, earlier] = [
    await replaceRecoveryCode(client, current),
    await rotateKeys(client, current, 'another passphrase'),
    await earlierKeyrings(client, { userId }),
  ]
  app.setClock(Date.now() + 11 * 60_000)
  t.teardown(() => app.setClock(undefined))
  await t.rejects(changeVaultPassphrase(client, current, 'another passphrase'), SignInAgainError)
  await t.rejects(code.confirm(), SignInAgainError)
  await t.rejects(rotation.confirm(), SignInAgainError)
  await t.rejects(restoreKeyring(client, { userId, id: earlier[0]?.id ?? '' }), SignInAgainError)
  await t.rejects(eraseEarlierKeyrings(client, { userId }), SignInAgainError)
  await openVault(client, current)
  connection.session = await app.user('ada')
  await code.confirm()
  await openVault(client, { userId, recoveryCode: code.recoveryCode })
})

/** Requires that only the phone, which has the newest keys, can repair the vault. */
async function requireOnlyPhoneRepairs(t: Test): Promise<void> {
  const before = unwrap(await laptop.GET('/api/v1/account/keyring'))
  for (const { masterKey } of [first, second]) {
    await t.rejects(repairVault(laptop, { ...current, masterKey }), replaced)
  }
  t.same(unwrap(await laptop.GET('/api/v1/account/keyring')), before)
  const repaired = await (await repairVault(laptop, { ...current, masterKey: phone.masterKey })).confirm()
  t.same(repaired.masterKey, phone.masterKey)
  t.same(await openVault(laptop, current), repaired)
}

t.test('If a keyring was replaced by junk, the earlier keyrings show which keys were replaced', async (t) => {
  await put(laptop, junk)
  await requireOnlyPhoneRepairs(t)
})

t.test('If a faulty program restored an older keyring, older keys cannot repair the vault', async (t) => {
  const versions = await earlierKeyrings(laptop, current)
  t.match(versions.find(({ revision }) => revision === 1)?.keyId, undefined)
  for (const oldRevision of [1, 2]) {
    const old = versions.find(({ revision }) => revision === oldRevision)
    await restoreKeyring(laptop, { ...current, id: old?.id ?? '' })
    await t.rejects(repairVault(laptop, { ...current, masterKey: first.masterKey }), replaced)
    const repair = await repairVault(laptop, { ...current, masterKey: phone.masterKey })
    t.same((await repair.confirm()).masterKey, phone.masterKey)
  }
})

t.test('Without earlier keyrings, the bookmarks show which keys were replaced', async (t) => {
  const sealed = encryptBookmark(phone.keys, { id: 'b', title: 'B', source: 'bookmarks' })
  unwrap(await laptop.POST('/api/v1/bookmarks', { body: { id: 'b', ...sealed } }))
  await put(laptop, junk)
  await eraseEarlierKeyrings(laptop, current)
  await requireOnlyPhoneRepairs(t)
})

t.test('If no device has the newest keys, a repair makes new keys instead of using older ones', async (t) => {
  const { id, key_id } = { id: 'b', key_id: Buffer.from('strange!').toString('base64') }
  await put(laptop, JSON.stringify({ ...JSON.parse(rotatedVector.keyring), key_id }))
  await eraseEarlierKeyrings(laptop, current)
  await t.rejects(repairVault(laptop, { ...current, masterKey: phone.masterKey }), replaced)
  const draft = await repairVault(laptop, { ...current, masterKey: phone.masterKey, replacesKeys: true })
  const repaired = await draft.confirm()
  t.same(repaired.masterKey.subarray(32), phone.masterKey)
  t.same(await openVault(laptop, { userId: bob.userId, recoveryCode: draft.recoveryCode }), repaired)
  const [bookmark] = unwrap(await laptop.GET('/api/v1/bookmarks')).data
  t.equal(bookmark?.id, id)
  t.same(deriveKeys(repaired.masterKey).older?.prefix, phone.keys.prefix, 'the earlier key still opens the bookmarks')
})

t.test('Keys that another rotation has replaced by mistake do not stop the device with the later keys', async (t) => {
  const versions = await earlierKeyrings(laptop, current)
  t.same(versions.length, 1)
  const { masterKey } = await (await rotateKeys(laptop, current, passphrase)).confirm()
  const [undone] = await earlierKeyrings(laptop, current)
  await restoreKeyring(laptop, { ...current, id: undone?.id ?? '' })
  const after = await (await rotateKeys(laptop, current, passphrase)).confirm()
  t.notSame(after.masterKey.subarray(32, 64), masterKey.subarray(0, 32))
  await put(laptop, junk)
  const repair = await repairVault(laptop, { ...current, masterKey: after.masterKey })
  t.same((await repair.confirm()).masterKey, after.masterKey)
})
