import type * as listed from '../../generated/errors.ts'
import { SignInAgain } from '../../generated/errors.ts'

/**
 * The faults of a keyring, a passphrase or a recovery code.
 * - `malformed`: not a keyring, or longer than 16,384 characters
 * - `unknown-version`: a format that this client does not know
 * - `weak-kdf`, `excessive-kdf`: Argon2id parameters below or above the accepted range
 * - `empty-passphrase`: no passphrase was given
 * - `weak-passphrase`: the new passphrase is too easy to guess
 * - `wrong-passphrase`, `wrong-recovery-code`: it does not open the keyring; also if the keyring was altered or belongs
 *   to another user
 * - `mistyped-recovery-code`: the text is not a possible recovery code; it was not tried
 * - `altered`: the keyring was not made with these keys, or was changed later by a program that does not have them
 * - `keys-replaced`: the service has a keyring or bookmarks of other keys: devices that opened the vault since have them
 */
export type KeyringFault =
  | 'malformed'
  | 'unknown-version'
  | 'weak-kdf'
  | 'excessive-kdf'
  | 'empty-passphrase'
  | 'weak-passphrase'
  | 'wrong-passphrase'
  | 'wrong-recovery-code'
  | 'mistyped-recovery-code'
  | 'altered'
  | 'keys-replaced'

/**
 * The faults of a record.
 * - `invalid-id`: the id is not 1 to 128 printable ASCII characters, or is `.` or `..`
 * - `too-large`: `encrypted_data` would exceed 262,144 characters
 * - `malformed`: not base64, too short, or does not contain a bookmark; or, when encrypting, a field is not what the
 *   contract says
 * - `unknown-version`: a layout that this client does not know
 * - `unknown-key`: encrypted under a master key that is not among those given: another device may have rotated the keys
 * - `altered`: cannot be decrypted: altered ciphertext, another key, another id or another entity type
 * - `altered-hash`: can be decrypted, but `data_hash` is not the hash of the content
 * - `other-id`: the bookmark inside has another id than the record
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
 * The faults of an export file, or of a saved backup, which contains an export file.
 * - `not-an-export`: the file begins like neither
 * - `unknown-version`: the file or the JSON inside has a version that this client does not know
 * - `other-key`: the file was encrypted under another export key
 * - `damaged`: a part of the file was altered, truncated, reordered or followed by other bytes
 * - `trailing-bytes`: there are bytes after the last chunk (reported as `damaged` if the two cannot be told apart)
 * - `counter-overflow`: more chunks than the format can count
 * - `malformed`: the file can be decrypted, but is not the JSON of an export
 * - `passphrase-needed`: the given keys do not open the backup, but its keyring is in it: the passphrase or recovery code that
 *   was valid when it was saved opens it
 * - `no-keyring`: a passphrase or recovery code was given, and the file has no keyring that it could open
 * - `other-keyring`: the keyring in the backup was opened, and its keys are not those of the bookmarks in it
 */
export type ExportFault =
  | 'not-an-export'
  | 'unknown-version'
  | 'other-key'
  | 'damaged'
  | 'trailing-bytes'
  | 'counter-overflow'
  | 'malformed'
  | 'passphrase-needed'
  | 'no-keyring'
  | 'other-keyring'

/**
 * The faults of a file to import.
 * - `unknown`: the format is not one that `readBookmarks` reads
 * - `damaged`: the format is known, but the file is cut off or altered
 * - `empty`: the file has no bytes
 * - `no-bookmarks`: the format is known, but there is no bookmark in the file
 * - `own-backup`: an encrypted backup of this service, which `openBackup` opens
 * - `encrypted`: JSON of this service in which the bookmarks are still encrypted
 * - `safari`, `firefox`, `opera`: a format that only this browser reads: a property list, `.jsonlz4`, a hotlist
 * - `database`: a browser's database, such as `places.sqlite`
 * - `compressed`: a ZIP or gzip file
 * - `xbel`, `opml`: bookmarks or feeds in XML
 */
export type BookmarkFileFault =
  | 'unknown'
  | 'damaged'
  | 'empty'
  | 'no-bookmarks'
  | 'own-backup'
  | 'encrypted'
  | 'safari'
  | 'firefox'
  | 'opera'
  | 'database'
  | 'compressed'
  | 'xbel'
  | 'opml'

class Faulty<Fault extends string> extends Error {
  /** The reason for programs; `message` is for people. */
  readonly fault: Fault

  constructor(fault: Fault, message: string) {
    super(message)
    this.fault = fault
  }
}

/** The passphrase, the recovery code or the keyring cannot be used; `fault` has the reason. */
export class KeyringError extends Faulty<KeyringFault> {
  override readonly name: string = 'KeyringError'
}

/** The passphrase or recovery code is wrong, or the keyring was altered or belongs to another user. */
export class WrongKeyError extends KeyringError {
  override readonly name = 'WrongKeyError'
}

/** The new passphrase is too easy to guess, and nothing was changed: an attacker who has the keyring can try for years. */
export class WeakPassphraseError extends KeyringError {
  override readonly name = 'WeakPassphraseError'
  /** Why it is too easy to guess, and what to do, in English sentences. */
  readonly advice: readonly string[]

  constructor(advice: readonly string[]) {
    super('weak-passphrase', 'This passphrase is too easy to guess')
    this.advice = advice
  }
}

/** The bookmark cannot be encrypted, or the record cannot be decrypted; `fault` has the reason. */
export class RecordError extends Faulty<RecordFault> {
  override readonly name = 'RecordError'
}

