import * as oauth from 'oauth4webapi'

class ProviderError extends Error {
  /** The request was sent and not refused, but its response cannot be used: the provider may have issued new tokens. */
  mayHaveActed = false
}

/** Unreachable, too slow, too large, a redirect, a server error, not JSON: it may work later. */
export class ProviderUnavailableError extends ProviderError {
  override name = 'ProviderUnavailableError'
}

/** The provider refused, or its response is invalid: wrong issuer, state, nonce, audience or signature, or expired. */
export class ProviderRefusedError extends ProviderError {
  override name = 'ProviderRefusedError'
}

/** The refresh token is no longer valid: its login has ended at the provider. */
export class InvalidGrantError extends ProviderError {
  override name = 'InvalidGrantError'
}

const unreadable = new Set<string | undefined>([oauth.PARSE_ERROR, oauth.RESPONSE_IS_NOT_JSON])

/** Turns the library's errors into ours, without what they carry besides the message: codes, tokens, whole bodies. */
export function asProviderError(error: unknown): ProviderError {
  if (error instanceof ProviderUnavailableError || error instanceof ProviderRefusedError) return error
  if (error instanceof InvalidGrantError) return error
  if (error instanceof oauth.AuthorizationResponseError && isPassing(error.error)) {
    return new ProviderUnavailableError(`OpenID provider returned the error ${error.error}`)
  }
  if (error instanceof oauth.ResponseBodyError || error instanceof oauth.AuthorizationResponseError) {
    return new ProviderRefusedError(`OpenID provider returned the error ${errorCode(error.error)}`)
  }
  const cause = error instanceof Error ? bare(error) : undefined
  if (error instanceof oauth.OperationProcessingError && error.code === oauth.JWT_TIMESTAMP_CHECK) {
    return new ProviderRefusedError('the clock of the OpenID provider or of this machine is wrong', { cause })
  }
  if (error instanceof oauth.OperationProcessingError && unreadable.has(error.code) && !is4xx(error.cause)) {
    return new ProviderUnavailableError('OpenID provider returned an unreadable response', { cause })
  }
  return new ProviderRefusedError('OpenID provider or its response was rejected', { cause })
}

/** Microsoft Entra wants the user to be asked something: only another sign-in can do that. */
const endings = new Set(['invalid_grant', 'interaction_required', 'login_required', 'consent_required'])

/** Whether the response ends the refresh token. */
export function isInvalidGrant(error: unknown): boolean {
  return error instanceof oauth.ResponseBodyError && endings.has(error.error)
}

/** RFC 6749, section 4.1.2.1: what would be a 500 or 503 if it did not have to be a redirect. */
function isPassing(error: string): boolean {
  return error === 'server_error' || error === 'temporarily_unavailable'
}

function is4xx(response: unknown): boolean {
  return response instanceof Response && response.status >= 400
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
