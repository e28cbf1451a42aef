import { ApiError, SignedOutError } from '../errors.ts'

/** What a call with openapi-fetch resolves to. */
export interface CallResult<Data> {
  data?: Data
  error?: unknown
  response: Response
}

/**
 * The body of a successful response.
 *
 * @throws SignedOutError the session has ended and could not be refreshed
 * @throws ApiError the service returned another error
 */
export function unwrap<Data>({ data, error, response }: CallResult<Data>): NonNullable<Data> {
  if (response.ok && data !== undefined && data !== null) return data
  const text = typeof error === 'object' && error !== null && 'error' in error ? error.error : undefined
  const message = typeof text === 'string' ? text : `The service responded with status ${response.status}`
  if (response.status === 401) throw new SignedOutError()
  throw new ApiError(response.status, message, response.headers.get('x-request-id') ?? undefined)
}
