import * as listed from '../../../generated/errors.ts'

/** Every error of an operation: its status and text. */
const errors = {
  ...listed,
  /** Each use replaces the text by one that names the fault. */
  BadRequest: [400, 'Bad request'],
  /** `Unavailable` under another code, because the log has one line for many such requests. */
  Overloaded: listed.Unavailable,
} as const

export type ErrorCode = keyof typeof errors

export interface ErrorOptions {
  /** Replaces the text, for errors that name a part of the request. */
  message?: string
  /** Logged; callers never see it. */
  cause?: unknown
  details?: string
  headers?: Record<string, string>
}

/** `WWW-Authenticate` (RFC 6750, section 3). Refresh tokens have none, because they are only sent as cookies. */
const challenges: Partial<Record<ErrorCode, string>> = {
  AuthenticationRequired: 'Bearer',
  InvalidSession: 'Bearer error="invalid_token"',
}

export class ServiceError extends Error {
  override name = 'ServiceError'
  readonly code: ErrorCode
  readonly statusCode: number
  readonly details: string | undefined
  /** A 503 always says when to retry, and a 401 about a session how to authenticate. */
  readonly headers: Record<string, string>

  constructor(code: ErrorCode, { message, cause, details, headers = {} }: ErrorOptions = {}) {
    super(message ?? errors[code][1], { cause })
    this.code = code
    this.statusCode = errors[code][0]
    this.details = details
    const challenge = challenges[code]
    this.headers = {
      ...(this.statusCode === 503 && { 'retry-after': '1' }),
      ...(challenge && { 'www-authenticate': challenge }),
      ...headers,
    }
  }
}

/** An unexpected error means that the database is unreachable, or that there is a bug. */
export function toServiceError(error: unknown, isUnavailable: (error: unknown) => boolean): ServiceError {
  if (error instanceof ServiceError) return error
  return new ServiceError(isUnavailable(error) ? 'Unavailable' : 'Internal', { cause: error })
}
