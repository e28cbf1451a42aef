export { ExportError, KeyringError, OfflineError, RecordError, WrongKeyError } from './errors/local.ts'

/** The user has already created a vault on another device: open that one. */
export class VaultExistsError extends Error {
  override readonly name = 'VaultExistsError'

  constructor() {
    super('A vault already exists')
  }
}

/** The text is not a Netscape bookmark file. */
export class BookmarkFileError extends Error {
  override readonly name = 'BookmarkFileError'
}

/** The service returned an error. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  /** HTTP status. */
  readonly status: number
  /** The response's X-Request-Id, by which the operator can find the request in the log. */
  readonly requestId: string | undefined

  /** @param message the contract's text, as the service sent it */
  constructor(status: number, message: string, requestId?: string) {
    super(message)
    this.status = status
    this.requestId = requestId
  }
}

/** The session has ended or belongs to another user: sign in again. Unsent edits are kept. */
export class SignedOutError extends Error {
  override readonly name = 'SignedOutError'

  constructor(message = 'Signed out: sign in again', options?: ErrorOptions) {
    super(message, options)
  }
}

/** The service sent an older version of a bookmark than this device had received before. The newer version is kept. */
export class RollbackError extends Error {
  override readonly name = 'RollbackError'
  /** The bookmark's id. */
  readonly id: string
  /** When the version on this device was made (Unix ms). */
  readonly known: number
  /** When the version that the service sent was made (Unix ms). */
  readonly received: number

  constructor(id: string, known: number, received: number) {
    super(`Bookmark ${id} went back in time: the service sent the version of ${received} after the version of ${known}`)
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

/** Signing out would lose edits that have not been sent yet. */
export class UnsentChangesError extends Error {
  override readonly name = 'UnsentChangesError'
  /** Number of bookmarks with unsent edits. */
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
