import type { Test } from 'tap'
import { type BuildOptions, buildApp, type TestApp } from './app.ts'
import type { MockProvider } from './providers.ts'
import { relyingParty, startMock } from './relying-party.ts'

/** The service with oauth2-mock-server as its identity provider. */
export async function buildWithMock(
  t: Test,
  env: Record<string, string> = {},
  prepare: (mock: MockProvider) => void = () => {},
  options: BuildOptions = {},
): Promise<TestApp & { mock: MockProvider }> {
  const mock = await startMock(t)
  prepare(mock)
  const app = await buildApp(t, { ...pointingTo(mock), ...env }, options)
  return { ...app, mock }
}

/** The service with `oidc-provider`, embedded as in development. */
export function buildWithEmbedded(t: Test, env: Record<string, string> = {}): Promise<TestApp> {
  return buildApp(t, { OIDC_ISSUER: '', DEV_IDP_PORT: '0', ...env })
}

function pointingTo({ issuer }: MockProvider): Record<string, string> {
  return {
    OIDC_ISSUER: issuer,
    OIDC_CLIENT_ID: relyingParty.clientId,
    OIDC_CLIENT_SECRET: relyingParty.clientSecret,
  }
}
