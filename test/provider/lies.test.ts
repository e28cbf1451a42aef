import { createHmac, generateKeyPairSync, sign } from 'node:crypto'
import { inspect } from 'node:util'
import t, { type Test } from 'tap'
import { ProviderRefusedError } from '../../src/service/provider/provider.ts'
import { type MockProvider, signInAt } from '../support/providers.ts'
import { open, relyingParty, signIn, startMock, startPair } from '../support/relying-party.ts'

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })

t.test('metadata that lies is refused', async (t) => {
  const lies: [Record<string, unknown>, RegExp][] = [
    [{ issuer: 'http://127.0.0.1:1/a/' }, /issuer is http:\/\/127\.0\.0\.1:1\/a\/, not http:\/\/127\.0\.0\.1:\d+\/ $/],
    [
      { issuer: 'https://login.example/{tenantid}/v2.0' },
      /issuer is https:\/\/login\.example\/\{tenantid\}\/v2\.0, not/,
    ],
    [{ issuer: undefined }, /"issuer" property must be a string/],
    [{ authorization_endpoint: undefined }, /no authorization_endpoint/],
    [{ authorization_endpoint: 'elsewhere' }, /no authorization_endpoint/],
    [{ authorization_endpoint: ['x'] }, /no authorization_endpoint/],
    [{ authorization_endpoint: 'javascript:alert(1)' }, /only HTTP and HTTPS/],
    [{ token_endpoint: undefined }, /token_endpoint/],
    [{ token_endpoint: 'ftp://127.0.0.1/token' }, /only HTTP and HTTPS/],
    [{ jwks_uri: undefined }, /jwks_uri/],
    [{ id_token_signing_alg_values_supported: ['HS256'] }, /no key to sign ID tokens with/],
  ]
  for (const [lie, reason] of lies) {
    const { mock, provider } = await startPair(t)
    mock.alter.discovery = (metadata) => Object.assign(metadata, lie)
    await refused(t, mock, signIn(provider), reason, inspect(lie))
    mock.alter = {}
    await provider.probe()
    t.equal((await signIn(provider)).identity.subject, 'ada', 'metadata that tells the truth is accepted')
  }
})

t.test('an issuer that is no OpenID provider is refused, and the log says what was asked', async (t) => {
  const mock = await startMock(t)
  mock.faults.set('discovery', 'missing')
  const reason =
    /no OpenID provider has this issuer: http:\/\/127\.0\.0\.1:\d+\/\.well-known\/openid-configuration returned status 404/
  await refused(t, mock, open(t, mock.issuer).probe(), reason, 'like GitHub')
  const path = /:\d+\/realms\/x\/\.well-known\/openid-configuration returned status 404/
  for (const issuer of ['/realms/x', '/realms/x/'])
    await refused(t, mock, open(t, `${mock.issuer}${issuer}`).probe(), path, issuer)
})

t.test('http is for development', async (t) => {
  const mock = await startMock(t)
  const provider = open(t, mock.issuer, { allowHttp: false })
  await refused(t, mock, signIn(provider), /only requests to HTTPS are allowed/, 'the issuer')
  t.strictSame(mock.requests, [])
})

