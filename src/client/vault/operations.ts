/** The implementation of `vault.ts`, in a file that loads when a vault is opened or changed. */
import { claimedKeyId } from '../../protocol/key-id.ts'
import type { Client } from '../api/client.ts'
import { answer, unwrap } from '../api/unwrap.ts'
import { base64ToBytes, bytesToBase64 } from '../crypto/base64.ts'
import {
  type Credentials,
  changePassphrase,
  createKeyring,
  type NewKeyring,
  type NewOwner,
  newRecoveryCode,
  openKeyring,
  type PassphraseRules,
  rewrap,
  rotateKeyring,
  wrapUnderNewKey,
} from '../crypto/keyring.ts'
import type { Keys } from '../crypto/keys.ts'
import { deriveKeys, keyOf, lacksKey } from '../crypto/keys.ts'
import { ApiError, KeyringError, SignInAgainError, VaultExistsError } from '../errors.ts'

/** A user's keys, opened with the passphrase or the recovery code. */
export interface Vault {
  /** For `createSync`, `encryptBookmark`, `openExport`. */
  keys: Keys
  /** The 32 bytes that `keys` are derived from; after rotations, all master keys, the newest first. For `keepMasterKey`. */
  masterKey: Uint8Array
}

/** A recovery code that opens nothing yet: show it, and call `confirm` once the user has it on paper. */
export interface RecoveryCodeDraft<Confirmed = void> {
  /** 128 random bits in nine groups of three, with a check symbol. It cannot be shown again. */
  recoveryCode: string
  /**
   * Stores the keyring that the code opens; until then the service has received nothing. If no response arrives, call it again.
   */
  confirm(): Promise<Confirmed>
}

/** A keyring that was replaced, and that the service keeps for a while. */
export interface EarlierKeyring {
  id: string
  /** Counts the user's keyrings, from 1. */
  revision: number
  /**
   * The id of the keyring's newest master key, in base64; undefined for the vault's first key. If a later keyring has
   * another id, the keys were rotated in between, and this keyring opens nothing that was encrypted since.
   */
  keyId: string | undefined
  /** When it was replaced (Unix ms). */
  replacedAt: number
  /** When it can no longer be restored (Unix ms), and is soon erased; earlier once the service keeps 20 later ones. */
  erasedAt: number
}

/** The options of `repairVault`: the new passphrase; the draft has a new recovery code. */
export interface VaultRepair extends NewOwner {
  /** From `loadMasterKey` or `openVault`. */
  masterKey: Uint8Array
  /**
   * For use after the fault `keys-replaced`, if there are no newer keys or no device has them. True: wraps a new master key,
   * with this device's keys as older ones. After `confirm`, do the same as after `rotateKeys`.
   */
  replacesKeys?: boolean | undefined
}

/** The user whose vault a function acts on. */
export interface VaultUser {
  /** The signed-in user's `user_id`. */
  userId: string
}

/** A vault that is not stored yet. `confirm` throws VaultExistsError if another device has stored the first keyring before. */
export type VaultDraft = RecoveryCodeDraft<Vault>

export async function createVault(client: Client, owner: NewOwner): Promise<VaultDraft> {
  return draftOf(client.as(owner.userId), await createKeyring(owner), 1)
}

export async function openVault(baseClient: Client, credentials: Credentials): Promise<Vault> {
  const client = baseClient.as(credentials.userId)
  const { keyring } = unwrap(await answer(client.GET('/api/v1/account/keyring')))
  return completeVault(client, await openKeyring(keyring, credentials))
}

export async function changeVaultPassphrase(
  baseClient: Client,
  current: Credentials,
  newPassphrase: string,
  rules?: PassphraseRules,
): Promise<void> {
  const client = baseClient.as(current.userId)
  const { keyring, revision } = unwrap(await answer(client.GET('/api/v1/account/keyring')))
  const changed = await changePassphrase(keyring, current, newPassphrase, rules)
  await storeKeyring(client, { keyring: changed, revision: revision + 1 })
}

export async function replaceRecoveryCode(baseClient: Client, current: Credentials): Promise<RecoveryCodeDraft> {
  const client = baseClient.as(current.userId)
  const { keyring, revision } = unwrap(await answer(client.GET('/api/v1/account/keyring')))
  const replaced = await newRecoveryCode(keyring, current)
  return {
    recoveryCode: replaced.recoveryCode,
    confirm: () => storeKeyring(client, { keyring: replaced.keyring, revision: revision + 1 }),
  }
}

