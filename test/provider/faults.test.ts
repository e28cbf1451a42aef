import { createHmac, generateKeyPairSync, sign } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { inspect } from 'node:util'
import t, { type Test } from 'tap'
import { signInAt } from '../../scripts/servers/sign-in.ts'
import {
  callMs,
  type Provider,
  ProviderRefusedError,
  ProviderUnavailableError,
  refreshMs,
} from '../../src/service/provider/provider.ts'
import type { MockEndpoint, MockProvider } from '../support/providers.ts'
import { open, refresh, relyingParty, signIn, startMock, startPair } from '../support/relying-party.ts'
import { until } from '../support/until.ts'

t.test('a provider with faulty responses is unavailable, and available again once it recovers', async (t) => {
  const { mock, provider } = await startPair(t)
  const reasons = {
    redirect: /returned status 302, a redirect to http:\/\/127\.0\.0\.1:\d+\/jwks$/,
    error: /returned status 500/,
    busy: /returned status 429/,
    html: /an unreadable response/,
    hangup: /failed/,
    endless: /returned more than 1048576 bytes/,
    bomb: /returned more than 1048576 bytes/,
  } as const
  for (const [fault, message] of Object.entries(reasons) as [keyof typeof reasons, RegExp][]) {
    mock.faults.set('discovery', fault)
    const early = open(t, mock.issuer)
    await t.rejects(early.authorizationUrl(early.newAttempt('/')), unavailable(message), `${fault} at discovery`)
    await t.rejects(early.probe(), unavailable(message), `${fault} at a probe`)
    mock.faults.clear()
    const { refreshToken } = await signIn(early)

    mock.faults.set('discovery', fault)
    await t.rejects(early.probe(), unavailable(message), `${fault} at a later probe`)
    t.ok(await signIn(early), 'the metadata is kept')
    mock.faults.clear()

    mock.faults.set('token', fault)
    const mayHaveActed = !['redirect', 'error', 'busy'].includes(fault)
    const failed = { ...unavailable(message), mayHaveActed }
    await t.rejects(refresh(provider, refreshToken), failed, `${fault} at a refresh`)
    mock.faults.clear()
  }
  t.ok(await signIn(provider))
})

t.test("one redirect of the metadata within the provider's origin is followed", async (t) => {
  const { mock } = await startPair(t)
  const metadata = await (await fetch(`${mock.issuer}/.well-known/openid-configuration`)).text()
  const wellKnown = '/.well-known/openid-configuration'
  const moved = (path: string) => `/index.php${path}`
  const places: Record<string, string> = { [moved('/apps/oidc/openid-configuration')]: metadata }
  let target = moved('/apps/oidc/openid-configuration')
  const asked: string[] = []
  const server = createServer(({ url = '' }, response) => {
    asked.push(url)
    const found = places[url]?.replaceAll(mock.issuer, issuer)
    if (found === undefined) response.writeHead(301, { location: target }).end()
    else response.writeHead(200, { 'content-type': 'application/json' }).end(found)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => server.close())
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  await open(t, issuer).probe()
  t.strictSame(asked.splice(0), [wellKnown, target])

  target = moved(wellKnown)
  const loops = / returned status 301, a redirect to .*\/index\.php\/\.well-known\/openid-configuration$/
  await t.rejects(open(t, issuer).probe(), unavailable(loops), 'a second redirect is not followed')
  t.strictSame(asked.splice(0), [wellKnown, target])
  for (target of [`${mock.issuer}${wellKnown}`, '/login', '/login?next=/openid-configuration']) {
    await t.rejects(open(t, issuer).probe(), unavailable(/returned status 301, a redirect to [^?]*$/), target)
    t.strictSame(asked.splice(0), [wellKnown], 'no redirect to another origin or other content is followed')
  }
})

t.test('an unreachable provider is reported as unavailable', async (t) => {
  const { mock, provider } = await startPair(t)
  const { refreshToken } = await signIn(provider)
  await mock.close()
  const failed = unavailable(/token failed/)
  await t.rejects(refresh(provider, refreshToken), failed, 'a refresh over the open connection fails')
  await t.rejects(refresh(provider, refreshToken), {
    ...failed,
    mayHaveActed: false,
    cause: { cause: { code: 'ECONNREFUSED' } },
  })
  await t.rejects(provider.probe(), ProviderUnavailableError)
  t.ok(await provider.authorizationUrl(provider.newAttempt('/')), 'the metadata is kept')

  const nowhere = open(t, 'http://nowhere.invalid')
  await t.rejects(nowhere.probe(), ProviderUnavailableError)
})

t.test('no call takes longer than 5 s, including its body', async (t) => {
  const message = /did not complete its response within 5000 ms/
  const slow = async (endpoint: 'discovery' | 'token' | 'userinfo', fault: 'silent' | 'dripping') => {
    const { mock, provider } = await startPair(t)
    mock.faults.set(endpoint, fault)
    if (endpoint === 'userinfo') t.match(await signIn(provider), { identity: { subject: 'ada', email: '' } })
    else await t.rejects(signIn(provider), unavailable(message), `${fault} at ${endpoint}`)
  }
  await Promise.all([
    slow('discovery', 'silent'),
    slow('discovery', 'dripping'),
    slow('token', 'silent'),
    slow('token', 'dripping'),
    slow('userinfo', 'dripping'),
  ])
})

t.test('parallel calls that need the metadata share one request', async (t) => {
  const { mock, provider } = await startPair(t)
  await Promise.all(Array.from({ length: 20 }, () => provider.authorizationUrl(provider.newAttempt('/'))))
  t.equal(mock.requests.length, 1)
})

function unavailable(message: RegExp) {
  return { name: 'ProviderUnavailableError', message }
}

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })

