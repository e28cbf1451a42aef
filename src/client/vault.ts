import type { Client } from './api.ts'
import { bytesToBase64 } from './base64.ts'
import { VaultExistsError } from './errors.ts'
import { type Credentials, changePassphrase, createKeyring, openKeyring } from './keyring.ts'
import { deriveKeys, type Keys } from './keys.ts'
import { unwrap } from './unwrap.ts'

/** A user's keys, opened with the passphrase or the recovery code. */
export interface Vault {
  /** For `createSync`, `encryptBookmark`, `openExport`. */
  keys: Keys
  /** The 32 bytes that the keys are derived from; for `keepMasterKey`. */
  masterKey: Uint8Array
}

/** Whether the signed-in user has created a vault on any device. */
export async function hasVault(client: Client): Promise<boolean> {
  const result = await client.GET('/api/v1/account/keyring')
  if (result.response.status === 404) return false
  unwrap(result)
  return true
}

/**
 * Creates the user's keys on their first device: stores the keyring, which the service cannot open, and registers the
 * export key.
 *
 * @returns the vault, and the recovery code for the user to print; it cannot be shown again
 * @throws VaultExistsError another device has already created a vault: open that one
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
 * Opens the user's vault on another device.
 *
 * @throws WrongKeyError the passphrase or recovery code is wrong, or the service sent an altered keyring; nothing was stored
 * @throws KeyringError the keyring or the passphrase is otherwise invalid
 * @throws ApiError, with status 404 if there is no vault yet; SignedOutError
 */
export async function openVault(client: Client, credentials: Credentials): Promise<Vault> {
  const { keyring } = unwrap(await client.GET('/api/v1/account/keyring'))
  const masterKey = await openKeyring(keyring, credentials)
  const keys = deriveKeys(masterKey)
  await registerExportKey(client, keys)
  return { keys, masterKey }
}

/**
 * Replaces the passphrase. Nothing is re-encrypted, and the recovery code stays the same.
 *
 * @param current the current passphrase, or the recovery code
 * @throws WrongKeyError, KeyringError as `openVault`
 * @throws ApiError, with status 409 if another device changed the passphrase meanwhile: try again
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

/** Registers the export key, so that the passphrase is enough to open exports. Also completes an interrupted creation. */
async function registerExportKey(client: Client, { exportKey }: Keys): Promise<void> {
  const key = bytesToBase64(exportKey)
  const registered = unwrap(await client.GET('/api/v1/account/export-key'))
  if (registered.key !== key) unwrap(await client.PUT('/api/v1/account/export-key', { body: { key } }))
}
