/** The time limit of a call to the provider (ms). */
export const callMs = 5_000
/** The time limit of a refresh (ms), for five calls: the secret sent in both ways, keys, metadata, and keys again. */
export const refreshMs = 5 * callMs

export interface LoginAttempt {
  codeVerifier: string
  nonce: string
  returnTo: string
  /** When the attempt began (Unix ms). Only set if the user must sign in again, whatever the provider remembers. */
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

/** The result of exchanging a code. */
export interface Exchanged {
  identity: Identity
  /** Null if the provider did not issue one. */
  refreshToken: string | null
  /** The claims of the ID token and UserInfo, as sent, without empty ones. */
  claims: Readonly<Record<string, unknown>>
  /** True if the ID token lacks a claim and UserInfo could not be read. */
  isIncomplete: boolean
  /** How long before issuing the ID token the provider asked for credentials (ms); null if it does not say. */
  authenticatedMsAgo: number | null
}

/**
 * The identity provider as the service needs it; openid.ts implements it. Calls of the provider that fail throw
 * ProviderUnavailableError or ProviderRefusedError, and `refresh` also InvalidGrantError.
 */
export interface Provider {
  /** Spelt as in OIDC_ISSUER. The provider's own spelling may differ by the slash after a bare host. */
  issuer: string
  newAttempt(returnTo: string): LoginAttempt
  /** If the attempt requires a new sign-in, the prompt is always `login`. */
  authorizationUrl(attempt: LoginAttempt, prompt?: 'login' | 'select_account'): Promise<string>
  /**
   * `callback` is the query that the browser came back with. The attempts may differ only in their nonces; `attempt` of
   * the result is the one that matched.
   */
  exchangeCode<Attempt extends LoginAttempt>(
    callback: URLSearchParams,
    ...attempts: [Attempt, ...Attempt[]]
  ): Promise<Exchanged & { attempt: Attempt }>
  /**
   * Null if the provider issued no new refresh token and the old one stays valid. An error's `mayHaveActed` is true if
   * the provider may have issued one that did not arrive.
   */
  refresh(refreshToken: string, subject: string): Promise<{ refreshToken: string | null }>
  revoke(refreshToken: string): Promise<void>
  /** Resolves if the provider's metadata can be fetched now. */
  probe(): Promise<void>
  close(): Promise<void>
}

export class ProviderError extends Error {
  /** True if the request may have arrived but its response is unusable: the provider may have issued new tokens. */
  mayHaveActed = false
}

/** Unreachable, too slow, too large, a redirect, status 429 or 5xx, or not JSON: a later attempt may succeed. */
export class ProviderUnavailableError extends ProviderError {
  override name = 'ProviderUnavailableError'
}

/** The provider refused, or its response is invalid, for example by issuer, nonce, signature or age. */
export class ProviderRefusedError extends ProviderError {
  override name = 'ProviderRefusedError'
}

/** The refresh token is no longer valid: its login has ended at the provider. */
export class InvalidGrantError extends ProviderError {
  override name = 'InvalidGrantError'
}