t.test('metadata with false values is refused', async (t) => {
  const lies: [Record<string, unknown>, RegExp][] = [
    [{ issuer: 'http://127.0.0.1:1/a/' }, /issuer is http:\/\/127\.0\.0\.1:1\/a\/, not http:\/\/127\.0\.0\.1:\d+\/ $/],
    [
      { issuer: 'https://login.example/{tenantid}/v2.0' },
      /issuer is https:\/\/login\.example\/\{tenantid\}\/v2\.0, not/,
    ],
    [{ issuer: undefined }, /"issuer" property must be a string/],
    [{ authorization_endpoint: undefined }, /no authorization_endpoint/],
    [{ authorization_endpoint: 'elsewhere' }, /no authorization_endpoint/],
    [{ authorization_endpoint: '//evil.example' }, /no authorization_endpoint/],
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
    t.equal((await signIn(provider)).identity.subject, 'ada', 'true metadata is accepted')
  }
})

t.test('an issuer that is not an OpenID provider is refused, and the log names the URL', async (t) => {
  const mock = await startMock(t)
  mock.faults.set('discovery', 'missing')
  const reason =
    /no OpenID provider has this issuer: http:\/\/127\.0\.0\.1:\d+\/\.well-known\/openid-configuration returned status 404/
  await refused(t, mock, open(t, mock.issuer).probe(), reason, 'like GitHub')
  const path = /:\d+\/realms\/x\/\.well-known\/openid-configuration returned status 404/
  for (const issuer of ['/realms/x', '/realms/x/'])
    await refused(t, mock, open(t, `${mock.issuer}${issuer}`).probe(), path, issuer)
})

t.test('an http issuer is accepted in development only', async (t) => {
  const mock = await startMock(t)
  const provider = open(t, mock.issuer, { allowHttp: false })
  await refused(t, mock, signIn(provider), /only requests to HTTPS are allowed/, 'the issuer')
  t.strictSame(mock.requests, [])
})

