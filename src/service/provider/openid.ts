import * as oauth from 'oauth4webapi'
import type { Proxies } from '../config/config.ts'
import { identityOf, isComplete, presentIn } from './claims.ts'
import { openProviderHttp } from './http.ts'
import { keepMetadata } from './metadata.ts'
import {
  InvalidGrantError,
  type LoginAttempt,
  type Provider,
  type ProviderError,
  ProviderRefusedError,
  ProviderUnavailableError,
} from './provider.ts'
import { tolerant, unverifiedPayload } from './token-response.ts'

/** The allowed difference between this machine's clock and the provider's, as in the library. */
const clockToleranceMs = 30_000
/**
 * The `max_age` of usual sign-ins: a year. It obliges the provider to send `auth_time`, but still lets it remember
 * people. With 10 years, a provider that adds it to the time (s) would exceed signed 32 bits from 2028 on.
 */
const rememberedSeconds = 31_536_000
const unreadable = new Set<string | undefined>([oauth.PARSE_ERROR, oauth.RESPONSE_IS_NOT_JSON])
/**
 * Errors of a refresh that end the login. The request is well-formed and the same for everybody, so `invalid_request`,
 * which Zitadel sends instead of every other error, can only mean the token.
 */
const endings = new Set([
  ...['invalid_grant', 'interaction_required', 'login_required', 'consent_required', 'account_selection_required'],
  ...['invalid_request', 'access_denied', 'invalid_token', 'expired_token'],
])

export interface ProviderConfig {
  issuer: string
  /** The place of the metadata, if it is not at the issuer: the development provider keeps its issuer whatever its port. */
  place?: string
  clientId: string
  clientSecret: string
  scopes: string
  redirectUri: string
  allowHttp: boolean
  proxies: Proxies
  /** If the ID token lacks this claim, UserInfo is requested, too. */
  requiredClaim?: string | undefined
}

