import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { Events, type JWK, JWKStore, OAuth2Issuer, OAuth2Service } from 'oauth2-mock-server'
import { FAULTS } from './provider-faults.ts'

interface MockPerson {
  sub: string
  email?: string
  email_verified?: boolean | string
  name?: string
  picture?: string
}

export type MockEndpoint = 'discovery' | 'jwks' | 'authorize' | 'token' | 'userinfo' | 'revoke'

type Json = Record<string, unknown>

export interface MockProvider {
  issuer: string
  /** The person who signs in next. */
  person: MockPerson
  /** Which of a person's claims the ID token contains; UserInfo has all of them. */
  idTokenClaims: (keyof MockPerson)[]
  /** `rotating`: each refresh returns a new token and invalidates the old one. `kept`: only the sign-in returns one. */
  refreshTokens: 'rotating' | 'kept' | 'none'
  /** The valid refresh tokens. After `clear()`, every refresh gets invalid_grant. */
  validRefreshTokens: Map<string, MockPerson>
  /** Error codes that the token endpoint returns to its next requests. */
  tokenErrors: string[]
  faults: Map<MockEndpoint, keyof typeof FAULTS>
  /** Decides whether the provider accepts the client's secret in the Authorization header or the form. */
  acceptsSecret: (authorization: string | undefined, form: URLSearchParams) => boolean
  /** Endpoints whose responses are lost after the provider has done its work. */
  loses: Set<MockEndpoint>
  /** Changes the provider's data before it is signed or sent. */
  alter: {
    discovery?: (metadata: Json) => void
    redirect?: (callback: URL) => void
    idToken?: (claims: Json, header: Json) => void
    tokens?: (body: Json) => void
    userInfo?: (claims: Json) => void
  }
  /** Called before each response, which waits for the returned promise. */
  before: (endpoint: MockEndpoint) => Promise<void> | void
  /** The requests received so far. */
  requests: {
    endpoint: MockEndpoint
    authorization: string | undefined
    traceparent: string | undefined
    form: URLSearchParams
  }[]
  /** From now on signs with a new key and no longer publishes the old one. Codes not exchanged yet are lost. */
  changeKey(): Promise<void>
  close(): Promise<void>
}

/** oauth2-mock-server, which signs anyone in at once, behind a server that can alter any of its responses. */
export async function startMockProvider(): Promise<MockProvider> {
  // On a busy machine, more than Node's five seconds may pass between two requests over a connection.
  const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
    answer(mock, service, request, response).catch((error: Error) => response.destroy(error))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const mock: MockProvider = {
    issuer: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    person: {
      sub: 'ada',
      email: 'ada@example.com',
      email_verified: true,
      name: 'Ada',
      picture: 'https://example.com/a',
    },
    idTokenClaims: ['sub'],
    refreshTokens: 'rotating',
    validRefreshTokens: new Map(),
    tokenErrors: [],
    faults: new Map(),
    acceptsSecret: () => true,
    loses: new Set(),
    alter: {},
    before: () => {},
    requests: [],
    async changeKey() {
      service = await serviceOf(mock, await makeKey())
    },
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
  let service = await serviceOf(mock)
  return mock
}

const ENDPOINTS: Record<string, MockEndpoint> = {
  '/.well-known/openid-configuration': 'discovery',
  '/jwks': 'jwks',
  '/authorize': 'authorize',
  '/token': 'token',
  '/userinfo': 'userinfo',
  '/revoke': 'revoke',
}

async function answer(mock: MockProvider, service: OAuth2Service, request: IncomingMessage, response: ServerResponse) {
  const endpoint = ENDPOINTS[new URL(request.url ?? '/', mock.issuer).pathname]
  if (endpoint === undefined) return service.requestHandler(request, response)
  const body = await text(request)
  const form = new URLSearchParams(body)
  const { authorization, traceparent } = request.headers as Record<string, string | undefined>
  mock.requests.push({ endpoint, authorization, traceparent, form })
  await mock.before(endpoint)
  const fault = mock.faults.get(endpoint)
  if (fault !== undefined) return FAULTS[fault](response)
  const isSecret = endpoint === 'token' || endpoint === 'revoke'
  if (isSecret && !mock.acceptsSecret(authorization, form)) return FAULTS.unauthorized(response)
  if (endpoint === 'revoke') mock.validRefreshTokens.delete(form.get('token') ?? '')
  if (mock.loses.has(endpoint)) response.end = () => response.destroy()
  const { method, url, headers } = request
  service.requestHandler(
    Object.assign(Readable.from([Buffer.from(body)]), { method, url, headers }) as IncomingMessage,
    response,
  )
}

let commonKey: Promise<JWK> | undefined

function makeKey(): Promise<JWK> {
  return new JWKStore().generate('RS256')
}

/** Generating a key takes longer than anything else here, so all providers begin with the same one. */
async function serviceOf(mock: MockProvider, key?: JWK): Promise<OAuth2Service> {
  const issuer = new OAuth2Issuer()
  issuer.url = mock.issuer
  commonKey ??= makeKey()
  await issuer.keys.add(key ?? (await commonKey))
  const service = new OAuth2Service(issuer)
  const codes = new Map<unknown, MockPerson>()
  const accessTokens = new Map<unknown, MockPerson>()
  const personOf = (form: Json) => codes.get(form.code) ?? mock.validRefreshTokens.get(String(form.refresh_token))

  service.on(Events.BeforeWellKnownOpenIdConfiguration, ({ body }: { body: Json }) => mock.alter.discovery?.(body))
  service.on(Events.BeforeAuthorizeRedirect, ({ url }: { url: URL }) => {
    codes.set(url.searchParams.get('code'), mock.person)
    mock.alter.redirect?.(url)
  })
  service.on(Events.BeforeTokenSigning, (token: { header: Json; payload: Json }, request: { body: Json }) => {
    const person = personOf(request.body)
    if (person === undefined || token.payload.aud === undefined) return
    for (const claim of mock.idTokenClaims) token.payload[claim] = person[claim]
    // The mock signs everyone in at once, and claims that they have just entered their password.
    token.payload.auth_time = Math.floor(Date.now() / 1000)
    mock.alter.idToken?.(token.payload, token.header)
  })
  service.on(Events.BeforeResponse, (response: { statusCode: number; body: Json }, request: { body: Json }) => {
    const { code, refresh_token: spent } = request.body
    const person = personOf(request.body)
    const error = mock.tokenErrors.shift() ?? (person === undefined ? 'invalid_grant' : undefined)
    if (person === undefined || error !== undefined) {
      response.statusCode = 400
      response.body = { error, error_description: 'Because.' }
      return
    }
    accessTokens.set(`Bearer ${response.body.access_token}`, person)
    if (mock.refreshTokens === 'none' || (mock.refreshTokens === 'kept' && code === undefined)) {
      delete response.body.refresh_token
    } else {
      mock.validRefreshTokens.delete(String(spent))
      mock.validRefreshTokens.set(String(response.body.refresh_token), person)
    }
    codes.delete(code)
    mock.alter.tokens?.(response.body)
  })
  service.on(Events.BeforeUserinfo, (response: { body: Json }, request: IncomingMessage) => {
    Object.assign(response.body, accessTokens.get(request.headers.authorization))
    mock.alter.userInfo?.(response.body)
  })
  return service
}