t.test('an ID token with false claims is refused, at the sign-in and at a refresh', async (t) => {
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
  const unusable: [string, RegExp][] = [
    ['', /unusable sub claim: it is empty|"sub"|"expectedSubject"/],
    ['müller', /unusable sub claim: it has a character that is not printable ASCII/],
    ['a\nb', /unusable sub claim: it has a character that is not printable ASCII/],
    ['a'.repeat(256), /unusable sub claim: it has more than 255 characters/],
  ]
  for (const [sub, reason] of unusable) {
    mock.alter.idToken = (claims) => Object.assign(claims, { sub })
    mock.alter.userInfo = (claims) => Object.assign(claims, { sub })
    await refused(t, mock, signIn(provider), reason, inspect(sub))
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
  // The service removes an invalid auth_time before it checks claims, but must still check the signature.
  const times: [string[], unknown][] = [
    [['RS256'], 1_700_000_000],
    [['RS256', 'HS256', 'none'], 1_700_000_000],
    [['RS256'], 'yesterday'],
    [['RS256', 'HS256', 'none'], null],
  ]
  for (const [algs, auth_time] of times) {
    mock.alter.idToken = (claims) => Object.assign(claims, { auth_time })
    mock.alter.tokens = () => {}
    await provider.probe()
    t.ok(await signIn(provider), 'the token is accepted unchanged')
    mock.alter.discovery = (metadata) => Object.assign(metadata, { id_token_signing_alg_values_supported: algs })
    await provider.probe()
    for (const [name, forge] of Object.entries(forgeries)) {
      mock.alter.tokens = (body) => {
        const [header = '', payload = '', signature = ''] = String(body.id_token).split('.')
        body.id_token = forge(header, payload, signature)
      }
      const what = `${name}, ${algs} announced, auth_time ${auth_time}`
      await refused(t, mock, signIn(provider), /./, what)
      await refused(t, mock, provider.refresh(String(refreshToken), 'ada'), /./, `${what}, refreshed`)
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

/** Checks that signing in fails with the right error and reason, and that no part of the error has a secret. */
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

t.test('keys are fetched again for an unknown key, at most once a minute', async (t) => {
  const { mock, provider, pass } = await start(t)
  await signIn(provider)
  await mock.changeKey()
  pass(50)
  await t.rejects(signIn(provider), { name: 'ProviderRefusedError', cause: { message: /no applicable keys found/ } })
  await t.rejects(signIn(provider), { name: 'ProviderRefusedError' })
  t.equal(asked(mock, 'jwks'), 1)
  pass(11)
  t.equal((await signIn(provider)).identity.subject, 'ada')
  t.equal(asked(mock, 'jwks'), 2)

  mock.alter.idToken = (_claims, header) => Object.assign(header, { kid: 'forged' })
  for (let count = 0; count < 5; count++) await t.rejects(signIn(provider), { name: 'ProviderRefusedError' })
  t.equal(asked(mock, 'jwks'), 2, 'unknown keys cause no further requests')
  pass(61)
  for (let count = 0; count < 5; count++) await t.rejects(signIn(provider), { name: 'ProviderRefusedError' })
  t.equal(asked(mock, 'jwks'), 3)
  t.equal(asked(mock, 'discovery'), 3, 'the metadata is fetched at most once a minute, too')
})

t.test('keys at a new URL are found through the metadata', async (t) => {
  const { mock, provider, pass } = await start(t)
  await signIn(provider)
  const other = await startMock(t)
  await other.changeKey()
  // The old URL still serves keys, of another provider, which did not sign these tokens.
  mock.alter.discovery = (metadata) => Object.assign(metadata, { jwks_uri: `${other.issuer}/jwks` })
  await provider.probe()
  await t.rejects(signIn(provider), { name: 'ProviderRefusedError' })
  mock.alter = {}
  pass(61)
  t.equal((await signIn(provider)).identity.subject, 'ada')
})

t.test('A refresh has time for all of its calls: both ways to send the secret, and keys at a new URL', async (t) => {
  const { mock, provider, pass } = await start(t)
  const other = await startMock(t)
  await other.changeKey()
  const bothWays = { token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'] }
  const elsewhere = { jwks_uri: `${other.issuer}/jwks` }
  mock.alter.discovery = (metadata) => Object.assign(metadata, bothWays, elsewhere)
  await t.rejects(signIn(provider), { name: 'ProviderRefusedError' }, "the other provider's keys do not fit")
  const [refreshToken] = mock.validRefreshTokens.keys()
  mock.alter.discovery = (metadata) => Object.assign(metadata, bothWays)
  mock.acceptsSecret = (_authorization, form) => form.has('client_secret')
  pass(61)
  const calls = () => mock.requests.length + other.requests.length
  const before = calls()
  t.ok((await provider.refresh(String(refreshToken), 'ada')).refreshToken)
  t.equal((calls() - before) * callMs, refreshMs)
})

t.test('metadata older than an hour is fetched again in the background, and the old is kept on failure', async (t) => {
  const { mock, provider, pass } = await start(t)
  const endpoint = async () => new URL(await provider.authorizationUrl(provider.newAttempt('/'))).pathname
  t.equal(await endpoint(), '/authorize')
  mock.alter.discovery = (metadata) => Object.assign(metadata, { authorization_endpoint: `${mock.issuer}/moved` })
  pass(3599)
  t.equal(await endpoint(), '/authorize')
  t.equal(asked(mock, 'discovery'), 1)

  mock.faults.set('discovery', 'error')
  pass(1)
  t.equal(await endpoint(), '/authorize')
  await until(() => asked(mock, 'discovery') === 2)
  t.equal(await endpoint(), '/authorize')
  pass(30)
  t.equal(await endpoint(), '/authorize')
  t.equal(asked(mock, 'discovery'), 2, 'not tried again within the minute')

  mock.faults.clear()
  pass(30)
  t.equal(await endpoint(), '/authorize')
  await until(async () => (await endpoint()) === '/moved')
  t.equal(asked(mock, 'discovery'), 3)

  mock.alter.discovery = (metadata) => Object.assign(metadata, { issuer: 'http://127.0.0.1:1' })
  await t.rejects(provider.probe(), { name: 'ProviderRefusedError' })
  t.equal(await endpoint(), '/moved', 'false metadata replaces nothing')
})

async function start(t: Test): Promise<{ mock: MockProvider; provider: Provider; pass: (seconds: number) => void }> {
  const { mock, provider } = await startPair(t)
  // The mock provider lives in this process, so both sides see the same clock. It stands still between the steps.
  let now = Date.now()
  t.intercept(Date, 'now', { value: () => now })
  const pass = (seconds: number) => {
    now += seconds * 1000
  }
  return { mock, provider, pass }
}

function asked(mock: MockProvider, wanted: MockEndpoint): number {
  return mock.requests.filter(({ endpoint }) => endpoint === wanted).length
}
