import type { Client } from '../api/client.ts'
import { answer, onDemand, unwrap } from '../api/unwrap.ts'
import type { Credentials, NewOwner, PassphraseRules } from '../crypto/keyring.ts'
import { VaultExistsError } from '../errors.ts'
import type { EarlierKeyring, RecoveryCodeDraft, Vault, VaultDraft, VaultRepair, VaultUser } from './operations.ts'

/**
 * True if the user has created a vault on any device.
 *
 * @throws ApiError, OfflineError, as all functions of this file
 * @throws SignedOutError nobody is signed in, or another user is; nothing was changed. All functions of this file throw it
 */
export async function hasVault(client: Client, { userId }: VaultUser): Promise<boolean> {
  const session = await answer(client.as(userId).GET('/api/v1/auth/session'))
  return unwrap(session).has_keyring
}

/**
 * Generates the user's keys on their first device. The vault exists once the returned draft's `confirm` has stored the
 * keyring, which the service cannot open, and has registered the export key. A draft that is never confirmed leaves
 * nothing behind: after a reload, create another.
 *
 * @throws VaultExistsError another device has already created a vault: open that one
 * @throws WeakPassphraseError the passphrase is too easy to guess
 * @throws KeyringError `empty-passphrase`; UnsupportedError without WebAssembly
 * @throws ApiError, SignedOutError
 * @throws OfflineError no response arrived, or a part of the package could not be loaded
 */
export async function createVault(client: Client, owner: NewOwner): Promise<VaultDraft> {
  if (await hasVault(client, owner)) throw new VaultExistsError()
  return (await loadOperations()).createVault(client, owner)
}

/**
 * Opens the user's vault with the passphrase or the recovery code.
 *
 * @throws WrongKeyError the passphrase or recovery code is wrong, or the service sent an altered keyring; nothing was stored
 * @throws KeyringError the keyring or the passphrase is otherwise invalid; UnsupportedError without WebAssembly
 * @throws ApiError, with status 404 if there is no vault yet; SignedOutError, OfflineError
 */
export async function openVault(client: Client, credentials: Credentials): Promise<Vault> {
  return (await loadOperations()).openVault(client, credentials)
}

/**
 * Replaces the passphrase. Nothing is re-encrypted, and the recovery code stays the same.
 *
 * @param current the current passphrase, or the recovery code
 * @throws WrongKeyError, KeyringError, UnsupportedError as `openVault`; WeakPassphraseError as `createVault`
 * @throws ApiError, with status 409 if another device changed the keyring meanwhile: try again
 * @throws SignInAgainError
 * @throws OfflineError no response arrived: the new passphrase may be valid already
 */
export async function changeVaultPassphrase(
  client: Client,
  current: Credentials,
  newPassphrase: string,
  rules?: PassphraseRules,
): Promise<void> {
  return (await loadOperations()).changeVaultPassphrase(client, current, newPassphrase, rules)
}

/**
 * Prepares a new recovery code, at any time. The old code opens the vault until the returned draft's `confirm`. That throws
 * an ApiError with status 409 if another device has changed the keyring meanwhile: then start again, because the new code
 * opens nothing. It may throw SignInAgainError, and can be called again after the sign-in.
 *
 * @param current the passphrase, or the current recovery code
 * @throws WrongKeyError, KeyringError, UnsupportedError, ApiError, SignedOutError, OfflineError as `openVault`
 */
export async function replaceRecoveryCode(client: Client, current: Credentials): Promise<RecoveryCodeDraft> {
  return (await loadOperations()).replaceRecoveryCode(client, current)
}

/**
 * Replaces the master key: a person who has the old one (on a lost laptop, for example) cannot open anything that is written
 * later. End the session of such a device first (`endSession`). The older keys stay in the keyring, to open what was
 * encrypted before; only the new key opens them there.
 *
 * The returned draft's `confirm` stores the keyring and returns the new keys. Then keep the master key
 * (`keepMasterKey`), and pass the keys to `sync.adoptKeys`, which re-encrypts the bookmarks. Other devices stop syncing, with
 * the status's reason `keys`, until they open the vault again. `confirm` throws an ApiError with status 409 if another device has
 * changed the keyring meanwhile: then start again, because the new code opens nothing. It may throw
 * SignInAgainError, and can be called again after the sign-in.
 *
 * @param current the passphrase, or the recovery code; both are replaced: the recovery code by the draft's
 * @param passphrase the passphrase of the new keyring; it may be the same
 * @throws WrongKeyError, KeyringError, UnsupportedError, ApiError, SignedOutError, OfflineError as `openVault`
 * @throws WeakPassphraseError as `createVault`
 */
export async function rotateKeys(
  client: Client,
  current: Credentials,
  passphrase: string,
  rules?: PassphraseRules,
): Promise<VaultDraft> {
  return (await loadOperations()).rotateKeys(client, current, passphrase, rules)
}

/**
 * Wraps this device's keys in a new keyring, for a vault whose keyring neither the passphrase nor the recovery code opens:
 * a faulty program may have stored it. The keys and all bookmarks stay the same. The returned draft's `confirm` stores the
 * keyring. It may throw SignInAgainError, or an ApiError with status 409 if another device has changed the keyring
 * meanwhile: then start again, because the new code opens nothing.
 *
 * Keys that were replaced are not put back: if the service's keyring, an earlier keyring or a bookmark names a key that
 * this device lacks, this throws `keys-replaced`, and a device that has opened the vault since can repair it. If the
 * service hides all of these, replaced keys are put back unnoticed.
 *
 * @throws KeyringError `empty-passphrase`; `keys-replaced`, unless `replacesKeys` is set
 * @throws WeakPassphraseError, UnsupportedError, ApiError, SignedOutError, OfflineError
 */
export async function repairVault(client: Client, repair: VaultRepair): Promise<VaultDraft> {
  return (await loadOperations()).repairVault(client, repair)
}

/** The keyrings that were replaced and that the service still keeps, the last replaced first. */
export async function earlierKeyrings(client: Client, user: VaultUser): Promise<EarlierKeyring[]> {
  return (await loadOperations()).earlierKeyrings(client, user)
}

/**
 * Makes an earlier keyring the current one: its passphrase and its recovery code open the vault again, and those of the
 * current keyring do not any more. The replaced keyring is kept, so that it can be restored, too. If the keys were rotated
 * between the two (`keyId` differs), the earlier keyring opens only what was encrypted until then; restore the newer one
 * to read the rest. If no response arrived, call this again.
 *
 * @param keyring the user, and the keyring's id from `earlierKeyrings`
 * @throws SignInAgainError
 * @throws ApiError, with status 404 if the service does not keep it any more; SignedOutError, OfflineError
 */
export async function restoreKeyring(client: Client, keyring: VaultUser & { id: string }): Promise<void> {
  return (await loadOperations()).restoreKeyring(client, keyring)
}

/**
 * Erases the keyrings that were replaced, for example after a rotation because somebody may know the old passphrase.
 *
 * @throws SignInAgainError, ApiError, SignedOutError, OfflineError
 */
export async function eraseEarlierKeyrings(client: Client, user: VaultUser): Promise<void> {
  return (await loadOperations()).eraseEarlierKeyrings(client, user)
}

/** Loaded on demand, because a device that stores its master key does not need it. */
function loadOperations() {
  return onDemand(import('./operations.ts'))
}
