import type { Keys } from '../crypto/keys.ts'

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

/** A vault that is not stored yet. `confirm` throws VaultExistsError if another device has stored one meanwhile. */
export type VaultDraft = RecoveryCodeDraft<Vault>