/** OpenID Connect: authorization code with PKCE, refresh tokens, and revocation (RFC 7009). */
export function openProvider(config: ProviderConfig): Provider {
  const http = openProviderHttp(config.proxies)
  const options = { [oauth.customFetch]: http.fetch, [oauth.allowInsecureRequests]: config.allowHttp }
  const metadata = keepMetadata(new URL(config.issuer), options, new URL(config.place ?? config.issuer))
  const client: oauth.Client = { client_id: config.clientId }
  const withSecret = sendsSecret(config.clientSecret)

  return {
    issuer: config.issuer,

    newAttempt: (returnTo) => ({
      codeVerifier: oauth.generateRandomCodeVerifier(),
      nonce: oauth.generateRandomNonce(),
      returnTo,
    }),

    authorizationUrl: translated(async (attempt, prompt) => {
      const server = await metadata.current()
      const url = URL.parse(server.authorization_endpoint ?? '')
      if (url === null) throw new ProviderRefusedError('OpenID provider has no authorization_endpoint')
      oauth.checkProtocol(url, !config.allowHttp)
      url.searchParams.set('response_type', 'code')
      url.searchParams.set('client_id', config.clientId)
      url.searchParams.set('redirect_uri', config.redirectUri)
      url.searchParams.set('scope', requestedScopes(config.scopes, server))
      url.searchParams.set('state', attempt.returnTo)
      url.searchParams.set('nonce', attempt.nonce)
      url.searchParams.set('code_challenge', await oauth.calculatePKCECodeChallenge(attempt.codeVerifier))
      url.searchParams.set('code_challenge_method', 'S256')
      const asked = attempt.newSignInSince === undefined ? prompt : 'login'
      if (asked !== undefined) url.searchParams.set('prompt', asked)
      url.searchParams.set('max_age', String(asked === 'login' ? 0 : rememberedSeconds))
      return url.href
    }),

    exchangeCode: (callback, ...attempts) =>
      exchange(callback, attempts).catch((error: unknown) => {
        throw asProviderError(error)
      }),

    refresh: translated(async (refreshToken, subject) => {
      const server = await metadata.current().catch((error: unknown) => {
        throw Object.assign(asProviderError(error), { mayHaveActed: false })
      })
      const sent = await withSecret(server.token_endpoint_auth_methods_supported, (auth) =>
        oauth.refreshTokenGrantRequest(server, client, auth, refreshToken, options),
      )
      try {
        return { refreshToken: await readRefreshToken(server, sent, subject) }
      } catch (error) {
        throw Object.assign(asProviderError(error), { mayHaveActed: sent.ok })
      }
    }),

    revoke: translated(async (refreshToken) => {
      const server = await metadata.current()
      if (server.revocation_endpoint === undefined) return
      const methods = server.revocation_endpoint_auth_methods_supported ?? server.token_endpoint_auth_methods_supported
      const hint = { additionalParameters: { token_type_hint: 'refresh_token' } }
      const response = await withSecret(methods, (auth) =>
        oauth.revocationRequest(server, client, auth, refreshToken, { ...options, ...hint }),
      )
      await oauth.processRevocationResponse(response)
    }),

    probe: translated(async () => {
      await metadata.renew()
    }),

    close: () => http.close(),
  }

  async function exchange<Attempt extends LoginAttempt>(callback: URLSearchParams, attempts: [Attempt, ...Attempt[]]) {
    const { codeVerifier, returnTo } = attempts[0]
    const server = await metadata.current()
    // In the contract, a callback without state means '/'.
    const state = callback.has('state') || returnTo !== '/' ? returnTo : oauth.expectNoState
    const parameters = oauth.validateAuthResponse(server, client, callback, state)
    const sent = await withSecret(server.token_endpoint_auth_methods_supported, (auth) =>
      oauth.authorizationCodeGrantRequest(server, client, auth, parameters, config.redirectUri, codeVerifier, options),
    )
    const { response, signed } = await tolerant(sent)
    const attempt = await findByNonce(attempts, response)
    const expected = { expectedNonce: attempt.nonce, requireIdToken: true }
    const tokens = await oauth.processAuthorizationCodeResponse(server, client, response, expected)
    await verifyIdToken(server, response, signed)
    const idToken = oauth.getValidatedIdTokenClaims(tokens)
    if (idToken === undefined) throw new ProviderRefusedError('OpenID provider returned no ID token')
    requireNewSignIn(attempt, idToken)
    const isAsked = server.userinfo_endpoint !== undefined && !isComplete(idToken, config.requiredClaim)
    const userInfo = isAsked ? await askUserInfo(server, tokens.access_token, idToken.sub) : null
    return {
      attempt,
      identity: identityOf(idToken, userInfo),
      claims: { ...presentIn(userInfo ?? {}), ...presentIn(idToken) },
      isIncomplete: isAsked && userInfo === null,
      refreshToken: tokens.refresh_token ?? null,
      authenticatedMsAgo: authenticatedMsAgo(idToken),
    }
  }

  async function readRefreshToken(server: oauth.AuthorizationServer, sent: Response, subject: string) {
    const { response, signed } = await tolerant(sent)
    const tokens = await oauth.processRefreshTokenResponse(server, client, response).catch((error: unknown) => {
      if (!(error instanceof oauth.ResponseBodyError) || !isInvalidGrant(error)) throw error
      throw new InvalidGrantError(`OpenID provider refused the refresh token: ${errorCode(error.error)}`)
    })
    const idToken = oauth.getValidatedIdTokenClaims(tokens)
    if (idToken !== undefined) {
      // The old refresh token may be used up, so unreachable keys must not cost the new one: TLS has authenticated it.
      await verifyIdToken(server, response, signed).catch(unlessUnavailable)
      if (idToken.sub !== subject) throw new InvalidGrantError('OpenID provider refreshed a login of another user')
    }
    return tokens.refresh_token ?? null
  }

  /** Verifies the ID token's signature. If `tolerant` changed the token, verifies the original (`signed`). */
  async function verifyIdToken(server: oauth.AuthorizationServer, response: Response, signed: string | undefined) {
    if (signed === undefined) return verifySignature(server, response)
    const original = new Response(signed, { headers: { 'content-type': 'application/jwt' } })
    const userinfo_signing_alg_values_supported = server.id_token_signing_alg_values_supported ?? ['RS256']
    // Reads the JWT as if it were UserInfo's, which the library accepts with any claims.
    const reader = { ...server, userinfo_signing_alg_values_supported }
    await oauth.processUserInfoResponse(reader, client, oauth.skipSubjectCheck, original)
    await verifySignature(server, original)
  }

  async function verifySignature(server: oauth.AuthorizationServer, response: Response): Promise<void> {
    try {
      await oauth.validateApplicationLevelSignature(server, response, options)
    } catch (error) {
      if (!(error instanceof oauth.OperationProcessingError) || error.code !== oauth.KEY_SELECTION) throw error
      // The library has already looked for newer keys, so the metadata's key URL may have changed.
      await oauth.validateApplicationLevelSignature(await metadata.renewSparingly(), response, options)
    }
  }

  /** Requests UserInfo. Null if unavailable: a sign-in usually works without. UserInfo of somebody else is refused. */
  async function askUserInfo(server: oauth.AuthorizationServer, accessToken: string, subject: string) {
    try {
      const response = await oauth.userInfoRequest(server, client, accessToken, options)
      if (response.status !== 200) return null
      const userInfo = await oauth.processUserInfoResponse(server, client, subject, response)
      if (response.headers.get('content-type')?.startsWith('application/jwt')) await verifySignature(server, response)
      return userInfo
    } catch (error) {
      return unlessUnavailable(error)
    }
  }
}

