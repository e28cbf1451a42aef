import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { ProviderUnavailableError } from '../../src/service/provider/provider.ts'
import { open, refresh, signIn, startPair } from '../support/relying-party.ts'

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
    await t.rejects(signIn(provider), unavailable(message), `${fault} at the exchange`)
    const mayHaveActed = !['redirect', 'error', 'busy'].includes(fault)
    const failed = { ...unavailable(message), mayHaveActed }
    await t.rejects(refresh(provider, refreshToken), failed, `${fault} at a refresh`)
    mock.faults.clear()

    mock.faults.set('jwks', fault)
    await t.rejects(signIn(open(t, mock.issuer)), unavailable(message), `${fault} at the keys`)
    mock.faults.clear()

    if (fault !== 'html') {
      mock.faults.set('revoke', fault)
      await t.rejects(provider.revoke(String(refreshToken)), unavailable(message), `${fault} at a revocation`)
      mock.faults.clear()
    }
  }
  t.ok(await signIn(provider))
})

t.test('a redirect is not followed', async (t) => {
  const { mock, provider } = await startPair(t)
  mock.faults.set('discovery', 'redirect')
  await t.rejects(provider.probe(), ProviderUnavailableError)
  t.equal(mock.requests.length, 1)
})

t.test('a redirect to metadata in another place of the provider is followed once', async (t) => {
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
  await t.rejects(open(t, issuer).probe(), unavailable(loops), 'not again')
  t.strictSame(asked.splice(0), [wellKnown, target])
  for (target of [`${mock.issuer}${wellKnown}`, '/login', '/login?next=/openid-configuration']) {
    await t.rejects(open(t, issuer).probe(), unavailable(/returned status 301, a redirect to [^?]*$/), target)
    t.strictSame(asked.splice(0), [wellKnown], 'nor to another origin, nor to something else')
  }
})

t.test('a provider out of reach is unavailable', async (t) => {
  const { mock, provider } = await startPair(t)
  const { refreshToken } = await signIn(provider)
  await mock.close()
  const failed = unavailable(/token failed/)
  await t.rejects(refresh(provider, refreshToken), failed, 'over the connection that was open')
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

t.test('no call takes longer than 5 s, its body included', async (t) => {
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

t.test('calls that wait for the metadata at once share one request', async (t) => {
  const { mock, provider } = await startPair(t)
  await Promise.all(Array.from({ length: 20 }, () => provider.authorizationUrl(provider.newAttempt('/'))))
  t.equal(mock.requests.length, 1)
})

function unavailable(message: RegExp) {
  return { name: 'ProviderUnavailableError', message }
}