/** The export file or backup cannot be opened; `fault` has the reason. */
export class ExportError extends Faulty<ExportFault> {
  override readonly name = 'ExportError'
}

/**
 * The service did not respond, or only in part, or a file of this package did not load: no network, a timeout, the
 * service is down, or something else responded, such as a proxy. `cause` is the platform's error, if it reports one.
 */
export class OfflineError extends Error {
  override readonly name = 'OfflineError'
  /** The HTTP status of the response, which is not the service's; undefined if there was none. */
  readonly status: number | undefined
  /** How many ms that response asks to wait (`Retry-After`), if it does. */
  readonly retryAfterMs: number | undefined

  constructor(
    message = 'The service did not respond',
    { status, retryAfterMs, ...options }: ErrorOptions & { status?: number; retryAfterMs?: number | undefined } = {},
  ) {
    super(message, options)
    this.status = status
    this.retryAfterMs = retryAfterMs
  }
}

/** The user has already created a vault on another device: open that one. */
export class VaultExistsError extends Error {
  override readonly name = 'VaultExistsError'

  constructor() {
    super('A vault already exists')
  }
}

/** The file has no bookmarks that can be read; `fault` has the reason, `message` what to do. */
export class BookmarkFileError extends Faulty<BookmarkFileFault> {
  override readonly name = 'BookmarkFileError'
}

/** The contract's name for an error. `BadRequest` stands for all errors whose text describes a fault in the request. */
export type ErrorCode = keyof typeof listed | 'BadRequest'

/** The service returned an error, or an impossible value (status 200). Errors of proxies and other servers are OfflineErrors. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly status: number
  /** The response's X-Request-Id, by which the operator can find the request in the log. */
  readonly requestId: string | undefined

  /** How many more ms the service asks to wait (`Retry-After`), if it does. Earlier waits of the call do not count. */
  readonly retryAfterMs: number | undefined

  /** The error for programs (`X-Error-Code`). Newer services may send other codes; services before 2.1 send none. */
  readonly code: ErrorCode | undefined

  /** @param message the contract's text, as the service sent it */
  constructor(status: number, message: string, requestId?: string, retryAfterMs?: number, code?: ErrorCode) {
    super(message)
    this.status = status
    this.requestId = requestId
    this.retryAfterMs = retryAfterMs
    this.code = code
  }
}

/** The session has ended or belongs to another user: sign in again. Unsent edits are kept. */
export class SignedOutError extends Error {
  override readonly name = 'SignedOutError'
  /** True if somebody else has signed in, false if nobody is signed in. */
  readonly isOtherUser: boolean

  constructor(isOtherUser = false) {
    super(isOtherUser ? 'Another user is signed in' : 'Signed out: sign in again')
    this.isOtherUser = isOtherUser
  }
}

/**
 * The call requires a sign-in within the last 10 minutes, because it could lock the owner out or destroy data. Nothing was
 * done. Start a sign-in with `prompt: 'login'`, and repeat the call.
 */
export class SignInAgainError extends Error {
  override readonly name = 'SignInAgainError'

  constructor() {
    super(SignInAgain[1])
  }
}

/** The service sent an older version of a bookmark than it had sent to this device before. The device keeps the newer one. */
export class RollbackError extends Error {
  override readonly name = 'RollbackError'
  /** The bookmark's id. */
  readonly id: string
  /** When the version on this device was made (Unix ms). */
  readonly known: number
  /** When the version that the service sent was made (Unix ms). */
  readonly received: number

  constructor(id: string, known: number, received: number) {
    super(`Bookmark ${id} went back from the version of ${known} to that of ${received}`)
    this.id = id
    this.known = known
    this.received = received
  }
}

/** The device's storage is full. Nothing was written; everything that was stored before is intact. */
export class StorageFullError extends Error {
  override readonly name = 'StorageFullError'

  constructor(options?: ErrorOptions) {
    super('The storage of this device is full', options)
  }
}

/**
 * A newer version of the app has changed the store on this device, and this version can neither read nor write it. The
 * store's contents are intact, including unsent edits.
 */
export class StoreVersionError extends Error {
  override readonly name = 'StoreVersionError'

  constructor(options?: ErrorOptions) {
    super('The store on this device is of a newer version of the app', options)
  }
}

/** Another tab, or the browser, keeps the store on this device from being opened. Closing the other tabs of the app helps. */
export class StoreBlockedError extends Error {
  override readonly name = 'StoreBlockedError'

  constructor() {
    super('Another tab blocks the store')
  }
}

/** A feature of the platform that the package needs. */
export type Feature = 'IndexedDB' | 'Web Locks' | 'WebAssembly' | 'WebCrypto'

/** The platform lacks the feature that `fault` names, and nothing was done. Browsers have some only over HTTPS and on localhost. */
export class UnsupportedError extends Faulty<Feature> {
  override readonly name = 'UnsupportedError'

  constructor(feature: Feature) {
    super(feature, `No ${feature} here, or only over HTTPS`)
  }
}

/** Another process, or another store in this process, uses the store's file. */
export class StoreInUseError extends Error {
  override readonly name = 'StoreInUseError'
}

/** Signing out would lose edits that have not been sent yet. */
export class UnsentChangesError extends Error {
  override readonly name = 'UnsentChangesError'
  /** The number of records with unsent edits. */
  readonly count: number

  constructor(count: number) {
    super(`Bookmarks with unsent edits: ${count}`)
    this.count = count
  }
}

/** The service could not write the backup, or another device deleted it. Nothing is wrong with the bookmarks: try again. */
export class BackupFailedError extends Error {
  override readonly name = 'BackupFailedError'

  constructor() {
    super('The backup could not be made')
  }
}
