import t from 'tap'
import type { SendRequest } from '../../src/client/api/retry.ts'
import { unwrap } from '../../src/client/api/unwrap.ts'
import {
  KeyringError,
  OfflineError,
  SignedOutError,
  VaultExistsError,
  WeakPassphraseError,
  WrongKeyError,
} from '../../src/client/errors.ts'
import type { Vault } from '../../src/client/vault/operations.ts'
import {
  changeVaultPassphrase,
  createVault,
  earlierKeyrings,
  eraseEarlierKeyrings,
  hasVault,
  openVault,
  repairVault,
  replaceRecoveryCode,
  restoreKeyring,
  rotateKeys,
} from '../../src/client/vault/vault.ts'
import { anotherTab, openTab } from './connection.ts'
import 'fake-indexeddb/auto'
import { openDB } from 'idb'
import { forgetMasterKey, keepMasterKey, loadMasterKey } from '../../src/client/vault/master-key.ts'

// The tests share a vault, and change it in turn.

const passphrase = 'correct horse'
/** A valid recovery code that belongs to no vault. */
const foreignCode = '5PB-TKV-XSC-99W-9TN-FGQ-953-AGH-C1='

/** The path of the next PUT that reaches the service, but whose response does not arrive. */
let losesAnswer = ''
/** The methods on the export key that the service answers with 500. */
let failing: string[] = []
const tab = await openTab(losing)
const { userId, client } = tab
const other = anotherTab(tab)
const [draft, rival] = [
  await createVault(client, { userId, passphrase }),
  await createVault(other, { userId, passphrase }),
]
let vault: Vault
/** The vault's current recovery code. */
let printed = draft.recoveryCode

t.test('nothing is stored before the recovery code is confirmed, so a reloaded page can start again', async (t) => {
  await t.rejects(createVault(client, { userId, passphrase: 'password1' }), WeakPassphraseError)
  t.notOk(await hasVault(client, { userId }))
  t.not(draft.recoveryCode, rival.recoveryCode)
  t.same(new Set(tab.sent), new Set(['/api/v1/auth/session']), 'no export key was registered')
})

t.test('a confirmation whose answers are lost is repeated until the vault is complete', async (t) => {
  losesAnswer = '/api/v1/account/keyring'
  await t.rejects(draft.confirm(), { name: 'OfflineError', cause: { name: 'TypeError' } })
  losesAnswer = '/api/v1/account/export-key'
  await t.rejects(draft.confirm(), OfflineError)
  vault = await draft.confirm()
  t.equal(unwrap(await client.GET('/api/v1/account/keyring')).revision, 1)
  const { key } = unwrap(await client.GET('/api/v1/account/export-key'))
  t.equal(key, Buffer.from(vault.keys.exportKey).toString('base64'), 'the service has the export key of the vault')
})

t.test('of two first devices, the first to confirm makes the vault, and the other gets an error', async (t) => {
  const before = unwrap(await client.GET('/api/v1/account/keyring'))
  await t.rejects(rival.confirm(), VaultExistsError)
  await t.rejects(createVault(other, { userId, passphrase }), VaultExistsError, 'an error comes before a code is shown')
  t.same(unwrap(await client.GET('/api/v1/account/keyring')), before)
})

t.test('another device opens the vault with the passphrase or the recovery code', async (t) => {
  t.same(await openVault(other, { userId, passphrase }), vault)
  t.same(await openVault(other, { userId, recoveryCode: draft.recoveryCode }), vault)
})

t.test('if the first device could not register the export key, the next opening of the vault does', async (t) => {
  const foreign = Buffer.alloc(32, 1).toString('base64')
  unwrap(await client.PUT('/api/v1/account/export-key', { body: { key: foreign } }))
  const { keys } = await openVault(other, { userId, recoveryCode: draft.recoveryCode })
  t.equal(unwrap(await other.GET('/api/v1/account/export-key')).key, Buffer.from(keys.exportKey).toString('base64'))
})

