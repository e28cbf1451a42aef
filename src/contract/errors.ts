/** Every error that an operation can return: its status and its text, which for most of them the contract fixes. */
const errors = {
  AuthenticationRequired: [401, 'Authentication required'],
  InvalidSession: [401, 'Invalid or expired session'],
  NoRefreshToken: [401, 'No refresh token'],
  RefreshFailed: [401, 'Failed to refresh token'],
  LoginNotStarted: [500, 'Failed to initiate login'],
  LogoutFailed: [500, 'Failed to logout'],
  SyncStatusFailed: [500, 'Failed to get sync status'],
  BadRequest: [400, 'Bad request'],
  IdsRequired: [400, 'X-User-ID and X-Device-ID are required'],
  InvalidReturnTo: [400, 'Invalid returnTo'],
  ExportNotReady: [400, 'Export not ready for download'],
  ForbiddenOrigin: [403, 'Forbidden origin'],
  ForbiddenUser: [403, 'Forbidden user'],
  NotFound: [404, 'Not found'],
  BookmarkNotFound: [404, 'Bookmark not found'],
  ExportNotFound: [404, 'Export not found'],
  KeyringNotFound: [404, 'Keyring not found'],
  RequestTimeout: [408, 'Request timeout'],
  BookmarkExists: [409, 'Bookmark already exists'],
  KeyringChanged: [409, 'Keyring was changed'],
  TooLarge: [413, 'Request body too large'],
  QuotaExceeded: [413, 'Storage quota exceeded'],
  UnsupportedMediaType: [415, 'Unsupported media type'],
  RangeNotSatisfiable: [416, 'Range not satisfiable'],
  UpgradeRequired: [426, 'WebSocket upgrade required'],
  TooManyRequests: [429, 'Too many requests'],
  TooManyExports: [429, 'Too many exports in progress'],
  TooManyExportsKept: [429, 'Too many exports kept'],
  TooManySockets: [429, 'Too many sockets'],
  Internal: [500, 'Internal server error'],
  Unavailable: [503, 'Service unavailable'],
  Overloaded: [503, 'Service unavailable'],
} as const

export type ErrorCode = keyof typeof errors

export interface ErrorOptions {
  /** Replaces the text, for errors that name a part of the request. */
  message?: string
  /** Goes into the log; callers never see it. */
  cause?: unknown
  details?: string
  headers?: Record<string, string>
}

export class ServiceError extends Error {
  override name = 'ServiceError'
  readonly code: ErrorCode
  readonly statusCode: number
  readonly details: string | undefined
  /** A 503 always says when to retry (in seconds). */
  readonly headers: Record<string, string>

  constructor(code: ErrorCode, { message, cause, details, headers = {} }: ErrorOptions = {}) {
    super(message ?? errors[code][1], { cause })
    this.code = code
    this.statusCode = errors[code][0]
    this.details = details
    this.headers = this.statusCode === 503 ? { 'retry-after': '1', ...headers } : headers
  }
}

/** An error that no operation expects means that the database is unreachable, or that there is a bug. */
export function toServiceError(error: unknown, isUnavailable: (error: unknown) => boolean): ServiceError {
  if (error instanceof ServiceError) return error
  return new ServiceError(isUnavailable(error) ? 'Unavailable' : 'Internal', { cause: error })
}
