import type { Client } from './api.ts'
import { bytesToBase64 } from './base64/encode.ts'
import { VaultExistsError } from './errors.ts'
import { type Credentials, changePassphrase, createKeyring, newRecoveryCode, openKeyring } from './keyring.ts'
import { deriveKeys, type Keys } from './keys.ts'
import { unwrap } from './unwrap.ts'

/** A user's keys, opened with the passphrase or the recovery code. */
export interface Vault {
  /** For `createSync`, `encryptBookmark`, `openExport`. */
  keys: Keys
  /** The 32 bytes that the keys are derived from; for `keepMasterKey`. */
  masterKey: Uint8Array
}

/** A recovery code that opens nothing yet: show it, and call `confirm` when the user has it on paper. */
export interface RecoveryCodeDraft<Confirmed = void> {
  /** 128 random bits in nine groups of three characters. It cannot be shown again. */
  recoveryCode: string
  /**
   * Stores the keyring that the code opens; until then the service has received nothing. After a failure without an answer,
   * call it again.
   */
  confirm(): Promise<Confirmed>
}

/** A vault that is not stored yet. `confirm` throws VaultExistsError if another device has stored one meanwhile. */
export type VaultDraft = RecoveryCodeDraft<Vault>

/** Whether the signed-in user has created a vault on any device. */
export async function hasVault(client: Client): Promise<boolean> {
  const result = await client.GET('/api/v1/account/keyring')
  if (result.response.status === 404) return false
  unwrap(result)
  return true
}

/**
 * Generates the user's keys on their first device. The vault exists once the returned draft's `confirm` has stored the
 * keyring, which the service cannot open, and has registered the export key. A draft that is never confirmed leaves nothing
 * behind: after a reload, create another.
 *
 * @throws VaultExistsError another device has already created a vault: open that one
 * @throws KeyringError `empty-passphrase`
 * @throws ApiError, SignedOutError
 */
export async function createVault(client: Client, owner: { userId: string; passphrase: string }): Promise<VaultDraft> {
  if (await hasVault(client)) throw new VaultExistsError()
  const { keyring, masterKey, recoveryCode } = await createKeyring(owner)
  return {
    recoveryCode,
    async confirm() {
      await storeKeyring(client, { keyring, revision: 1 })
      return completeVault(client, masterKey)
    },
  }
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
  return completeVault(client, await openKeyring(keyring, credentials))
}

/**
 * Replaces the passphrase. Nothing is re-encrypted, and the recovery code stays the same.
 *
 * @param current the current passphrase, or the recovery code
 * @throws WrongKeyError, KeyringError as `openVault`
 * @throws ApiError, with status 409 if another device changed the keyring meanwhile: try again
 * @throws TypeError no answer arrived: the new passphrase may count already
 */
export async function changeVaultPassphrase(
  client: Client,
  current: Credentials,
  newPassphrase: string,
): Promise<void> {
  const { keyring, revision } = unwrap(await client.GET('/api/v1/account/keyring'))
  const changed = await changePassphrase(keyring, current, newPassphrase)
  await storeKeyring(client, { keyring: changed, revision: revision + 1 })
}

/**
 * Prepares a new recovery code, at any time. The old one opens the vault until the returned draft's `confirm`, which throws
 * an ApiError with status 409 if another device has changed the keyring meanwhile: then start again, for the code that was
 * shown opens nothing.
 *
 * @param current the passphrase, or the current recovery code
 * @throws WrongKeyError, KeyringError, ApiError, SignedOutError as `openVault`
 */
export async function replaceRecoveryCode(client: Client, current: Credentials): Promise<RecoveryCodeDraft> {
  const { keyring, revision } = unwrap(await client.GET('/api/v1/account/keyring'))
  const replaced = await newRecoveryCode(keyring, current)
  return {
    recoveryCode: replaced.recoveryCode,
    confirm: () => storeKeyring(client, { keyring: replaced.keyring, revision: revision + 1 }),
  }
}

/** Never replaces a keyring that this device has not seen. A keyring whose answer was lost may be stored again. */
async function storeKeyring(client: Client, body: { keyring: string; revision: number }): Promise<void> {
  const stored = await client.PUT('/api/v1/account/keyring', { body })
  if (stored.response.status === 409) {
    const { keyring } = unwrap(await client.GET('/api/v1/account/keyring'))
    if (keyring === body.keyring) return
    if (body.revision === 1) throw new VaultExistsError()
  }
  unwrap(stored)
}

/** Registers the export key if an earlier device was cut off before it did, so that the passphrase alone opens exports. */
async function completeVault(client: Client, masterKey: Uint8Array): Promise<Vault> {
  const keys = deriveKeys(masterKey)
  const key = bytesToBase64(keys.exportKey)
  const registered = unwrap(await client.GET('/api/v1/account/export-key'))
  if (registered.key !== key) unwrap(await client.PUT('/api/v1/account/export-key', { body: { key } }))
  return { keys, masterKey }
}
