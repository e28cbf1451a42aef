import t from 'tap'
import { KeyringError, SignedOutError, VaultExistsError, WrongKeyError } from '../../src/client/errors.ts'
import { unwrap } from '../../src/client/unwrap.ts'
import { changeVaultPassphrase, createVault, hasVault, openVault } from '../../src/client/vault.ts'
import { anotherTab, openTab } from './api/fixture.ts'

const passphrase = 'correct horse'

t.test('a first device makes the vault, a second opens it with passphrase or recovery code', async (t) => {
  const tab = await openTab(t)
  const { userId, client } = tab
  t.equal(await hasVault(client), false)
  const made = await createVault(client, { userId, passphrase })
  t.equal(await hasVault(client), true)
  t.same((await openVault(anotherTab(tab), { userId, passphrase })).keys, made.keys)
  t.same((await openVault(client, { userId, recoveryCode: made.recoveryCode })).masterKey, made.masterKey)
  const { key } = unwrap(await client.GET('/api/v1/account/export-key'))
  t.equal(key, Buffer.from(made.keys.exportKey).toString('base64'), 'exports open with the passphrase alone')
})

t.test('a wrong passphrase or recovery code is a WrongKeyError, and nothing is stored', async (t) => {
  const tab = await openTab(t)
  const { userId, client } = tab
  const { recoveryCode } = await createVault(client, { userId, passphrase })
  const before = [...tab.sent]
  await t.rejects(openVault(client, { userId, passphrase: 'wrong' }), WrongKeyError)
  const other = (await createVault(await foreignClient(), { userId: 'x', passphrase })).recoveryCode
  await t.rejects(openVault(client, { userId, recoveryCode: other }), WrongKeyError)
  await t.rejects(changeVaultPassphrase(client, { userId, passphrase: 'wrong' }, 'new'), WrongKeyError)
  await t.rejects(openVault(client, { userId, recoveryCode: recoveryCode.slice(1) }), KeyringError)
  t.ok(
    tab.sent.slice(before.length).every((path) => path === '/api/v1/account/keyring'),
    'only the keyring was read',
  )
  t.equal(unwrap(await client.GET('/api/v1/account/keyring')).revision, 1)

  async function foreignClient() {
    return (await openTab(t)).client
  }
})

t.test('of two first devices one makes the vault, the other is told', async (t) => {
  const tab = await openTab(t)
  const both = [tab.client, anotherTab(tab)].map((client) => createVault(client, { userId: tab.userId, passphrase }))
  const results = await Promise.allSettled(both)
  const failed = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
  t.equal(failed.length, 1)
  t.ok(failed[0] instanceof VaultExistsError)
})

t.test('a first device that was cut off before the export key: the next opening registers it', async (t) => {
  const tab = await openTab(t, (send) => (request) => {
    if (request.method === 'PUT' && request.url.endsWith('/export-key')) throw new TypeError('fetch failed')
    return send(request)
  })
  const { userId } = tab
  await t.rejects(createVault(tab.client, { userId, passphrase }), TypeError)
  const later = anotherTab(tab)
  const { keys } = await openVault(later, { userId, passphrase })
  t.equal(unwrap(await later.GET('/api/v1/account/export-key')).key, Buffer.from(keys.exportKey).toString('base64'))
})

t.test('a new passphrase opens, the old one does not, the recovery code still does', async (t) => {
  const { userId, client } = await openTab(t)
  const { recoveryCode, masterKey } = await createVault(client, { userId, passphrase })
  await changeVaultPassphrase(client, { userId, passphrase }, 'battery staple')
  await t.rejects(openVault(client, { userId, passphrase }), WrongKeyError)
  t.same((await openVault(client, { userId, passphrase: 'battery staple' })).masterKey, masterKey)
  t.same((await openVault(client, { userId, recoveryCode })).masterKey, masterKey)
})

t.test('without a session: SignedOutError', async (t) => {
  const tab = await openTab(t)
  Object.assign(tab.jar, { service_session: 'gone', service_refresh: 'gone' })
  await t.rejects(hasVault(tab.client), SignedOutError)
})