/**
 * If the attempt requires that the person signs in again, checks that the ID token proves it. The person can remove
 * the parameters of the URL that demand it, and the provider may ignore them.
 */
function requireNewSignIn({ newSignInSince }: LoginAttempt, { iat, auth_time: signedInAt }: oauth.IDToken): void {
  if (newSignInSince === undefined) return
  if (signedInAt === undefined) throw new ProviderRefusedError('OpenID provider does not say when the user signed in')
  if (signedInAt * 1000 < newSignInSince - clockToleranceMs)
    throw new ProviderRefusedError('OpenID provider has not asked the user to sign in')
  // A provider that sends milliseconds, for example, would always seem recent enough.
  if (signedInAt * 1000 > iat * 1000 + clockToleranceMs)
    throw new ProviderRefusedError('OpenID provider says that the user signed in later than it issued the ID token')
}

/** Uses only the provider's clock: a difference from this machine's must not make the sign-in look old. */
function authenticatedMsAgo({ iat, auth_time: signedInAt }: oauth.IDToken): number | null {
  return signedInAt === undefined ? null : Math.max(0, iat - signedInAt) * 1000
}

/** Finds the attempt by the nonce of the ID token, which is not verified yet. If none has it, returns the first. */
async function findByNonce<Attempt extends LoginAttempt>(
  attempts: [Attempt, ...Attempt[]],
  response: Response,
): Promise<Attempt> {
  const nonce = await readNonce(response).catch(() => undefined)
  return attempts.find((attempt) => attempt.nonce === nonce) ?? attempts[0]
}

async function readNonce(response: Response): Promise<unknown> {
  const { id_token } = (await response.clone().json()) as { id_token?: unknown }
  return unverifiedPayload(String(id_token))?.nonce
}

function unlessUnavailable(error: unknown): null {
  const known = asProviderError(error)
  if (known instanceof ProviderUnavailableError) return null
  throw known
}

