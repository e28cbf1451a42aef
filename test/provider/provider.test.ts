import { createHash } from 'node:crypto'
import t from 'tap'
import { InvalidGrantError } from '../../src/service/provider/provider.ts'
import { pick } from '../support/pick.ts'
import type { MockProvider } from '../support/providers.ts'
import { open, refresh, relyingParty, signIn, startMock, startPair } from '../support/relying-party.ts'

t.test('signs in at a provider without iss parameter and client secret', async (t) => {
  const { mock, provider } = await startPair(t)
  const { identity, refreshToken } = await signIn(provider, '/a?b=c#d')
  t.strictSame(identity, {
    issuer: mock.issuer,
    subject: 'ada',
    email: 'ada@example.com',
    name: 'Ada',
    avatar_url: 'https://example.com/a',
    email_verified: true,
  })
  t.ok(mock.validRefreshTokens.has(String(refreshToken)))
})

t.test('the authorization URL carries what OpenID Connect, PKCE and the interface require', async (t) => {
  const { mock, provider } = await startPair(t)
  const attempt = provider.newAttempt('/a?b=c&d#é')
  const url = new URL(await provider.authorizationUrl(attempt))
  t.equal(url.origin + url.pathname, `${mock.issuer}/authorize`)
  t.strictSame(Object.fromEntries(url.searchParams), {
    response_type: 'code',
    client_id: relyingParty.clientId,
    redirect_uri: relyingParty.redirectUri,
    scope: 'openid profile email offline_access',
    state: '/a?b=c&d#é',
    nonce: attempt.nonce,
    code_challenge: createHash('sha256').update(attempt.codeVerifier).digest('base64url'),
    code_challenge_method: 'S256',
    // With max_age, a provider must return auth_time.
    max_age: '31536000',
  })
  for (const [prompt, maxAge] of [
    ['login', '0'],
    ['select_account', '31536000'],
  ] as const) {
    const { searchParams } = new URL(await provider.authorizationUrl(attempt, prompt))
    t.same([searchParams.get('prompt'), searchParams.get('max_age')], [prompt, maxAge])
  }
  const other = provider.newAttempt('/')
  t.not(other.nonce, attempt.nonce)
  t.not(other.codeVerifier, attempt.codeVerifier)
  t.match(attempt.codeVerifier, /^[\w-]{43}$/)
})

t.test('openid is always requested; offline_access is not if the provider lists its scopes without it', async (t) => {
  const mock = await startMock(t)
  mock.alter.discovery = (metadata) => {
    metadata.scopes_supported = ['openid', 'email']
    metadata.authorization_endpoint = `${mock.issuer}/authorize?tenant=7`
  }
  const provider = open(t, mock.issuer, { scopes: ' email  offline_access ' })
  const { searchParams } = new URL(await provider.authorizationUrl(provider.newAttempt('/')))
  t.equal(searchParams.get('scope'), 'openid email')
  t.equal(searchParams.get('tenant'), '7')
})

t.test('a callback without state means /', async (t) => {
  const { mock, provider } = await startPair(t)
  mock.alter.redirect = (callback) => callback.searchParams.delete('state')
  t.equal((await signIn(provider, '/')).identity.subject, 'ada')
  await t.rejects(signIn(provider, '/elsewhere'), { name: 'ProviderRefusedError' })
})

t.test('the secret is sent by client_secret_basic, or by client_secret_post if only that is listed', async (t) => {
  const encoded = new URLSearchParams([['', relyingParty.clientSecret]]).toString().slice(1)
  const basic = `Basic ${btoa(`bookmarks:${encoded}`)}`
  const lists = [undefined, ['client_secret_basic', 'client_secret_post'], ['client_secret_post', 'private_key_jwt']]
  for (const methods of lists) {
    const mock = await startMock(t)
    mock.alter.discovery = (metadata) => Object.assign(metadata, { token_endpoint_auth_methods_supported: methods })
    const provider = open(t, mock.issuer)
    // The mock reads the client from the Authorization header or the form, and issues the ID token for it.
    await provider.revoke(String((await signIn(provider, '/')).refreshToken))
    for (const { endpoint, authorization, form } of mock.requests) {
      if (endpoint !== 'token' && endpoint !== 'revoke') continue
      const post = methods?.[0] === 'client_secret_post'
      t.equal(authorization, post ? undefined : basic, `${endpoint} with ${methods}`)
      t.equal(form.get('client_secret'), post ? relyingParty.clientSecret : null, `${endpoint} with ${methods}`)
    }
  }
})

