import type { Client } from '../api/client.ts'
import { onDemand, unwrap } from '../api/unwrap.ts'
import type { Credentials, NewOwner, PassphraseRules } from '../crypto/keyring.ts'
import { VaultExistsError } from '../errors.ts'
import type { EarlierKeyring, RecoveryCodeDraft, Vault, VaultDraft, VaultRepair, VaultUser } from './operations.ts'

/**
 * True if the user has created a vault on any device.
 *
 * @throws ApiError
 * @throws SignedOutError nobody is signed in, or somebody else is. All functions of this file throw it, and have then
 *   changed nothing
 */
export async function hasVault(client: Client, { userId }: VaultUser): Promise<boolean> {
  const session = await client.as(userId).GET('/api/v1/auth/session')
  return unwrap(session).has_keyring
}

/**
 * Generates the user's keys on their first device. The vault exists once the returned draft's `confirm` has stored the
 * keyring, which the service cannot open, and has registered the export key. A draft that is never confirmed leaves
 * nothing behind: after a reload, create another.
 *
 * @throws VaultExistsError another device has already created a vault: open that one
 * @throws WeakPassphraseError the passphrase is too easy to guess
 * @throws KeyringError `empty-passphrase`
 * @throws ApiError, SignedOutError
 * @throws OfflineError the code that judges the passphrase did not arrive
 */
export async function createVault(client: Client, owner: NewOwner): Promise<VaultDraft> {
  if (await hasVault(client, owner)) throw new VaultExistsError()
  return (await loadOperations()).createVault(client, owner)
}

/**
 * Opens the user's vault on another device.
 *
 * @throws WrongKeyError the passphrase or recovery code is wrong, or the service sent an altered keyring; nothing was stored
 * @throws KeyringError the keyring or the passphrase is otherwise invalid
 * @throws ApiError, with status 404 if there is no vault yet; SignedOutError
 */
export async function openVault(client: Client, credentials: Credentials): Promise<Vault> {
  return (await loadOperations()).openVault(client, credentials)
}

/**
 * Replaces the passphrase. Nothing is re-encrypted, and the recovery code stays the same.
 *
 * @param current the current passphrase, or the recovery code
 * @throws WrongKeyError, KeyringError as `openVault`; WeakPassphraseError as `createVault`
 * @throws ApiError, with status 409 if another device changed the keyring meanwhile: try again
 * @throws SignInAgainError
 * @throws TypeError no answer arrived: the new passphrase may count already
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
 * Prepares a new recovery code, at any time. The old one opens the vault until the returned draft's `confirm`, which throws
 * an ApiError with status 409 if another device has changed the keyring meanwhile: then start again, for the code that was
 * shown opens nothing. `confirm` throws SignInAgainError, and can be called again after the sign-in.
 *
 * @param current the passphrase, or the current recovery code
 * @throws WrongKeyError, KeyringError, ApiError, SignedOutError as `openVault`
 */
export async function replaceRecoveryCode(client: Client, current: Credentials): Promise<RecoveryCodeDraft> {
  return (await loadOperations()).replaceRecoveryCode(client, current)
}

/**
 * Replaces the master key: after this, a person who has the old one (a lost laptop, for example) opens nothing that is
 * written later. The service must have signed that device out before. The vault's older keys stay in the keyring, where
 * only the new one opens them, for what was encrypted before.
 *
 * The returned draft's `confirm` stores the keyring and returns the new keys. Then keep the master key
 * (`keepMasterKey`), and pass the keys to `sync.adoptKeys`, which re-encrypts the bookmarks. Other devices stop with
 * the reason `keys` until they open the vault again. `confirm` throws an ApiError with status 409 if another device has
 * changed the keyring meanwhile: then start again, for the code that was shown opens nothing. It throws
 * SignInAgainError, and can be called again after the sign-in.
 *
 * @param current the passphrase, or the recovery code; both are replaced: the recovery code by the draft's
 * @param passphrase the passphrase from then on; it may be the same
 * @throws WrongKeyError, KeyringError, ApiError, SignedOutError as `openVault`; WeakPassphraseError as `createVault`
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
 * Rewraps the keys that this device has, if neither passphrase nor recovery code opens the keyring that the service
 * has: a faulty program may have stored it. The keys stay the same, and so do all bookmarks. The returned draft's
 * `confirm` stores the keyring, and throws SignInAgainError, or an ApiError with status 409 if another device has
 * changed it meanwhile: then start again, for the code that was shown opens nothing.
 *
 * Keys that were replaced are not put back: if the service's keyring, an earlier one or a bookmark names a key that
 * this device lacks, it throws `keys-replaced`, and a device that was opened since the keys were replaced can repair
 * the vault. It does not notice if the service hides all of these.
 *
 * @throws KeyringError `empty-passphrase`; `keys-replaced`, unless `replacesKeys` is set
 * @throws ApiError, SignedOutError
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
 * keyring that it replaces do not. That one is kept, so that it can be restored as well. If the keys were rotated
 * between the two (`keyId`), the earlier one opens what was encrypted until then; what was encrypted since is readable
 * again once the newer one is restored. If no answer arrived, call it again.
 *
 * @param keyring the user, and the keyring's id from `earlierKeyrings`
 * @throws SignInAgainError
 * @throws ApiError, with status 404 if it is not kept any more; SignedOutError
 */
export async function restoreKeyring(client: Client, keyring: VaultUser & { id: string }): Promise<void> {
  return (await loadOperations()).restoreKeyring(client, keyring)
}

/**
 * Erases the keyrings that were replaced: after a rotation for a lost device, whose passphrase somebody may know.
 *
 * @throws SignInAgainError, ApiError, SignedOutError
 */
export async function eraseEarlierKeyrings(client: Client, user: VaultUser): Promise<void> {
  return (await loadOperations()).eraseEarlierKeyrings(client, user)
}

/** Loaded on demand, because a device that stores its master key does not need it. */
function loadOperations() {
  return onDemand(import('./operations.ts'))
}
