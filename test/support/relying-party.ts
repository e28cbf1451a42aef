import type { Test } from 'tap'
import { signInAt } from '../../scripts/servers/sign-in.ts'
import { openProvider, type ProviderConfig } from '../../src/service/provider/openid.ts'
import type { Provider } from '../../src/service/provider/provider.ts'
import { type MockProvider, startMockProvider } from './providers.ts'

/** The service's registration as a client at a provider, for tests that run without the service. */
export const relyingParty = {
  clientId: 'bookmarks',
  clientSecret: 'a secret: 100% + /=',
  scopes: 'openid profile email offline_access',
  redirectUri: 'http://127.0.0.1:3000/api/v1/auth/callback',
  allowHttp: true,
  proxies: { http: undefined, https: undefined, none: undefined },
}

export async function startPair(t: Test): Promise<{ mock: MockProvider; provider: Provider }> {
  const mock = await startMock(t)
  return { mock, provider: open(t, mock.issuer) }
}

export async function startMock(t: Test): Promise<MockProvider> {
  const mock = await startMockProvider()
  t.teardown(() => mock.close())
  return mock
}

export function open(t: Test, issuer: string, changes: Partial<ProviderConfig> = {}): Provider {
  const provider = openProvider({ ...relyingParty, issuer, ...changes })
  t.teardown(() => provider.close())
  return provider
}

export async function signIn(provider: Provider, returnTo = '/', name = 'Ada') {
  const attempt = provider.newAttempt(returnTo)
  const callback = await signInAt(await provider.authorizationUrl(attempt), name)
  return provider.exchangeCode(new URL(callback).searchParams, attempt)
}

/** The refresh token that is valid from now on; null if the provider returned no new one. */
export async function refresh(
  provider: Provider,
  refreshToken: string | null,
  subject = 'ada',
): Promise<string | null> {
  return (await provider.refresh(String(refreshToken), subject)).refreshToken
}
