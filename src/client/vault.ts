import type { Client } from './api.ts'
import { bytesToBase64 } from './base64.ts'
import { VaultExistsError } from './errors.ts'
import { type Credentials, changePassphrase, createKeyring, openKeyring } from './keyring.ts'
import { deriveKeys, type Keys } from './keys.ts'
import { unwrap } from './unwrap.ts'

/** A person's keys, once passphrase or recovery code has opened them. */
export interface Vault {
  /** For `createSync`, `encryptBookmark`, `openExport`. */
  keys: Keys
  /** 32 bytes that the keys derive from; for `keepMasterKey`. */
  masterKey: Uint8Array
}

/** Whether the signed-in person has made a vault on some device. */
export async function hasVault(client: Client): Promise<boolean> {
  const result = await client.GET('/api/v1/account/keyring')
  if (result.response.status === 404) return false
  unwrap(result)
  return true
}

/**
 * Makes the person's keys, on their first device: stores the keyring, which the service cannot open, and registers the
 * export key.
 *
 * @returns the vault, and the recovery code to print: it is shown this once
 * @throws VaultExistsError another device was first: open that vault
 * @throws KeyringError `empty-passphrase`
 * @throws ApiError, SignedOutError
 */
export async function createVault(
  client: Client,
  owner: { userId: string; passphrase: string },
): Promise<Vault & { recoveryCode: string }> {
  const { keyring, masterKey, recoveryCode } = await createKeyring(owner)
  const stored = await client.PUT('/api/v1/account/keyring', { body: { keyring, revision: 1 } })
  if (stored.response.status === 409) throw new VaultExistsError()
  unwrap(stored)
  const keys = deriveKeys(masterKey)
  await registerExportKey(client, keys)
  return { keys, masterKey, recoveryCode }
}

/**
 * Opens the person's vault on a further device.
 *
 * @throws WrongKeyError the passphrase or recovery code is wrong, or the service sent an altered keyring; nothing was stored
 * @throws KeyringError what else can be wrong with a keyring or a passphrase
 * @throws ApiError, of status 404 when there is no vault yet; SignedOutError
 */
export async function openVault(client: Client, credentials: Credentials): Promise<Vault> {
  const { keyring } = unwrap(await client.GET('/api/v1/account/keyring'))
  const masterKey = await openKeyring(keyring, credentials)
  const keys = deriveKeys(masterKey)
  await registerExportKey(client, keys)
  return { keys, masterKey }
}

/**
 * Takes a new passphrase in place of the old one. Nothing is encrypted anew; the recovery code stays.
 *
 * @param current the passphrase of now, or the recovery code
 * @throws WrongKeyError, KeyringError as `openVault`
 * @throws ApiError, of status 409 when another device changed the passphrase meanwhile: try again
 */
export async function changeVaultPassphrase(
  client: Client,
  current: Credentials,
  newPassphrase: string,
): Promise<void> {
  const { keyring, revision } = unwrap(await client.GET('/api/v1/account/keyring'))
  const body = { keyring: await changePassphrase(keyring, current, newPassphrase), revision: revision + 1 }
  unwrap(await client.PUT('/api/v1/account/keyring', { body }))
}

/** So that exports open with the passphrase alone. Heals a first device that was cut off before it came to this. */
async function registerExportKey(client: Client, { exportKey }: Keys): Promise<void> {
  const key = bytesToBase64(exportKey)
  const registered = unwrap(await client.GET('/api/v1/account/export-key'))
  if (registered.key !== key) unwrap(await client.PUT('/api/v1/account/export-key', { body: { key } }))
}