t.test('the secret is sent the other way if the provider refuses the first way for this client', async (t) => {
  const sent = ({ endpoint, form }: MockProvider['requests'][number]) =>
    endpoint === 'token' || endpoint === 'revoke' ? [`${endpoint} ${form.has('client_secret') ? 'post' : 'basic'}`] : []
  const asked = () => mock.requests.splice(0).flatMap(sent)
  const { mock, provider } = await startPair(t)
  const list = (...methods: string[]) => {
    mock.alter.discovery = (metadata) => Object.assign(metadata, { token_endpoint_auth_methods_supported: methods })
  }
  list('client_secret_post', 'client_secret_basic', 'private_key_jwt')
  mock.acceptsSecret = (_authorization, form) => form.get('client_secret') === relyingParty.clientSecret
  const { refreshToken } = await signIn(provider)
  t.strictSame(asked(), ['token basic', 'token post'])
  await provider.revoke(String(await refresh(provider, refreshToken)))
  t.strictSame(asked(), ['token post', 'revoke post'], 'the way that worked is used first')

  mock.acceptsSecret = (authorization) => authorization !== undefined
  const again = await signIn(provider)
  t.strictSame(asked(), ['token post', 'token basic'], 'the registration changed meanwhile')
  const rotated = again.refreshToken
  mock.validRefreshTokens.clear()
  mock.acceptsSecret = (_authorization, form) => form.has('client_secret')
  await t.rejects(refresh(provider, rotated), InvalidGrantError, 'the error of the accepted way counts')

  mock.acceptsSecret = () => false
  asked()
  await t.rejects(
    signIn(provider),
    { name: 'ProviderRefusedError', message: /the error invalid_client$/ },
    'a wrong secret',
  )
  t.equal(asked().length, 2)
  list('client_secret_basic')
  await provider.probe()
  await t.rejects(signIn(provider), { name: 'ProviderRefusedError' })
  t.strictSame(asked(), ['token basic'], 'an unlisted way is not tried')
})

t.test('client_secret_basic encodes only what it must, because some providers do not decode', async (t) => {
  const mock = await startMock(t)
  const plain = { clientId: 'my-client_1.example~x', clientSecret: 'aB3-_.~' }
  await signIn(open(t, mock.issuer, plain))
  const authorizations = () =>
    mock.requests.flatMap(({ authorization }) => authorization?.match(/^Basic (.*)/)?.[1] ?? [])
  t.equal(atob(String(authorizations().at(-1))), `${plain.clientId}:${plain.clientSecret}`)
  const special = { clientId: 'a:b', clientSecret: '%+ /=&é:!"' }
  await signIn(open(t, mock.issuer, special)).catch(() => {})
  const [id, secret] = atob(String(authorizations().at(-1)))
    .split(':')
    .map((part) => new URLSearchParams(`x=${part}`).get('x'))
  t.strictSame({ clientId: id, clientSecret: secret }, special)
})