t.test('an ID token that lies is refused, at the sign-in and at a refresh', async (t) => {
  const now = Math.floor(Date.now() / 1000)
  const lies: [Record<string, unknown>, RegExp, 'nonce'?][] = [
    [{ iss: 'http://127.0.0.1:1' }, /"iss" \(issuer\) claim value/],
    [{ nonce: 'other' }, /"nonce" claim value/, 'nonce'],
    [{ nonce: undefined }, /"nonce" \(nonce\) claim missing/, 'nonce'],
    [{ aud: 'other' }, /"aud" \(audience\) claim value/],
    [{ aud: ['other'] }, /"aud" \(audience\) claim value/],
    [{ aud: ['bookmarks', 'other'] }, /additional untrusted audiences/],
    [{ aud: ['bookmarks', 'other'], azp: 'other' }, /"azp" \(authorized party\)/],
    [{ exp: now - 60 }, /clock of .* is wrong .*expiration is past/],
    [{ exp: undefined }, /"exp" \(expiration time\) claim missing/],
    [{ nbf: now + 600 }, /clock of .* is wrong .*"nbf" \(not before\) claim value/],
    [{ sub: undefined }, /"sub" \(subject\) claim missing/],
    [{ sub: 7 }, /"sub" \(subject\) claim type/],
  ]
  const { mock, provider } = await startPair(t)
  const { refreshToken } = await signIn(provider)
  mock.refreshTokens = 'kept'
  for (const [lie, reason, onlyAtSignIn] of lies) {
    mock.alter.idToken = (claims) => Object.assign(claims, lie)
    await refused(t, mock, signIn(provider), reason, inspect(lie))
    if (!onlyAtSignIn)
      await refused(t, mock, provider.refresh(String(refreshToken), 'ada'), reason, `${inspect(lie)} refreshed`)
  }
  for (const sub of ['', 'é', 'a\nb', 'a'.repeat(256)]) {
    mock.alter.idToken = (claims) => Object.assign(claims, { sub })
    mock.alter.userInfo = (claims) => Object.assign(claims, { sub })
    await refused(t, mock, signIn(provider), /unusable sub|"sub"|"expectedSubject"/, inspect(sub))
  }
})

t.test('an ID token that the provider did not sign is refused', async (t) => {
  const { mock, provider } = await startPair(t)
  const { refreshToken } = await signIn(provider)
  mock.refreshTokens = 'kept'
  const forgeries: Record<string, (header: string, payload: string, signature: string) => string> = {
    'signature altered': (header, payload, signature) =>
      `${header}.${payload}.${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`,
    'no signature': (header, payload) => `${header}.${payload}.`,
    'payload altered': (header, payload, signature) => `${header}.${altered(payload, { name: 'Eve' })}.${signature}`,
    'alg none': (header, payload) => `${altered(header, { alg: 'none' })}.${payload}.`,
    'HS256 with the client secret': (header, payload) => {
      const signed = `${altered(header, { alg: 'HS256' })}.${payload}`
      return `${signed}.${createHmac('sha256', relyingParty.clientSecret).update(signed).digest('base64url')}`
    },
    'another key under the same kid': (header, payload) =>
      `${header}.${payload}.${sign('sha256', Buffer.from(`${header}.${payload}`), privateKey).toString('base64url')}`,
    'an unknown kid': (header, payload, signature) => `${altered(header, { kid: 'other' })}.${payload}.${signature}`,
    'two parts': (header, payload) => `${header}.${payload}`,
    'five parts': (header, payload, signature) => `${header}.${payload}.${signature}.${payload}.${signature}`,
  }
  for (const algs of [['RS256'], ['RS256', 'HS256', 'none']]) {
    mock.alter.discovery = (metadata) => Object.assign(metadata, { id_token_signing_alg_values_supported: algs })
    await provider.probe()
    for (const [name, forge] of Object.entries(forgeries)) {
      mock.alter.tokens = (body) => {
        const [header = '', payload = '', signature = ''] = String(body.id_token).split('.')
        body.id_token = forge(header, payload, signature)
      }
      await refused(t, mock, signIn(provider), /./, `${name}, ${algs} announced`)
      await refused(t, mock, provider.refresh(String(refreshToken), 'ada'), /./, `${name} refreshed, ${algs} announced`)
    }
  }
  mock.alter.tokens = (body) => delete body.id_token
  await refused(t, mock, signIn(provider), /id_token/, 'no ID token')
})

t.test('malformed token responses are refused', async (t) => {
  const { mock, provider } = await startPair(t)
  for (const lie of [{ access_token: undefined }, { token_type: 'mac' }, { refresh_token: 7 }, { id_token: ['x'] }]) {
    mock.alter.tokens = (body) => Object.assign(body, lie)
    await refused(t, mock, signIn(provider), /./, inspect(lie))
  }
})

