import t from 'tap'
import { open, signIn, startMock, startPair } from '../support/relying-party.ts'

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
  t.match(await identity(), { email: 'ada@example.com', email_verified: false }, 'verified is another address')

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
  mock.alter.userInfo = (claims) => Object.assign(claims, { name: 7, email: { a: 1 }, picture: null })
  t.match(await identity(), { email: '', name: '', avatar_url: '' })
})

t.test('a sign-in does without UserInfo when it is not there', async (t) => {
  const { mock, provider } = await startPair(t)
  mock.idTokenClaims = ['sub', 'name']
  for (const fault of ['missing', 'error', 'hangup', 'redirect', 'html', 'endless'] as const) {
    mock.faults.set('userinfo', fault)
    t.match((await signIn(provider, '/')).identity, { subject: 'ada', name: 'Ada', email: '' }, fault)
  }
  const other = await startMock(t)
  other.alter.discovery = (metadata) => delete metadata.userinfo_endpoint
  t.match((await signIn(open(t, other.issuer), '/')).identity, { subject: 'ada', name: '' })
})