t.test('claims come from the ID token, completed by UserInfo', async (t) => {
  const { mock, provider } = await startPair(t)
  const identity = async () => (await signIn(provider, '/')).identity

  mock.idTokenClaims = ['sub', 'email', 'email_verified', 'name', 'picture']
  t.match(await identity(), { email: 'ada@example.com', email_verified: true, avatar_url: 'https://example.com/a' })
  t.notOk(
    mock.requests.some(({ endpoint }) => endpoint === 'userinfo'),
    'a complete ID token needs no UserInfo',
  )

  mock.idTokenClaims = ['sub', 'email', 'email_verified']
  mock.alter.userInfo = (claims) => Object.assign(claims, { email: 'other@example.com', name: 'Ada II' })
  t.match(await identity(), { email: 'ada@example.com', name: 'Ada II' }, 'the ID token wins')

  mock.idTokenClaims = ['sub', 'email']
  t.match(await identity(), { email: 'ada@example.com', email_verified: false }, 'only another address is verified')

  mock.idTokenClaims = ['sub']
  mock.alter = {}
  mock.person = { sub: 'bob', email: 'bob@example.com', email_verified: 'true' }
  t.match(await identity(), { email_verified: true, name: '', avatar_url: '' })
  mock.person = { sub: 'bob', email_verified: true }
  t.match(await identity(), { subject: 'bob', email: '', name: '', email_verified: false })
  mock.person = {
    sub: 'bob',
    email: 'bob@example.com',
    email_verified: false,
    name: 'B\0o\ud800b',
    picture: 'x'.repeat(2049),
  }
  t.match(await identity(), { email_verified: false, name: 'Bo\ufffdb', avatar_url: '' })
  const name = ' \u202eadA\u2066\nLovelace\u0007\u2028 '
  for (const [picture, shown] of [
    ['javascript:alert(1)', ''],
    ['data:image/svg+xml,<svg onload="alert(1)"/>', ''],
    ['java\nscript:alert(1)', ''],
    ['/a.png', ''],
    ['http://example.com/a?b#c', 'http://example.com/a?b#c'],
  ]) {
    mock.person = { sub: 'bob', email: 'bob@exa\u202emple.com', name, picture: picture ?? '' }
    t.match(await identity(), { email: 'bob@example.com', name: 'adA Lovelace', avatar_url: shown }, `${picture}`)
  }
  mock.alter.userInfo = (claims) => Object.assign(claims, { name: 7, email: { a: 1 }, picture: null })
  t.match(await identity(), { email: '', name: '', avatar_url: '' })
})

t.test('Without a full name, the given and family names are shown, or else the user name', async (t) => {
  const { mock, provider } = await startPair(t)
  mock.person = { sub: 'ada' }
  const shown = async (claims: object) => {
    mock.alter.userInfo = (userInfo) => Object.assign(userInfo, claims)
    return (await signIn(provider)).identity.name
  }
  const parts = { given_name: 'Ada', family_name: 'Lovelace', preferred_username: 'ada.l' }
  t.equal(await shown({ ...parts, name: 'Countess of Lovelace' }), 'Countess of Lovelace')
  t.equal(await shown(parts), 'Ada Lovelace')
  t.equal(await shown({ ...parts, name: '', family_name: null }), 'Ada')
  t.equal(await shown({ preferred_username: 'ada.l' }), 'ada.l')
  t.equal(await shown({}), '')
})

t.test('A claim that the ID token spells null or empty is taken from UserInfo', async (t) => {
  const { mock, provider } = await startPair(t)
  for (const nothing of [null, '']) {
    mock.alter.idToken = (claims) =>
      Object.assign(claims, { email: nothing, email_verified: nothing, name: nothing, picture: nothing })
    t.match((await signIn(provider)).identity, { email: 'ada@example.com', email_verified: true, name: 'Ada' })
  }
})

t.test('Sign-in and refresh accept optional members that are null, empty or of a wrong type', async (t) => {
  const { mock, provider } = await startPair(t)
  mock.refreshTokens = 'kept'
  const { refreshToken } = await signIn(provider)
  const absent: Record<string, unknown>[] = [
    ...[null, ''].flatMap((nothing) => [{ refresh_token: nothing }, { scope: nothing }, { expires_in: nothing }]),
    ...[{ scope: ['openid'] }, { expires_in: 'soon' }, { expires_in: -1 }],
  ]
  for (const members of absent) {
    mock.alter.tokens = (body) => Object.assign(body, members)
    const signedIn = await signIn(provider)
    t.equal(signedIn.identity.subject, 'ada', JSON.stringify(members))
    if ('refresh_token' in members) t.equal(signedIn.refreshToken, null)
    t.equal(await refresh(provider, refreshToken), null, `${JSON.stringify(members)} refreshed`)
  }
  mock.alter.tokens = (body) => Object.assign(body, { id_token: null })
  t.equal(await refresh(provider, refreshToken), null, 'a refresh may have no ID token')
})

