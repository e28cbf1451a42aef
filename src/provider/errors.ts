import * as oauth from 'oauth4webapi'

/** Out of reach, too slow, too large, a redirect, a server error, not JSON: later it may work. */
export class ProviderUnavailableError extends Error {
  override name = 'ProviderUnavailableError'
}

/** The provider said no, or its answer does not hold: wrong issuer, state, nonce, audience, signature, expired. */
export class ProviderRefusedError extends Error {
  override name = 'ProviderRefusedError'
}

/** The refresh token is of no more use: the login it stands for is over at the provider. */
export class InvalidGrantError extends Error {
  override name = 'InvalidGrantError'
}

const UNREADABLE = new Set<string | undefined>([oauth.PARSE_ERROR, oauth.RESPONSE_IS_NOT_JSON])

/** The library's errors become ours; what they carry beside their message (codes, tokens, whole bodies) is left behind. */
export function asProviderError(error: unknown): Error {
  if (error instanceof ProviderUnavailableError || error instanceof ProviderRefusedError) return error
  if (error instanceof InvalidGrantError) return error
  if (error instanceof oauth.ResponseBodyError || error instanceof oauth.AuthorizationResponseError) {
    return new ProviderRefusedError(`OpenID provider answered with the error ${errorCode(error.error)}`)
  }
  const cause = error instanceof Error ? bare(error) : undefined
  if (error instanceof oauth.OperationProcessingError && UNREADABLE.has(error.code) && !is4xx(error.cause)) {
    return new ProviderUnavailableError('OpenID provider gave no readable answer', { cause })
  }
  return new ProviderRefusedError('OpenID provider or its answer is refused', { cause })
}

/** True for the answer that ends a refresh token. */
export function isInvalidGrant(error: unknown): boolean {
  return error instanceof oauth.ResponseBodyError && error.error === 'invalid_grant'
}

function is4xx(answer: unknown): boolean {
  return answer instanceof Response && answer.status >= 400
}

function errorCode(code: string): string {
  return /^[a-z_]{1,40}$/.test(code) ? code : 'unknown'
}

function bare(error: Error): Error {
  const copy = new Error(error.message)
  copy.name = error.name
  if (error.stack !== undefined) copy.stack = error.stack
  return copy
}