t.test('the vault opens even if the service does not return or store the export key', async (t) => {
  const foreign = Buffer.alloc(32, 1).toString('base64')
  const stored = async () => unwrap(await other.GET('/api/v1/account/export-key')).key
  unwrap(await client.PUT('/api/v1/account/export-key', { body: { key: foreign } }))
  failing = ['PUT']
  t.same(await openVault(client, { userId, passphrase }), vault)
  t.equal(await stored(), foreign)
  failing = ['GET']
  t.same(await openVault(client, { userId, passphrase }), vault)
  failing = []
  t.not(await stored(), foreign, 'a key that could not be read is registered')
})

t.test('a new passphrase opens the vault, the old one does not, the recovery code still does', async (t) => {
  const { recoveryCode } = draft
  await changeVaultPassphrase(client, { userId, recoveryCode }, 'battery staple')
  t.same(await openVault(client, { userId, passphrase: 'battery staple' }), vault)
  t.same(await openVault(client, { userId, recoveryCode }), vault)
  t.equal(unwrap(await client.GET('/api/v1/account/keyring')).revision, 2)
})

t.test('a wrong passphrase or recovery code is a WrongKeyError, and nothing is stored', async (t) => {
  const before = tab.sent.length
  const wrong = { userId, recoveryCode: foreignCode }
  await t.rejects(openVault(client, { userId, passphrase }), WrongKeyError, 'the old passphrase')
  await t.rejects(openVault(client, wrong), WrongKeyError)
  await t.rejects(changeVaultPassphrase(client, wrong, 'new'), WrongKeyError)
  await t.rejects(replaceRecoveryCode(client, wrong), WrongKeyError)
  await t.rejects(openVault(client, { userId, recoveryCode: draft.recoveryCode.slice(1) }), KeyringError)
  t.same(new Set(tab.sent.slice(before)), new Set(['/api/v1/account/keyring']))
  t.equal(unwrap(await client.GET('/api/v1/account/keyring')).revision, 2)
})

t.test('a new recovery code replaces the old one when it is confirmed, and the passphrase stays', async (t) => {
  const old = { userId, recoveryCode: draft.recoveryCode }
  const { recoveryCode, confirm } = await replaceRecoveryCode(client, old)
  const late = await replaceRecoveryCode(other, old)
  await t.rejects(openVault(client, { userId, recoveryCode }), WrongKeyError, 'the new code is not confirmed yet')
  t.same(await openVault(client, old), vault)

  losesAnswer = '/api/v1/account/keyring'
  await t.rejects(confirm(), OfflineError)
  await confirm()
  printed = recoveryCode
  t.same(await openVault(other, { userId, recoveryCode }), vault)
  await t.rejects(openVault(client, old), WrongKeyError)
  await t.rejects(late.confirm(), { name: 'ApiError', status: 409 }, "another device's code is not overwritten")
  t.same(await openVault(client, { userId, passphrase: 'battery staple' }), vault)
})

t.test('of two devices that rotate the keys at once one succeeds; the old recovery code opens nothing', async (t) => {
  const old = { userId, recoveryCode: printed }
  const [one, two] = [await rotateKeys(client, old, 'battery staple'), await rotateKeys(other, old, 'battery staple')]
  t.same((await openVault(client, old)).masterKey, vault.masterKey, 'a draft changes nothing')
  losesAnswer = '/api/v1/account/keyring'
  await t.rejects(one.confirm(), OfflineError)
  const rotated = await one.confirm()
  await t.rejects(two.confirm(), { name: 'ApiError', status: 409 })
  t.same(rotated.masterKey.subarray(32), vault.masterKey)
  t.same(await openVault(other, { userId, recoveryCode: one.recoveryCode }), rotated)
  for (const { recoveryCode } of [old, two]) {
    await t.rejects(openVault(client, { userId, recoveryCode }), WrongKeyError)
  }
  const { key } = unwrap(await client.GET('/api/v1/account/export-key'))
  t.equal(key, Buffer.from(rotated.keys.exportKey).toString('base64'), 'new exports are under the new key')
})