export async function rotateKeys(
  baseClient: Client,
  current: Credentials,
  passphrase: string,
  rules?: PassphraseRules,
): Promise<VaultDraft> {
  const client = baseClient.as(current.userId)
  const { keyring, revision } = unwrap(await answer(client.GET('/api/v1/account/keyring')))
  return draftOf(client, await rotateKeyring(keyring, current, passphrase, rules), revision + 1)
}

export async function repairVault(
  baseClient: Client,
  { masterKey, replacesKeys = false, ...owner }: VaultRepair,
): Promise<VaultDraft> {
  const client = baseClient.as(owner.userId)
  const stored = await answer(client.GET('/api/v1/account/keyring'))
  const { keyring, revision } = stored.response.status === 404 ? { keyring: '', revision: 0 } : unwrap(stored)
  if (replacesKeys) return draftOf(client, await wrapUnderNewKey(masterKey, owner), revision + 1)
  if (await areReplaced(client, deriveKeys(masterKey), keyring)) {
    throw new KeyringError(
      'keys-replaced',
      'The keys of this device were replaced: only a device that was opened since can repair the vault',
    )
  }
  return draftOf(client, await rewrap(masterKey, owner), revision + 1)
}

/**
 * True if a keyring or a bookmark on the service names another key than these. The keyring may name none, if a faulty
 * program stored it. Keyrings from before the newest of these keys do not count, because that key replaced theirs.
 */
async function areReplaced(client: Client, keys: Keys, keyring: string): Promise<boolean> {
  const newest = bytesToBase64(keys.prefix.subarray(1))
  for (const { keyId } of [{ keyId: claimedKeyId(keyring) }, ...(await listEarlier(client))]) {
    if (keyId === newest) break
    if (lacksKey(keys, keyId)) return true
  }
  // Earlier keyrings may be erased. After a rotation, bookmarks are re-encrypted under the newest key.
  const { data } = unwrap(await answer(client.GET('/api/v1/bookmarks', { params: { query: { limit: 20 } } })))
  return data.some(({ encrypted_data }) => {
    const prefix = base64ToBytes(encrypted_data.slice(0, 12))
    return prefix?.[0] === 2 && !keyOf(keys, prefix)
  })
}

export async function earlierKeyrings(client: Client, { userId }: VaultUser): Promise<EarlierKeyring[]> {
  return listEarlier(client.as(userId))
}

async function listEarlier(client: Client): Promise<EarlierKeyring[]> {
  const { versions } = unwrap(await answer(client.GET('/api/v1/account/keyring/versions')))
  return versions.map(({ id, revision, key_id: keyId, replaced_at: replacedAt, erased_at: erasedAt }) => {
    return { id, revision, keyId, replacedAt, erasedAt }
  })
}

export async function restoreKeyring(client: Client, { userId, id }: VaultUser & { id: string }): Promise<void> {
  const params = { path: { id } }
  unwrap(await answer(client.as(userId).POST('/api/v1/account/keyring/versions/{id}/restore', { params })))
}

export async function eraseEarlierKeyrings(client: Client, { userId }: VaultUser): Promise<void> {
  unwrap(await answer(client.as(userId).DELETE('/api/v1/account/keyring/versions')))
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

/** Never replaces a keyring that this device has not seen. After a lost response, the same keyring can be stored again. */
async function storeKeyring(client: Client, body: { keyring: string; revision: number }): Promise<void> {
  const stored = await answer(client.PUT('/api/v1/account/keyring', { body }))
  if (stored.response.status === 409) {
    const { keyring } = unwrap(await answer(client.GET('/api/v1/account/keyring')))
    if (keyring === body.keyring) return
    if (body.revision === 1) throw new VaultExistsError()
  }
  unwrap(stored)
}

/**
 * Registers the export key unless it is registered, so that the passphrase is enough to open exports. If the service refuses
 * that, for example because the sign-in is too old, the vault opens nevertheless, and the next opening registers the key.
 */
async function completeVault(client: Client, masterKey: Uint8Array): Promise<Vault> {
  const keys = deriveKeys(masterKey)
  const key = bytesToBase64(keys.exportKey)
  try {
    const read = await answer(client.GET('/api/v1/account/export-key')).catch(() => undefined)
    if (read?.data?.key === key) return { keys, masterKey }
    unwrap(await answer(client.PUT('/api/v1/account/export-key', { body: { key } })))
  } catch (error) {
    if (!(error instanceof SignInAgainError || error instanceof ApiError)) throw error
  }
  return { keys, masterKey }
}
