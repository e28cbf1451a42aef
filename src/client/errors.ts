/**
 * What can be wrong with a keyring or with what was given to open it.
 * - `malformed`: not a keyring at all, or longer than 16,384 characters
 * - `unknown-version`: a format that this client does not know
 * - `weak-kdf`, `excessive-kdf`: Argon2id parameters below or above what is accepted
 * - `empty-passphrase`: no passphrase was given
 * - `wrong-passphrase`, `wrong-recovery-code`: the key does not unwrap; also when the keyring was altered or is another
 *   user's
 * - `mistyped-recovery-code`: the recovery code cannot be one; nothing was tried with it
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
 * - `invalid-id`: an id that is not 1 to 128 printable ASCII characters
 * - `too-large`: would exceed 262,144 characters of `encrypted_data`
 * - `malformed`: no base64, too short, or no bookmark inside
 * - `unknown-version`: a layout that this client does not know
 * - `altered`: does not open: altered ciphertext, another key, another id or another entity type
 * - `altered-hash`: opens, but `data_hash` is not the hash of what is inside
 * - `other-id`: the bookmark inside names another id
 */
export type RecordFault =
  | 'invalid-id'
  | 'too-large'
  | 'malformed'
  | 'unknown-version'
  | 'altered'
  | 'altered-hash'
  | 'other-id'

/**
 * What can be wrong with an export file.
 * - `not-an-export`: does not begin like one
 * - `unknown-version`: of the file or of the JSON inside
 * - `other-key`: was made under another export key
 * - `damaged`: a chunk does not open: altered, cut off, reordered, or followed by something
 * - `trailing-bytes`: something follows the last chunk (told apart from `damaged` where that is possible)
 * - `counter-overflow`: more chunks than the format can count
 * - `malformed`: opens, but is not the JSON of an export
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
  /** What is wrong, for code; `message` is for people. */
  readonly fault: Fault

  constructor(fault: Fault, message: string) {
    super(message)
    this.fault = fault
  }
}

export class KeyringError extends Faulty<KeyringFault> {
  override readonly name = 'KeyringError'
}

export class RecordError extends Faulty<RecordFault> {
  override readonly name = 'RecordError'
}

export class ExportError extends Faulty<ExportFault> {
  override readonly name = 'ExportError'
}

/** The text is not a Netscape bookmark file. */
export class BookmarkFileError extends Error {
  override readonly name = 'BookmarkFileError'
}
