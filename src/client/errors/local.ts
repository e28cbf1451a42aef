// Apart from the others, so that what decrypts records alone does not load those.

/**
 * What can be wrong with a keyring, a passphrase or a recovery code.
 * - `malformed`: not a keyring, or longer than 16,384 characters
 * - `unknown-version`: a format that this client does not know
 * - `weak-kdf`, `excessive-kdf`: Argon2id parameters below or above the accepted range
 * - `empty-passphrase`: no passphrase was given
 * - `wrong-passphrase`, `wrong-recovery-code`: the key does not unwrap; also if the keyring was altered or belongs to
 *   another user
 * - `mistyped-recovery-code`: the text is not a possible recovery code; it was not tried
 */
export type KeyringFault =
  | 'malformed'
  | 'unknown-version'
  | 'weak-kdf'
  | 'excessive-kdf'
  | 'empty-passphrase'
  | 'wrong-passphrase'
  | 'wrong-recovery-code'
  | 'mistyped-recovery-code'

/**
 * What can be wrong with a record.
 * - `invalid-id`: the id is not 1 to 128 printable ASCII characters, or is `.` or `..`
 * - `too-large`: `encrypted_data` would exceed 262,144 characters
 * - `malformed`: not base64, too short, or does not contain a bookmark
 * - `unknown-version`: a layout that this client does not know
 * - `unknown-key`: encrypted under a master key that is not among those given: another device may have rotated the keys
 * - `altered`: cannot be decrypted: altered ciphertext, another key, another id or another entity type
 * - `altered-hash`: can be decrypted, but `data_hash` is not the hash of the content
 * - `other-id`: the bookmark inside has another id
 */
export type RecordFault =
  | 'invalid-id'
  | 'too-large'
  | 'malformed'
  | 'unknown-version'
  | 'unknown-key'
  | 'altered'
  | 'altered-hash'
  | 'other-id'

/**
 * What can be wrong with an export file.
 * - `not-an-export`: does not begin like an export file
 * - `unknown-version`: the file or the JSON inside has a version that this client does not know
 * - `other-key`: was encrypted under another export key
 * - `damaged`: a chunk cannot be decrypted: it was altered, truncated, reordered or followed by other bytes
 * - `trailing-bytes`: there are bytes after the last chunk (reported as `damaged` if the two cannot be told apart)
 * - `counter-overflow`: more chunks than the format can count
 * - `malformed`: can be decrypted, but is not the JSON of an export
 */
export type ExportFault =
  | 'not-an-export'
  | 'unknown-version'
  | 'other-key'
  | 'damaged'
  | 'trailing-bytes'
  | 'counter-overflow'
  | 'malformed'

class Faulty<Fault extends string> extends Error {
  /** What is wrong, for programs; `message` is for people. */
  readonly fault: Fault

  constructor(fault: Fault, message: string) {
    super(message)
    this.fault = fault
  }
}

/** The passphrase, the recovery code or the keyring cannot be used as it is; `fault` says why. */
export class KeyringError extends Faulty<KeyringFault> {
  override readonly name: string = 'KeyringError'
}

/** The passphrase or recovery code is wrong, or the keyring was altered or belongs to another user. */
export class WrongKeyError extends KeyringError {
  override readonly name = 'WrongKeyError'
}

/** The bookmark cannot be encrypted, or the record cannot be decrypted; `fault` says why. */
export class RecordError extends Faulty<RecordFault> {
  override readonly name = 'RecordError'
}

/** The file is damaged, cut off, another user's, or no export; `fault` says which. */
export class ExportError extends Faulty<ExportFault> {
  override readonly name = 'ExportError'
}

/** No response arrived: no network, no service, or a timeout. `cause` is the platform's error, if it reports one. */
export class OfflineError extends Error {
  override readonly name = 'OfflineError'

  constructor(message = 'The service did not respond', options?: ErrorOptions) {
    super(message, options)
  }
}