/** Leaves out offline_access if the provider lists its scopes without it, because it would answer invalid_scope. */
function requestedScopes(scopes: string, { scopes_supported: supported }: oauth.AuthorizationServer): string {
  const wanted = new Set(['openid', ...scopes.split(/\s+/).filter((scope) => scope !== '')])
  if (Array.isArray(supported) && !supported.includes('offline_access')) wanted.delete('offline_access')
  return [...wanted].join(' ')
}

function translated<Arguments extends unknown[], Result>(step: (...values: Arguments) => Promise<Result>) {
  return (...values: Arguments): Promise<Result> =>
    step(...values).catch((error: unknown) => {
      throw asProviderError(error)
    })
}

/** Converts the library's errors. Drops what they carry besides the message: codes, tokens, whole bodies. */
function asProviderError(error: unknown): ProviderError {
  if (error instanceof ProviderUnavailableError || error instanceof ProviderRefusedError) return error
  if (error instanceof InvalidGrantError) return error
  if (error instanceof oauth.ResponseBodyError || error instanceof oauth.AuthorizationResponseError) {
    const message = `OpenID provider returned the error ${errorCode(error.error)}`
    return isTemporary(error.error) ? new ProviderUnavailableError(message) : new ProviderRefusedError(message)
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

/**
 * True if the refresh token is no longer valid. Also if Microsoft Entra demands to ask the user something, which needs
 * another sign-in. With a 401, only `invalid_grant` is about the token: the other errors are about the client.
 */
function isInvalidGrant(error: oauth.ResponseBodyError): boolean {
  return error.error === 'invalid_grant' || (endings.has(error.error) && error.status !== 401)
}

/** True for the errors that stand for a 500 or 503 in a redirect (RFC 6749, section 4.1.2.1). */
function isTemporary(error: string): boolean {
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

type Method = 'client_secret_basic' | 'client_secret_post'

/**
 * Sends a request with the client's secret in one way and, if the provider refuses it, in the other. Metadata lists
 * what a provider supports, but some (Authelia, Ory Hydra) accept from each client only the method it was registered
 * with. If the other way was accepted, it is tried first from then on.
 */
function sendsSecret(secret: string) {
  const authentications: Record<Method, oauth.ClientAuth> = {
    client_secret_basic: basic(secret),
    client_secret_post: oauth.ClientSecretPost(secret),
  }
  let order: Method[] = ['client_secret_basic', 'client_secret_post']

  type Send = (authentication: oauth.ClientAuth) => Promise<Response>
  return async (methods: readonly string[] | undefined, send: Send): Promise<Response> => {
    const listed = order.filter((method) => methods?.includes(method) ?? true)
    const [first = 'client_secret_basic', other] = listed
    const response = await send(authentications[first])
    if (other === undefined || !(await isClientRefused(response))) return response
    const second = await send(authentications[other])
    if (await isClientRefused(second)) return response
    order = [other, first]
    return second
  }
}

/**
 * HTTP Basic with minimal percent-encoding (RFC 6749, section 2.3.1): before 2026, Pocket ID and Kanidm did not decode
 * it. The library encodes more: such a provider would look for the client `my%2Dclient`.
 */
function basic(secret: string): oauth.ClientAuth {
  return (_server, client, _body, headers) => {
    headers.set('authorization', `Basic ${btoa(`${formEncode(client.client_id)}:${formEncode(secret)}`)}`)
  }
}

function formEncode(value: string): string {
  return encodeURIComponent(value).replaceAll('%20', '+')
}

/** True if the client was refused, not its code or token. Keycloak answers a wrong secret with unauthorized_client. */
async function isClientRefused(response: Response): Promise<boolean> {
  if (response.status === 401) return true
  if (response.status !== 400) return false
  const body: unknown = await response
    .clone()
    .json()
    .catch(() => null)
  const { error } = (body ?? {}) as { error?: unknown }
  return error === 'invalid_client' || error === 'unauthorized_client'
}