t.test('An invalid auth_time is ignored, at the sign-in and at a refresh', async (t) => {
  const { mock, provider } = await startPair(t)
  mock.refreshTokens = 'kept'
  const { refreshToken, authenticatedMsAgo } = await signIn(provider)
  t.equal(authenticatedMsAgo, 0)
  for (const auth_time of [null, '', '1700000000', 'yesterday', 0, -62135596800, true, { at: 1 }]) {
    mock.alter.idToken = (claims) => Object.assign(claims, { auth_time })
    t.match(
      await signIn(provider),
      { identity: { subject: 'ada' }, authenticatedMsAgo: null },
      JSON.stringify(auth_time),
    )
    t.equal(await refresh(provider, refreshToken), null, `${JSON.stringify(auth_time)} refreshed`)
  }
})

t.test('a sign-in works without UserInfo if the provider does not have it', async (t) => {
  const other = await startMock(t)
  other.alter.discovery = (metadata) => delete metadata.userinfo_endpoint
  t.match((await signIn(open(t, other.issuer), '/')).identity, { subject: 'ada', name: '' })
})

t.test('a refresh returns the next refresh token if the provider rotates tokens, otherwise null', async (t) => {
  const { mock, provider } = await startPair(t)
  const first = (await signIn(provider, '/')).refreshToken
  const second = await refresh(provider, first)
  t.ok(mock.validRefreshTokens.has(String(second)))
  await t.rejects(refresh(provider, first), InvalidGrantError, 'the first token is used up')

  mock.refreshTokens = 'kept'
  t.equal(await refresh(provider, second), null)
  t.equal(await refresh(provider, second), null)
  mock.alter.tokens = (body) => delete body.id_token
  t.equal(await refresh(provider, second), null, 'a refresh works without an ID token')

  mock.refreshTokens = 'none'
  mock.alter = {}
  t.equal((await signIn(provider, '/')).refreshToken, null)
})

t.test('a refresh ends the login at errors that only a new sign-in can fix, and at another sub', async (t) => {
  const { mock, provider } = await startPair(t)
  mock.refreshTokens = 'kept'
  const { refreshToken } = await signIn(provider, '/')
  mock.acceptsSecret = () => false
  await t.rejects(refresh(provider, refreshToken), { name: 'ProviderRefusedError' }, 'invalid_client')
  mock.acceptsSecret = () => true
  mock.tokenErrors = ['Because of\nyou']
  await t.rejects(refresh(provider, refreshToken), { name: 'ProviderRefusedError', message: /the error unknown$/ })
  for (const error of ['temporarily_unavailable', 'server_error']) {
    mock.tokenErrors = [error]
    await t.rejects(refresh(provider, refreshToken), { name: 'ProviderUnavailableError' }, error)
  }
  for (const error of [
    'invalid_grant',
    'interaction_required',
    'login_required',
    'consent_required',
    'access_denied',
  ]) {
    mock.tokenErrors = [error]
    await t.rejects(refresh(provider, refreshToken), InvalidGrantError, error)
  }
  t.equal(await refresh(provider, refreshToken), null)

  await t.rejects(refresh(provider, refreshToken, 'bob'), InvalidGrantError)
  mock.alter.idToken = (claims) => Object.assign(claims, { sub: 'eve' })
  await t.rejects(refresh(provider, refreshToken), InvalidGrantError)
})

t.test('a refresh does not lose the new refresh token when the keys are unreachable', async (t) => {
  const { mock, provider } = await startPair(t)
  const { refreshToken } = await signIn(provider, '/')
  const later = open(t, mock.issuer)
  mock.faults.set('jwks', 'error')
  t.ok(mock.validRefreshTokens.has(String(await refresh(later, refreshToken))))
})

t.test('revoking calls the provider, unless it does not support revocation', async (t) => {
  const { mock, provider } = await startPair(t)
  const { refreshToken } = await signIn(provider, '/')
  await provider.revoke(String(refreshToken))
  t.strictSame(
    [...(mock.requests.at(-1)?.form ?? [])],
    [
      ['token_type_hint', 'refresh_token'],
      ['token', String(refreshToken)],
    ],
  )
  await t.rejects(refresh(provider, refreshToken), InvalidGrantError)
  mock.faults.set('revoke', 'error')
  await t.rejects(provider.revoke('x'), { name: 'ProviderUnavailableError' })

  const other = await startMock(t)
  other.alter.discovery = (metadata) => delete metadata.revocation_endpoint
  await open(t, other.issuer).revoke('x')
  t.strictSame(pick(other.requests, 'endpoint'), ['discovery'])
})
