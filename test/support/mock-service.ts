import type { Test } from 'tap'
import { callMs } from '../../src/service/provider/provider.ts'
import { type BuildOptions, buildApp, type TestApp } from './app.ts'
import type { MockProvider } from './providers.ts'
import { relyingParty, startMock } from './relying-party.ts'

/** The service with oauth2-mock-server as its identity provider. */
export async function buildWithMock(
  t: Test,
  env: Record<string, string> = {},
  prepare: (mock: MockProvider) => void = () => {},
  options: BuildOptions = {},
): Promise<TestApp & { mock: MockProvider; limitCalls: ReturnType<typeof waitForProvider> }> {
  const limitCalls = waitForProvider(t)
  const mock = await startMock(t)
  prepare(mock)
  const app = await buildApp(t, { ...pointingTo(mock), ...env }, options)
  return { ...app, mock, limitCalls }
}

/** The service with `oidc-provider`, embedded as in development. */
export function buildWithEmbedded(t: Test, env: Record<string, string> = {}): Promise<TestApp> {
  waitForProvider(t)
  return buildApp(t, { OIDC_ISSUER: '', DEV_IDP_PORT: '0', ...env })
}

/** A long limit, so that a busy machine does not fail a test. test/provider/faults.test.ts tests the real 5 s. */
const longLimitMs = 600_000

/** Lengthens the timeout of calls to the provider. Returns a function that sets it. */
function waitForProvider(t: Test): (ms?: number) => void {
  let limitMs = longLimitMs
  const { timeout } = AbortSignal
  t.intercept(AbortSignal, 'timeout', {
    value: (ms: number) => timeout.call(AbortSignal, ms === callMs ? limitMs : ms),
  })
  return (ms = longLimitMs) => {
    limitMs = ms
  }
}

function pointingTo({ issuer }: MockProvider): Record<string, string> {
  return { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: relyingParty.clientId, OIDC_CLIENT_SECRET: relyingParty.clientSecret }
}