t.test('a call without a session rejects with SignedOutError', async (t) => {
  const tab = await openTab()
  Object.assign(tab.jar, { service_session: 'gone', service_refresh: 'gone' })
  await t.rejects(hasVault(tab.client, { userId }), SignedOutError)
})

t.test('without a network, all calls reject with OfflineError', async (t) => {
  const { client } = await openTab(() => () => Promise.reject(new TypeError('fetch failed')))
  const credentials = { userId, passphrase }
  const calls: (() => Promise<unknown>)[] = [
    () => hasVault(client, credentials),
    () => createVault(client, credentials),
    () => openVault(client, credentials),
    () => changeVaultPassphrase(client, credentials, 'battery staple'),
    () => replaceRecoveryCode(client, credentials),
    () => rotateKeys(client, credentials, 'battery staple'),
    () => repairVault(client, { ...credentials, masterKey: new Uint8Array(32) }),
    () => earlierKeyrings(client, { userId }),
    () => restoreKeyring(client, { userId, id: 'one' }),
    () => eraseEarlierKeyrings(client, { userId }),
  ]
  for (const call of calls) await t.rejects(call(), OfflineError, String(call))
})

function failed(): Response {
  return Response.json({ error: 'Internal server error' }, { status: 500, headers: { 'x-error-code': 'Internal' } })
}

function losing(send: SendRequest): SendRequest {
  return async (request) => {
    if (failing.includes(request.method) && request.url.endsWith('/export-key')) return failed()
    const response = await send(request)
    if (request.method !== 'PUT' || new URL(request.url).pathname !== losesAnswer) return response
    losesAnswer = ''
    throw new TypeError('fetch failed')
  }
}

const masterKey = new Uint8Array(32).map((_, index) => index)

t.test('a master key is kept for its user, until it is forgotten', async (t) => {
  t.equal(await loadMasterKey('ada'), undefined)
  await keepMasterKey('ada', masterKey)
  t.same(await loadMasterKey('ada'), masterKey)
  t.equal(await loadMasterKey('bob'), undefined)
  await forgetMasterKey('ada')
  t.equal(await loadMasterKey('ada'), undefined)
})

t.test('the browser stores the master key only encrypted with a key that cannot be exported', async (t) => {
  await keepMasterKey('ada', masterKey)
  const { wrappingKey, wrapped, ...rest } = await kept('ada')
  t.equal(wrappingKey.extractable, false)
  await t.rejects(crypto.subtle.exportKey('raw', wrappingKey), { name: 'InvalidAccessError' })
  t.strictSame(Object.keys(rest), ['iv'])
  t.equal(wrapped.byteLength, 32 + 16)
  t.notOk(Buffer.from(wrapped).includes(Buffer.from(masterKey.slice(0, 8))))
})

t.test("neither another user's nor an altered stored key opens", async (t) => {
  await keepMasterKey('ada', masterKey)
  await keep('bob', await kept('ada'))
  t.equal(await loadMasterKey('bob'), undefined)
  const altered = await kept('ada')
  new DataView(altered.wrapped).setUint8(0, new DataView(altered.wrapped).getUint8(0) ^ 1)
  await keep('ada', altered)
  t.equal(await loadMasterKey('ada'), undefined)
})

const database = () => openDB('encrypted-bookmark-sync-keys', 1)

async function kept(userId: string) {
  const open = await database()
  const value = await open.get('master-keys', userId)
  open.close()
  return value as { wrappingKey: CryptoKey; wrapped: ArrayBuffer; iv: Uint8Array }
}

async function keep(userId: string, value: unknown): Promise<void> {
  const open = await database()
  await open.put('master-keys', value, userId)
  open.close()
}
