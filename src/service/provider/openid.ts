import * as oauth from 'oauth4webapi'
import { identityOf, isComplete } from './claims.ts'
import { sendsSecret } from './client-secret.ts'
import {
  asProviderError,
  InvalidGrantError,
  isInvalidGrant,
  ProviderRefusedError,
  ProviderUnavailableError,
} from './errors.ts'
import { openProviderHttp } from './http.ts'
import { keepMetadata } from './metadata.ts'
import type { LoginAttempt, Provider } from './provider.ts'

export interface ProviderConfig {
  issuer: string
  clientId: string
  clientSecret: string
  scopes: string
  redirectUri: string
  allowHttp: boolean
}

/** OpenID Connect: authorization code with PKCE, refresh tokens, RFC 7009. */
export function openProvider(config: ProviderConfig): Provider {
  const http = openProviderHttp()
  const options = { [oauth.customFetch]: http.fetch, [oauth.allowInsecureRequests]: config.allowHttp }
  const metadata = keepMetadata(new URL(config.issuer), options)
  const client: oauth.Client = { client_id: config.clientId }
  const withSecret = sendsSecret(config.clientSecret)

  return {
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
      if (prompt !== undefined) url.searchParams.set('prompt', prompt)
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
      const response = await withSecret(server.token_endpoint_auth_methods_supported, (auth) =>
        oauth.refreshTokenGrantRequest(server, client, auth, refreshToken, options),
      )
      try {
        return { refreshToken: await readRefreshToken(server, response, subject) }
      } catch (error) {
        throw Object.assign(asProviderError(error), { mayHaveActed: response.ok })
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
    // The contract's default: a callback without state means '/'.
    const state = callback.has('state') || returnTo !== '/' ? returnTo : oauth.expectNoState
    const parameters = oauth.validateAuthResponse(server, client, callback, state)
    const response = await withSecret(server.token_endpoint_auth_methods_supported, (auth) =>
      oauth.authorizationCodeGrantRequest(server, client, auth, parameters, config.redirectUri, codeVerifier, options),
    )
    const attempt = await findByNonce(attempts, response)
    const expected = { expectedNonce: attempt.nonce, requireIdToken: true }
    const tokens = await oauth.processAuthorizationCodeResponse(server, client, response, expected)
    await verifySignature(server, response)
    const idToken = oauth.getValidatedIdTokenClaims(tokens)
    if (idToken === undefined) throw new ProviderRefusedError('OpenID provider returned no ID token')
    const userInfo = isComplete(idToken) ? null : await askUserInfo(server, tokens.access_token, idToken.sub)
    return { attempt, identity: identityOf(idToken, userInfo), refreshToken: tokens.refresh_token ?? null }
  }

  async function readRefreshToken(server: oauth.AuthorizationServer, response: Response, subject: string) {
    const tokens = await oauth.processRefreshTokenResponse(server, client, response).catch((error: unknown) => {
      throw isInvalidGrant(error) ? new InvalidGrantError('OpenID provider refused the refresh token') : error
    })
    const idToken = oauth.getValidatedIdTokenClaims(tokens)
    if (idToken !== undefined) {
      // The old refresh token may be spent, so unreachable keys must not lose the new one. TLS vouches for it, too.
      await verifySignature(server, response).catch(unlessUnavailable)
      if (idToken.sub !== subject) throw new InvalidGrantError('OpenID provider refreshed a login of another user')
    }
    return tokens.refresh_token ?? null
  }

  async function verifySignature(server: oauth.AuthorizationServer, response: Response): Promise<void> {
    try {
      await oauth.validateApplicationLevelSignature(server, response, options)
    } catch (error) {
      if (!(error instanceof oauth.OperationProcessingError) || error.code !== oauth.KEY_SELECTION) throw error
      // The library has already looked for newer keys, so they may have moved.
      await oauth.validateApplicationLevelSignature(await metadata.renewSparingly(), response, options)
    }
  }

  /** A sign-in works without UserInfo if it is unavailable. UserInfo about somebody else is refused. */
  async function askUserInfo(server: oauth.AuthorizationServer, accessToken: string, subject: string) {
    if (server.userinfo_endpoint === undefined) return null
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

/** Looks into the ID token before it is verified, only to know which nonce to demand of it. */
async function findByNonce<Attempt extends LoginAttempt>(
  attempts: [Attempt, ...Attempt[]],
  response: Response,
): Promise<Attempt> {
  const nonce = await readNonce(response).catch(() => undefined)
  return attempts.find((attempt) => attempt.nonce === nonce) ?? attempts[0]
}

async function readNonce(response: Response): Promise<unknown> {
  const { id_token } = (await response.clone().json()) as { id_token?: unknown }
  const [, payload = ''] = String(id_token).split('.')
  return (JSON.parse(Buffer.from(payload, 'base64url').toString()) as { nonce?: unknown }).nonce
}

function unlessUnavailable(error: unknown): null {
  const known = asProviderError(error)
  if (known instanceof ProviderUnavailableError) return null
  throw known
}

/** Providers that list their scopes without offline_access refuse it with invalid_scope. */
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
