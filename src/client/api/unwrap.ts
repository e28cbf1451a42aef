import { ForbiddenUser, SignInAgain } from '../../../generated/errors.ts'
import { ApiError, type ErrorCode, OfflineError, SignedOutError, SignInAgainError } from '../errors.ts'
import { isOurs, notOurs, retryAfterMs } from './ours.ts'

/** The result of a call with openapi-fetch. */
export interface CallResult<Data> {
  data?: Data
  error?: unknown
  response: Response
}

/**
 * The body of a successful response.
 *
 * @throws SignedOutError the session has ended and could not be refreshed, or is another user's
 * @throws SignInAgainError the call requires a more recent sign-in
 * @throws ApiError the service returned another error
 * @throws OfflineError something other than the service responded
 */
export function unwrap<Data>({ data, error, response }: CallResult<Data>): NonNullable<Data> {
  if (response.ok && data !== undefined && data !== null) return data
  if (response.ok || !isOurs(response, error)) throw notOurs(response)
  const text = (error as { error?: unknown } | null | undefined)?.error
  const message = typeof text === 'string' ? text : `The service responded with status ${response.status}`
  if (response.status === 401) throw new SignedOutError()
  if (text === ForbiddenUser[1]) throw new SignedOutError(true)
  if (text === SignInAgain[1]) throw new SignInAgainError()
  const header = (name: string) => response.headers.get(`x-${name}`) ?? undefined
  throw new ApiError(
    response.status,
    message,
    header('request-id'),
    retryAfterMs(response),
    header('error-code') as ErrorCode,
  )
}

/**
 * Converts `fetch`'s TypeError for a missing response, and the SyntaxError for one that was cut off, to OfflineError.
 *
 * @throws OfflineError
 */
export async function answer<T>(call: Promise<T>): Promise<T> {
  try {
    return await call
  } catch (cause) {
    throw cause instanceof TypeError || cause instanceof SyntaxError ? new OfflineError(undefined, { cause }) : cause
  }
}

/**
 * Loads a part of the package from its own file.
 *
 * @throws OfflineError the file did not arrive; the next call tries again
 * @throws Error in a service worker, which cannot load modules after its start
 */
export async function onDemand<Part>(loading: Promise<Part>): Promise<Part> {
  try {
    return await loading
  } catch (cause) {
    if ('ServiceWorkerGlobalScope' in globalThis) throw new Error('A service worker loads only itself', { cause })
    throw new OfflineError('A part of the app could not be loaded', { cause })
  }
}
