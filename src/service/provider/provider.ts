/** A call takes no longer. */
export const callMs = 5_000
/** A refresh takes no longer: two ways to send the secret, the keys and, if those moved, the metadata and the keys again. */
export const refreshMs = 5 * callMs

export interface LoginAttempt {
  codeVerifier: string
  nonce: string
  returnTo: string
  /** When it began (Unix ms), if the user must have signed in since, whatever the provider remembers. */
  newSignInSince?: number
}

export interface Identity {
  issuer: string
  subject: string
  email: string
  name: string
  avatar_url: string
  email_verified: boolean
}

/** The sign-in that a code stands for. */
export interface Exchanged {
  identity: Identity
  /** Null if the provider issued none. */
  refreshToken: string | null
  /** The claims of the ID token, completed by UserInfo, as the provider sent them. */
  claims: Readonly<Record<string, unknown>>
  /** UserInfo was asked for a claim that the ID token has not, and did not answer. */
  isIncomplete: boolean
  /** How long before it issued the ID token the provider had asked the person who they are; null if it does not say. */
  authenticatedMsAgo: number | null
}

/**
 * The identity provider, as the service knows it; openid.ts speaks to it. Every method throws ProviderUnavailableError or
 * ProviderRefusedError; `refresh` also throws InvalidGrantError.
 */
export interface Provider {
  /** As OIDC_ISSUER has it; what the provider itself says may differ by a final slash. */
  issuer: string
  newAttempt(returnTo: string): LoginAttempt
  /** If the attempt is to sign in again, the prompt is always `login`. */
  authorizationUrl(attempt: LoginAttempt, prompt?: 'login' | 'select_account'): Promise<string>
  /**
   * `callback` is the query that the browser came back with. The attempts may differ in their nonces alone; the answer
   * tells which of them it was.
   */
  exchangeCode<Attempt extends LoginAttempt>(
    callback: URLSearchParams,
    ...attempts: [Attempt, ...Attempt[]]
  ): Promise<Exchanged & { attempt: Attempt }>
  /**
   * Null: the provider issued no new refresh token, and the old one stays valid. An error's `mayHaveActed` tells whether
   * it may have issued one that did not reach us.
   */
  refresh(refreshToken: string, subject: string): Promise<{ refreshToken: string | null }>
  revoke(refreshToken: string): Promise<void>
  /** Resolves if the provider's metadata can be fetched now. */
  probe(): Promise<void>
  close(): Promise<void>
}

export class ProviderError extends Error {
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