t.test('UserInfo about somebody else is refused', async (t) => {
  const { mock, provider } = await startPair(t)
  for (const sub of ['eve', undefined, 7, '']) {
    mock.alter.userInfo = (claims) => Object.assign(claims, { sub })
    await refused(t, mock, signIn(provider), /"sub" property/, String(sub))
  }
})

t.test('a callback that does not belong to this attempt is refused', async (t) => {
  const { mock, provider } = await startPair(t)
  const attempt = provider.newAttempt('/a')
  const url = await provider.authorizationUrl(attempt)
  const callbacks: [(callback: URLSearchParams) => void, RegExp][] = [
    [(callback) => callback.set('state', '/b'), /unexpected "state"/],
    [(callback) => callback.set('state', ''), /unexpected "state"/],
    [(callback) => callback.append('state', '/a'), /only once/],
    [(callback) => callback.delete('state'), /"state" missing/],
    [(callback) => callback.set('iss', 'http://127.0.0.1:1'), /unexpected "iss"/],
    [(callback) => callback.delete('code'), /no authorization code/],
    [(callback) => callback.append('code', 'x'), /only once/],
    [(callback) => callback.set('code', 'other'), /./],
    [(callback) => callback.set('id_token', 'x'), /implicit and hybrid/],
    [(callback) => callback.set('response', 'x'), /JARM/],
    [(callback) => callback.set('error', 'access_denied'), /access_denied/],
    [(callback) => callback.set('error', '<script>'), /the error unknown/],
  ]
  for (const [change, reason] of callbacks) {
    const callback = new URL(await signInAt(url, '')).searchParams
    const [code = ''] = callback.getAll('code')
    change(callback)
    await refused(t, mock, provider.exchangeCode(callback, attempt), reason, String(callback), code)
  }
  mock.alter.discovery = (metadata) => Object.assign(metadata, { authorization_response_iss_parameter_supported: true })
  await provider.probe()
  const withoutIssuer = new URL(await signInAt(url, '')).searchParams
  await refused(t, mock, provider.exchangeCode(withoutIssuer, attempt), /"iss" \(issuer\) missing/, 'iss promised')
})

t.test('a code cannot be used by another attempt, or twice', async (t) => {
  const { mock, provider } = await startPair(t)
  const mine = provider.newAttempt('/')
  const other = provider.newAttempt('/')
  const callback = async () => new URL(await signInAt(await provider.authorizationUrl(mine), '')).searchParams
  await refused(t, mock, provider.exchangeCode(await callback(), other), /./, 'wrong verifier')
  const stolen = { ...other, codeVerifier: mine.codeVerifier }
  await refused(t, mock, provider.exchangeCode(await callback(), stolen), /nonce/, 'wrong nonce')
  const used = await callback()
  await provider.exchangeCode(used, mine)
  await refused(t, mock, provider.exchangeCode(used, mine), /./, 'used')
})

/** The right error for the right reason, and nothing in it that must stay secret, however deep one looks. */
async function refused(
  t: Test,
  mock: MockProvider,
  step: Promise<unknown>,
  reason: RegExp,
  name: string,
  ...more: string[]
): Promise<void> {
  const error = await step.then(
    () => null,
    (error: unknown) => error,
  )
  if (!(error instanceof ProviderRefusedError)) return void t.fail(`${name}: ${inspect(error)}`)
  t.match(`${error.message} ${error.cause instanceof Error ? error.cause.message : ''}`, reason, name)
  const shown = inspect(error, { depth: Number.POSITIVE_INFINITY, showHidden: true })
  const secrets = mock.requests.flatMap(({ form }) =>
    ['code', 'code_verifier', 'refresh_token'].map((key) => form.get(key)),
  )
  const leaked = [...secrets, ...more, relyingParty.clientSecret, 'eyJ'].filter(
    (secret) => secret && shown.includes(secret),
  )
  t.strictSame(leaked, [], `${name}: no secret in the error`)
}

function altered(part: string, changes: Record<string, unknown>): string {
  const value: object = JSON.parse(Buffer.from(part, 'base64url').toString())
  return Buffer.from(JSON.stringify({ ...value, ...changes })).toString('base64url')
}
