// Each use of a passphrase costs 0.3 s of Argon2: the tests share a vault, and the last of them changes its passphrase.
import t from 'tap'
import { KeyringError, SignedOutError, VaultExistsError, WrongKeyError } from '../../src/client/errors.ts'
import { unwrap } from '../../src/client/unwrap.ts'
import { changeVaultPassphrase, createVault, hasVault, openVault } from '../../src/client/vault.ts'
import { anotherTab, openTab } from './api/fixture.ts'

const passphrase = 'correct horse'
/** A valid recovery code, of nobody's vault. */
const foreignCode = '5PB-TKV-XSC-99W-9TN-FGQ-953-AGH-C1='

const tab = await openTab()
const { userId, client } = tab
const hadVault = await hasVault(client)
const made = await createVault(client, { userId, passphrase })

t.test('a first device creates the vault, a second opens it with the passphrase or the recovery code', async (t) => {
  t.same([hadVault, await hasVault(client)], [false, true])
  t.same((await openVault(anotherTab(tab), { userId, passphrase })).keys, made.keys)
  t.same((await openVault(client, { userId, recoveryCode: made.recoveryCode })).masterKey, made.masterKey)
  const { key } = unwrap(await client.GET('/api/v1/account/export-key'))
  t.equal(key, Buffer.from(made.keys.exportKey).toString('base64'), 'exports open with the passphrase alone')
})

t.test('a wrong passphrase or recovery code is a WrongKeyError, and nothing is stored', async (t) => {
  const before = tab.sent.length
  await t.rejects(openVault(client, { userId, passphrase: 'wrong' }), WrongKeyError)
  await t.rejects(openVault(client, { userId, recoveryCode: foreignCode }), WrongKeyError)
  await t.rejects(changeVaultPassphrase(client, { userId, recoveryCode: foreignCode }, 'new'), WrongKeyError)
  await t.rejects(openVault(client, { userId, recoveryCode: made.recoveryCode.slice(1) }), KeyringError)
  t.same(new Set(tab.sent.slice(before)), new Set(['/api/v1/account/keyring']), 'only the keyring was read')
  t.equal(unwrap(await client.GET('/api/v1/account/keyring')).revision, 1)
})

t.test('of two first devices one creates the vault, and the other learns of it', async (t) => {
  const tab = await openTab()
  const both = [tab.client, anotherTab(tab)].map((client) => createVault(client, { userId: tab.userId, passphrase }))
  const results = await Promise.allSettled(both)
  const failed = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
  t.equal(failed.length, 1)
  t.ok(failed[0] instanceof VaultExistsError)
})

t.test('a first device was cut off before it registered the export key: the next opening registers it', async (t) => {
  const tab = await openTab((send) => (request) => {
    if (request.method === 'PUT' && request.url.endsWith('/export-key')) throw new TypeError('fetch failed')
    return send(request)
  })
  const { userId } = tab
  await t.rejects(createVault(tab.client, { userId, passphrase }), TypeError)
  const later = anotherTab(tab)
  const { keys } = await openVault(later, { userId, passphrase })
  t.equal(unwrap(await later.GET('/api/v1/account/export-key')).key, Buffer.from(keys.exportKey).toString('base64'))
})

t.test('a new passphrase opens the vault, the old one does not, the recovery code still does', async (t) => {
  const { recoveryCode, masterKey } = made
  await changeVaultPassphrase(client, { userId, passphrase }, 'battery staple')
  await t.rejects(changeVaultPassphrase(client, { userId, passphrase }, 'again'), WrongKeyError)
  t.same((await openVault(client, { userId, passphrase: 'battery staple' })).masterKey, masterKey)
  t.same((await openVault(client, { userId, recoveryCode })).masterKey, masterKey)
  t.equal(unwrap(await client.GET('/api/v1/account/keyring')).revision, 2)
})

t.test('without a session: SignedOutError', async (t) => {
  const tab = await openTab()
  Object.assign(tab.jar, { service_session: 'gone', service_refresh: 'gone' })
  await t.rejects(hasVault(tab.client), SignedOutError)
})
