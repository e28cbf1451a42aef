import t from 'tap'
import { InvalidGrantError } from '../../src/service/provider/provider.ts'
import { open, refresh, signIn, startMock, startPair } from '../support/relying-party.ts'

t.test('a refresh gives the next refresh token when the provider rotates, null when it does not', async (t) => {
  const { mock, provider } = await startPair(t)
  const first = (await signIn(provider, '/')).refreshToken
  const second = await refresh(provider, first)
  t.ok(mock.validRefreshTokens.has(String(second)))
  await t.rejects(refresh(provider, first), InvalidGrantError, 'the first is spent')

  mock.refreshTokens = 'kept'
  t.equal(await refresh(provider, second), null)
  t.equal(await refresh(provider, second), null)
  mock.alter.tokens = (body) => delete body.id_token
  t.equal(await refresh(provider, second), null, 'without an ID token too')

  mock.refreshTokens = 'none'
  mock.alter = {}
  t.equal((await signIn(provider, '/')).refreshToken, null)
})

t.test(
  'what only another sign-in can mend, and another sub, end a login; other errors of the provider do not',
  async (t) => {
    const { mock, provider } = await startPair(t)
    mock.refreshTokens = 'kept'
    const { refreshToken } = await signIn(provider, '/')
    mock.takesSecret = () => false
    await t.rejects(refresh(provider, refreshToken), { name: 'ProviderRefusedError' }, 'invalid_client')
    mock.takesSecret = () => true
    for (const error of ['temporarily_unavailable', 'server_error', 'Because of\nyou']) {
      mock.tokenErrors = [error]
      await t.rejects(refresh(provider, refreshToken), { name: 'ProviderRefusedError' }, error)
    }
    for (const error of ['invalid_grant', 'interaction_required', 'login_required', 'consent_required']) {
      mock.tokenErrors = [error]
      await t.rejects(refresh(provider, refreshToken), InvalidGrantError, error)
    }
    t.equal(await refresh(provider, refreshToken), null)

    await t.rejects(refresh(provider, refreshToken, 'bob'), InvalidGrantError)
    mock.alter.idToken = (claims) => Object.assign(claims, { sub: 'eve' })
    await t.rejects(refresh(provider, refreshToken), InvalidGrantError)
  },
)

t.test('a refresh does not lose the new refresh token when the keys are unreachable', async (t) => {
  const { mock, provider } = await startPair(t)
  const { refreshToken } = await signIn(provider, '/')
  const later = open(t, mock.issuer)
  mock.faults.set('jwks', 'error')
  t.ok(mock.validRefreshTokens.has(String(await refresh(later, refreshToken))))
})

t.test('revoking notifies the provider, or nobody if it does not support revocation', async (t) => {
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
  t.strictSame(
    other.requests.map(({ endpoint }) => endpoint),
    ['discovery'],
  )
})
