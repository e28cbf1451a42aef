import t from 'tap'
import { unwrap } from '../../src/client/api/unwrap.ts'
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
import { type Connection, clientOver } from './connection.ts'

// Each use of a passphrase costs half a second of Argon2: the tests share a vault, and change it one after the other.

const passphrase = 'correct horse'
const app = await buildApp(t)
const ada = await app.user('ada')
const { userId } = ada
const connection: Connection = { session: ada }
const client = clientOver(connection, 'laptop')
const vault = await (await createVault(client, { userId, passphrase })).confirm()
let revision = 1

async function putJunk(): Promise<void> {
  const body = { keyring: keyringOf('of a faulty program'), revision: ++revision }
  unwrap(await client.PUT('/api/v1/account/keyring', { body }))
}

t.test(
  'A keyring that a faulty program has replaced is restored, and the old passphrase opens the vault',
  async (t) => {
    t.same(await earlierKeyrings(client), [])
    await putJunk()
    await t.rejects(openVault(client, { userId, passphrase }), WrongKeyError)
    const [earlier] = await earlierKeyrings(client)
    t.match(earlier, { revision: 1, replacedAt: Number, erasedAt: Number })
    await restoreKeyring(client, earlier?.id ?? '')
    revision++
    t.same(await openVault(client, { userId, passphrase }), vault)
    t.match(await earlierKeyrings(client), [{ revision: 2 }])
    await restoreKeyring(client, earlier?.id ?? '')
    t.match(await earlierKeyrings(client), [{ revision: 2 }], 'the same again, after a lost answer, changes nothing')
  },
)

t.test('A device that is unlocked wraps its keys anew, of a vault whose keys were rotated, too', async (t) => {
  let { masterKey } = vault
  for (let rotations = 0; rotations < depth(2, 3); rotations++) {
    const owner = { userId, masterKey, passphrase: `repaired staple ${rotations}` }
    await putJunk()
    const draft = await repairVault(client, owner)
    await t.rejects(
      openVault(client, { userId, passphrase: owner.passphrase }),
      WrongKeyError,
      'not before it is confirmed',
    )
    const repaired = await draft.confirm()
    revision++
    t.same(repaired.masterKey, masterKey)
    t.same(await openVault(client, { userId, passphrase: owner.passphrase }), repaired)
    t.same(await openVault(client, { userId, recoveryCode: draft.recoveryCode }), repaired)
    const rotation = await rotateKeys(client, { userId, passphrase: owner.passphrase }, 'rotated staple')
    masterKey = (await rotation.confirm()).masterKey
    revision++
  }
})

t.test('On request, nothing is left of the earlier keyrings', async (t) => {
  t.not((await earlierKeyrings(client)).length, 0)
  await eraseEarlierKeyrings(client)
  t.same(await earlierKeyrings(client), [])
})

t.test(
  'From an old sign-in nothing is replaced; the vault opens; and a draft is confirmed after the next',
  async (t) => {
    await changeVaultPassphrase(client, { userId, passphrase: 'rotated staple' }, passphrase)
    await putJunkThenRestore()
    const current = { userId, passphrase }
    const [code, rotation, earlier] = [
      await replaceRecoveryCode(client, current),
      await rotateKeys(client, current, 'another passphrase'),
      await earlierKeyrings(client),
    ]
    app.setClock(Date.now() + 11 * 60_000)
    await t.rejects(changeVaultPassphrase(client, current, 'another passphrase'), SignInAgainError)
    await t.rejects(code.confirm(), SignInAgainError)
    await t.rejects(rotation.confirm(), SignInAgainError)
    await t.rejects(restoreKeyring(client, earlier[0]?.id ?? ''), SignInAgainError)
    await t.rejects(eraseEarlierKeyrings(client), SignInAgainError)
    await openVault(client, current)
    connection.session = await app.user('ada')
    await code.confirm()
    await openVault(client, { userId, recoveryCode: code.recoveryCode })
  },
)

async function putJunkThenRestore(): Promise<void> {
  revision = unwrap(await client.GET('/api/v1/account/keyring')).revision
  await putJunk()
  const [earlier] = await earlierKeyrings(client)
  await restoreKeyring(client, earlier?.id ?? '')
}
