/**
 * `encrypted-bookmark-sync-client/crypto`: encryption and decryption on the user's devices, without calls to the service.
 * Functions document their byte layouts; test vectors for other implementations are in the service's `test/vectors/`.
 */

import { onDemand } from './api/unwrap.ts'
import type { PassphraseStrength } from './crypto/judge.ts'
import type { Credentials, NewKeyring, NewOwner, PassphraseRules } from './crypto/keyring.ts'

export type { EntityType, ExportSummary, OpenedExport, PlaintextBookmark } from './bookmark.ts'
export { historyId } from './crypto/derived-id.ts'
export type { PassphraseStrength } from './crypto/judge.ts'
export type { Credentials, NewKeyring, NewOwner, PassphraseRules } from './crypto/keyring.ts'
export { deriveKeys, type Keys } from './crypto/keys.ts'
export { decryptBookmark, encryptBookmark, type SealedRecord, type StoredRecord } from './crypto/record.ts'
export {
  ExportError,
  type ExportFault,
  KeyringError,
  type KeyringFault,
  RecordError,
  type RecordFault,
  WeakPassphraseError,
  WrongKeyError,
} from './errors.ts'
export type { ExportFile } from './export-file/export-file.ts'
export { type ExportKeys, openExport, streamExport } from './export-file/export-file.ts'

/**
 * Estimates how hard a passphrase is to guess for an attacker who has the keyring: by dictionaries, names, keyboard
 * patterns and dates. Sends nothing. The first call loads about 850 kB and takes half a second.
 *
 * @param known names and addresses that somebody who knows the person would try first
 * @throws OfflineError the dictionaries did not arrive
 */
export async function judgePassphrase(passphrase: string, known: readonly string[] = []): Promise<PassphraseStrength> {
  return (await onDemand(import('./crypto/judge.ts'))).judge(passphrase, known)
}

/**
 * Generates a random master key and wraps it twice: under Argon2id (RFC 9106: 64 MiB, 3 passes, 1 lane, 16-byte random
 * salt) of the passphrase, and under HKDF-SHA256 (RFC 5869, no salt, info `ebs/recovery/1`) of a random recovery code.
 * Both are wrapped with XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha-03); the associated data are the format, the user id,
 * the KDF and, for Argon2id, its parameters and the salt (base64), joined by NUL.
 *
 * The passphrase is normalized to Unicode NFKC, so that every keyboard produces the same one. Takes about 0.3 s and 64 MiB.
 *
 * @throws KeyringError `empty-passphrase`; TypeError `userId` is not an id; UnsupportedError without WebAssembly
 * @throws WeakPassphraseError; OfflineError a part of the package could not be loaded
 */
export async function createKeyring(owner: NewOwner): Promise<NewKeyring> {
  return (await loadKeyring()).createKeyring(owner)
}

/**
 * Opens a keyring with the passphrase or the recovery code.
 *
 * @returns the master key: 32 bytes; after rotations 32 of each master key, the newest first
 * @throws WrongKeyError `wrong-passphrase` or `wrong-recovery-code`, also if the keyring was altered or is another user's
 * @throws UnsupportedError, OfflineError as `createKeyring`
 * @throws KeyringError `mistyped-recovery-code`, `empty-passphrase`, `malformed`, `unknown-version`, `weak-kdf`, `excessive-kdf`
 */
export async function openKeyring(keyring: string, credentials: Credentials): Promise<Uint8Array> {
  return (await loadKeyring()).openKeyring(keyring, credentials)
}

/**
 * Wraps the master key under a new passphrase. Records and the recovery code stay the same. The old keyring still
 * opens with the old passphrase, for anybody who has a copy: erase it (`eraseEarlierKeyrings`).
 *
 * @param current the current passphrase, or the recovery code
 * @returns the keyring to store instead of the old one
 * @throws KeyringError as `openKeyring`; `altered`: the keyring was changed by a program without its keys
 * @throws WeakPassphraseError; UnsupportedError, OfflineError as `createKeyring`
 */
export async function changePassphrase(
  keyring: string,
  current: Credentials,
  newPassphrase: string,
  rules?: PassphraseRules,
): Promise<string> {
  return (await loadKeyring()).changePassphrase(keyring, current, newPassphrase, rules)
}

/**
 * Wraps the master key under a new recovery code. The passphrase stays the same. The old keyring still opens with the
 * old code, for anybody who has a copy: erase it (`eraseEarlierKeyrings`).
 *
 * @param current the passphrase, or the current recovery code
 * @returns the keyring, to store instead of the old one once the user has the code on paper, and the code
 * @throws KeyringError, UnsupportedError, OfflineError as `openKeyring`; `altered`: it was changed without its keys
 */
export async function newRecoveryCode(
  keyring: string,
  current: Credentials,
): Promise<Pick<NewKeyring, 'keyring' | 'recoveryCode'>> {
  return (await loadKeyring()).newRecoveryCode(keyring, current)
}

/**
 * Generates a new master key, and wraps it under the passphrase and a new recovery code. The keyring also has the
 * older master keys, wrapped together under the new one only (HKDF-SHA256, info `ebs/older/1`): an older key does not open
 * the new one. The old keyring still opens with the old passphrase and code: erase it (`eraseEarlierKeyrings`).
 *
 * @param current the current passphrase or recovery code
 * @param passphrase the passphrase of the new keyring; it may be the same
 * @returns the keyring to store instead of the old one; its `masterKey` is the new master key, followed by the older ones
 * @throws KeyringError, UnsupportedError, OfflineError as `openKeyring`
 * @throws WeakPassphraseError
 */
export async function rotateKeyring(
  keyring: string,
  current: Credentials,
  passphrase: string,
  rules?: PassphraseRules,
): Promise<NewKeyring> {
  return (await loadKeyring()).rotateKeyring(keyring, current, passphrase, rules)
}

/** Loaded on demand, because a device that stores its master key does not need it. */
function loadKeyring() {
  return onDemand(import('./crypto/keyring.ts'))
}
