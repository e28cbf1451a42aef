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
  override readonly name: string = 'KeyringError'
}

/** The passphrase or the recovery code is not the keyring's, or the keyring was altered or is another user's. */
export class WrongKeyError extends KeyringError {
  override readonly name = 'WrongKeyError'
}

/** The person made a vault on another device already: open that one. */
export class VaultExistsError extends Error {
  override readonly name = 'VaultExistsError'

  constructor() {
    super('There is a vault already')
  }
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

/** The service answered with an error. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  /** HTTP status. */
  readonly status: number
  /** The answer's X-Request-Id, by which the service's operator finds it in the log. */
  readonly requestId: string | undefined

  /** @param message the contract's text, as the service sent it */
  constructor(status: number, message: string, requestId?: string) {
    super(message)
    this.status = status
    this.requestId = requestId
  }
}

/** The session is over, or is another user's: sign in again. What was not sent yet is kept. */
export class SignedOutError extends Error {
  override readonly name = 'SignedOutError'

  constructor(message = 'Signed out: sign in again', options?: ErrorOptions) {
    super(message, options)
  }
}

/** No answer came: no network, no service, or not in time. `cause` holds what the platform says, where it says anything. */
export class OfflineError extends Error {
  override readonly name = 'OfflineError'

  constructor(message = 'The service did not answer', options?: ErrorOptions) {
    super(message, options)
  }
}

/** The service sent a bookmark in a version older than the one that this device got before. The newer one stays. */
export class RollbackError extends Error {
  override readonly name = 'RollbackError'
  /** The bookmark's. */
  readonly id: string
  /** When the version that this device has was made (Unix ms). */
  readonly known: number
  /** When the one that the service sent was made (Unix ms). */
  readonly received: number

  constructor(id: string, known: number, received: number) {
    super(`Bookmark ${id} went back in time: the service sent the version of ${received}, after that of ${known}`)
    this.id = id
    this.known = known
    this.received = received
  }
}

/** The device's storage has no room. Nothing of what was to be written was; what had been stored is intact. */
export class StorageFullError extends Error {
  override readonly name = 'StorageFullError'

  constructor(options?: ErrorOptions) {
    super('The storage of this device is full', options)
  }
}

/** Signing out would lose edits that were not sent yet. */
export class UnsentChangesError extends Error {
  override readonly name = 'UnsentChangesError'
  /** Bookmarks with an edit that was not sent. */
  readonly count: number

  constructor(count: number) {
    super(`${count} edited bookmarks were not sent yet`)
    this.count = count
  }
}
