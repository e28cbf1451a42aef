/** The work of `vault.ts`, in a file that loads once a vault is opened or changed. */
import type { Client } from '../api/client.ts'
import { unwrap } from '../api/unwrap.ts'
import { bytesToBase64 } from '../crypto/base64.ts'
import {
  type Credentials,
  changePassphrase,
  createKeyring,
  type NewKeyring,
  newRecoveryCode,
  openKeyring,
  rotateKeyring,
  wrapAnew,
} from '../crypto/keyring.ts'
import type { Keys } from '../crypto/keys.ts'
import { deriveKeys } from '../crypto/keys.ts'
import { SignInAgainError, VaultExistsError } from '../errors.ts'

/** A user's keys, opened with the passphrase or the recovery code. */
export interface Vault {
  /** For `createSync`, `encryptBookmark`, `openExport`. */
  keys: Keys
  /** The 32 bytes that the keys are derived from, after rotations those of all keys; for `keepMasterKey`. */
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

/** A keyring that was replaced, and that the service keeps for a while. */
export interface EarlierKeyring {
  id: string
  /** The keyring's number: the first of a user is 1. */
  revision: number
  /** When it was replaced (Unix ms). */
  replacedAt: number
  /** When the service erases it (Unix ms), unless 20 later ones are kept before. */
  erasedAt: number
}

/** A vault that is not stored yet. `confirm` throws VaultExistsError if another device has stored one meanwhile. */
export type VaultDraft = RecoveryCodeDraft<Vault>

export async function createVault(client: Client, owner: { userId: string; passphrase: string }): Promise<VaultDraft> {
  return draftOf(client, await createKeyring(owner), 1)
}

export async function openVault(client: Client, credentials: Credentials): Promise<Vault> {
  const { keyring } = unwrap(await client.GET('/api/v1/account/keyring'))
  return completeVault(client, await openKeyring(keyring, credentials))
}

export async function changeVaultPassphrase(
  client: Client,
  current: Credentials,
  newPassphrase: string,
): Promise<void> {
  const { keyring, revision } = unwrap(await client.GET('/api/v1/account/keyring'))
  const changed = await changePassphrase(keyring, current, newPassphrase)
  await storeKeyring(client, { keyring: changed, revision: revision + 1 })
}

export async function replaceRecoveryCode(client: Client, current: Credentials): Promise<RecoveryCodeDraft> {
  const { keyring, revision } = unwrap(await client.GET('/api/v1/account/keyring'))
  const replaced = await newRecoveryCode(keyring, current)
  return {
    recoveryCode: replaced.recoveryCode,
    confirm: () => storeKeyring(client, { keyring: replaced.keyring, revision: revision + 1 }),
  }
}

export async function rotateKeys(client: Client, current: Credentials, passphrase: string): Promise<VaultDraft> {
  const { keyring, revision } = unwrap(await client.GET('/api/v1/account/keyring'))
  return draftOf(client, await rotateKeyring(keyring, current, passphrase), revision + 1)
}

export async function repairVault(
  client: Client,
  { masterKey, ...owner }: { userId: string; masterKey: Uint8Array; passphrase: string },
): Promise<VaultDraft> {
  const stored = await client.GET('/api/v1/account/keyring')
  const revision = stored.response.status === 404 ? 0 : unwrap(stored).revision
  return draftOf(client, await wrapAnew(masterKey, owner), revision + 1)
}

export async function earlierKeyrings(client: Client): Promise<EarlierKeyring[]> {
  const { versions } = unwrap(await client.GET('/api/v1/account/keyring/versions'))
  return versions.map(({ id, revision, replaced_at: replacedAt, erased_at: erasedAt }) => {
    return { id, revision, replacedAt, erasedAt }
  })
}

export async function restoreKeyring(client: Client, id: string): Promise<void> {
  unwrap(await client.POST('/api/v1/account/keyring/versions/{id}/restore', { params: { path: { id } } }))
}

export async function eraseEarlierKeyrings(client: Client): Promise<void> {
  unwrap(await client.DELETE('/api/v1/account/keyring/versions'))
}

function draftOf(client: Client, { keyring, masterKey, recoveryCode }: NewKeyring, revision: number): VaultDraft {
  return {
    recoveryCode,
    async confirm() {
      await storeKeyring(client, { keyring, revision })
      return completeVault(client, masterKey)
    },
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

/**
 * Registers the export key if an earlier device was cut off before it did, so that the passphrase alone opens exports. An old
 * sign-in opens the vault nevertheless, and leaves that to the next one.
 */
async function completeVault(client: Client, masterKey: Uint8Array): Promise<Vault> {
  const keys = deriveKeys(masterKey)
  const key = bytesToBase64(keys.exportKey)
  const registered = unwrap(await client.GET('/api/v1/account/export-key'))
  if (registered.key === key) return { keys, masterKey }
  try {
    unwrap(await client.PUT('/api/v1/account/export-key', { body: { key } }))
  } catch (error) {
    if (!(error instanceof SignInAgainError)) throw error
  }
  return { keys, masterKey }
}
