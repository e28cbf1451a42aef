import t, { type Test } from 'tap'
import { callMs, type Provider, refreshMs } from '../../src/service/provider/provider.ts'
import type { MockEndpoint, MockProvider } from '../support/providers.ts'
import { signIn, startMock, startPair } from '../support/relying-party.ts'
import { until } from '../support/until.ts'

t.test('metadata and keys are fetched once', async (t) => {
  const { mock, provider } = await start(t)
  for (let count = 0; count < 3; count++) await signIn(provider)
  t.equal(asked(mock, 'discovery'), 1)
  t.equal(asked(mock, 'jwks'), 1)
})

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
  t.equal(asked(mock, 'jwks'), 2, 'a forged kid makes no requests')
  pass(61)
  for (let count = 0; count < 5; count++) await t.rejects(signIn(provider), { name: 'ProviderRefusedError' })
  t.equal(asked(mock, 'jwks'), 3)
  t.equal(asked(mock, 'discovery'), 3, 'the metadata was asked for its keys, at most once a minute too')
})

t.test('keys that moved are found through the metadata', async (t) => {
  const { mock, provider, pass } = await start(t)
  await signIn(provider)
  const other = await startMock(t)
  await other.changeKey()
  // The keys at the old place stay as they were: the other provider's, which sign nothing here.
  mock.alter.discovery = (metadata) => Object.assign(metadata, { jwks_uri: `${other.issuer}/jwks` })
  await provider.probe()
  await t.rejects(signIn(provider), { name: 'ProviderRefusedError' })
  mock.alter = {}
  pass(61)
  t.equal((await signIn(provider)).identity.subject, 'ada')
})

t.test('A refresh has time for all of its calls: the secret in both ways, and keys that moved', async (t) => {
  const { mock, provider, pass } = await start(t)
  const other = await startMock(t)
  await other.changeKey()
  const bothWays = { token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'] }
  const elsewhere = { jwks_uri: `${other.issuer}/jwks` }
  mock.alter.discovery = (metadata) => Object.assign(metadata, bothWays, elsewhere)
  await t.rejects(signIn(provider), { name: 'ProviderRefusedError' }, 'the keys of the other one signed nothing')
  const [refreshToken] = mock.validRefreshTokens.keys()
  mock.alter.discovery = (metadata) => Object.assign(metadata, bothWays)
  mock.takesSecret = (_authorization, form) => form.has('client_secret')
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
  t.equal(await endpoint(), '/moved', 'metadata that lies replaces nothing')
})

async function start(t: Test): Promise<{ mock: MockProvider; provider: Provider; pass: (seconds: number) => void }> {
  const { mock, provider } = await startPair(t)
  // The mock provider lives in this process, so both sides see the same clock.
  let ahead = 0
  const { now } = Date
  t.intercept(Date, 'now', { value: () => now() + ahead })
  const pass = (seconds: number) => {
    ahead += seconds * 1000
  }
  return { mock, provider, pass }
}

function asked(mock: MockProvider, wanted: MockEndpoint): number {
  return mock.requests.filter(({ endpoint }) => endpoint === wanted).length
}
