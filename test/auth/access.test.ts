import t, { type Test } from 'tap'
import { signInAt } from '../../scripts/servers/sign-in.ts'
import { openBrowser } from '../support/browser.ts'
import { snapshot } from '../support/database.ts'
import { buildWithMock } from '../support/mock-service.ts'

type Service = Awaited<ReturnType<typeof buildWithMock>>
type Claims = Record<string, unknown>

const forbidden = '/login?error=This%20account%20may%20not%20use%20this%20service'
const closed = '/login?error=This%20service%20takes%20no%20new%20users'

/** Signs in a person with these claims in the provider's ID token. */
async function signInWith({ call, mock }: Service, claims: Claims, sub = 'ada') {
  mock.person = { sub }
  mock.alter.idToken = (token) => Object.assign(token, claims)
  const browser = openBrowser(call)
  const { headers } = await browser.signIn('Ada', '/in')
  return { location: headers.location, browser }
}

/** Checks that the sign-in is refused, creates nothing, sets no session cookie, and logs the reason without a name. */
async function refused(t: Test, service: Service, claims: Claims, why: RegExp | string, location = forbidden) {
  const [before, lines] = [await snapshot(service.context), service.log.length]
  const answer = await signInWith(service, claims, 'eve')
  t.equal(answer.location, location, JSON.stringify(claims))
  t.equal(await snapshot(service.context), before, 'nothing is created')
  t.notMatch(Object.keys(answer.browser.cookies()), ['service_session'])
  const logged = service.log.slice(lines).join('')
  t.match(logged, why)
  t.notMatch(logged, /\beve\b|evil/i, 'no name or address is logged')
}

t.test('Only verified e-mail addresses of the allowed domains sign in', async (t) => {
  const service = await buildWithMock(t, { OIDC_ALLOWED_DOMAINS: 'example.org, Bücher.example' })
  const of = (email: unknown, email_verified: unknown = true): Claims => ({ email, email_verified })
  for (const email of ['ada@example.org', 'ada@EXAMPLE.Org', 'a+b@bücher.example', 'ada@xn--bcher-kva.example'])
    t.equal((await signInWith(service, of(email))).location, '/in', email)

  const domain = 'the e-mail address is of no domain of OIDC_ALLOWED_DOMAINS'
  const others = [
    ...['eve@evil-example.org', 'eve@example.org.evil', 'eve@mail.example.org', 'eve@org', 'eve@example.org.'],
    ...['eve@example.org@evil.org', 'eve@evil.org@example.org', '"eve@evil.org"@example.org', '@example.org'],
    ...['eve@evil.org,x@example.org', 'eve@evil.org <x@example.org>', 'eve@example.org/evil', 'eve@example%2eorg'],
    ...['eve@example.org#evil', 'eve@exаmple.org', 'example.org', 'eve@[example.org]', 'eve@example.org:80'],
    ...['eve@bucher.example', 'eve@xn--bcher-kva.example.evil', 'eve@xn--evil--example.org'],
  ]
  for (const email of others) await refused(t, service, of(email), domain)
  const unshown = 'the claim email is missing or no address'
  for (const email of [
    'eve@exa\u202emple.org',
    'eve@example.org\n',
    ' eve@example.org',
    '',
    null,
    7,
    ['eve@example.org'],
  ])
    await refused(t, service, of(email), unshown)
  await refused(t, service, {}, unshown)
  const unverified = 'the claim email_verified is not true'
  for (const verified of [false, 'false', 1, null, [true]])
    await refused(t, service, of('eve@example.org', verified), unverified)
})

t.test('Only people with the required claim can sign in, from the ID token or UserInfo', async (t) => {
  const service = await buildWithMock(t, { OIDC_REQUIRED_CLAIM: 'https://example.org/groups=book marks=1' })
  const name = 'https://example.org/groups'
  for (const value of ['book marks=1', ['other', 'book marks=1']])
    t.equal((await signInWith(service, { [name]: value })).location, '/in')
  const wrong: unknown[] = ['book marks', 'Book marks=1', 'book marks=1,other', true, 1]
  const hostile: unknown[] = [{ 'book marks=1': false }, [['book marks=1']], { 0: 'book marks=1', length: 1 }, [], {}]
  for (const value of [...wrong, ...hostile])
    await refused(
      t,
      service,
      { [name]: value },
      /"the claim \S+ \(an? \w+\) does not have the value of OIDC_REQUIRED_CLAIM"/u,
    )
  for (const nothing of ['', null]) await refused(t, service, { [name]: nothing }, 'of OIDC_REQUIRED_CLAIM is missing')
  await refused(t, service, {}, 'of OIDC_REQUIRED_CLAIM is missing')

  const complete = { email: 'a@b.example', email_verified: true, name: 'Ada', picture: 'https://b.example/a' }
  service.mock.alter.userInfo = (claims) => Object.assign(claims, { [name]: ['book marks=1'] })
  t.equal((await signInWith(service, complete)).location, '/in', 'the claim is read from UserInfo')
  await refused(t, service, { [name]: ['other'] }, 'does not have the value')
  service.mock.faults.set('userinfo', 'error')
  const away = '/login?error=Identity%20provider%20is%20not%20available'
  t.equal((await signInWith(service, complete)).location, away, 'an unavailable provider is not reported as a refusal')
})

const shapes: [rule: string, member: Claims, others: Claims[]][] = [
  // Zitadel
  [
    'urn:zitadel:iam:org:project:roles=bookmarks',
    { 'urn:zitadel:iam:org:project:roles': { bookmarks: { 7: 'example.org' } } },
    [{ 'urn:zitadel:iam:org:project:roles': { other: { 7: 'bookmarks' } } }],
  ],
  // Keycloak
  [
    'realm_access.roles=bookmarks',
    { realm_access: { roles: ['other', 'bookmarks'] } },
    [
      { realm_access: { roles: ['other'] } },
      { realm_access: ['roles'] },
      { realm_access: 'roles' },
      { realm_access: null },
      { roles: ['bookmarks'] },
    ],
  ],
  [
    'resource_access.my.app.roles=user',
    { resource_access: { 'my.app': { roles: ['user'] } } },
    [{ resource_access: { my: { roles: ['user'] } } }],
  ],
  ['may_sync=true', { may_sync: true }, [{ may_sync: false }, { may_sync: 1 }, { may_sync: 'yes' }]],
  ['level=3', { level: 3 }, [{ level: 30 }, { level: [[3]] }]],
  ['level=3', { level: [1, 3] }, [{ level: [1, 2] }]],
  ['roles=constructor', { roles: ['constructor'] }, [{ roles: {} }, {}]],
  ['constructor.name=Object', { 'constructor.name': 'Object' }, [{}]],
]
for (const [rule, member, others] of shapes) {
  t.test(`${rule} is found in ${JSON.stringify(member)}`, async (t) => {
    const service = await buildWithMock(t, { OIDC_REQUIRED_CLAIM: rule })
    t.equal((await signInWith(service, member)).location, '/in')
    for (const claims of others) await refused(t, service, claims, /OIDC_REQUIRED_CLAIM/)
  })
}

t.test('An unusable sub is refused, and the log says which rule it breaks', async (t) => {
  const service = await buildWithMock(t)
  const reason = 'unusable sub claim: it has a character that is not printable ASCII'
  const location = '/login?error=Login%20was%20refused%20by%20the%20identity%20provider'
  service.mock.alter.userInfo = (claims) => Object.assign(claims, { sub: 'müller' })
  await refused(t, service, { sub: 'müller' }, reason, location)
})

t.test('Existing users are checked at each sign-in, and their sessions stay valid', async (t) => {
  const service = await buildWithMock(t, { OIDC_REQUIRED_CLAIM: 'groups=bookmarks' })
  const { browser } = await signInWith(service, { groups: 'bookmarks' })
  t.equal((await signInWith(service, { groups: 'gone' })).location, forbidden)
  t.equal((await browser.call('GET', '/api/v1/auth/session')).status, 200)
  t.equal((await browser.call('POST', '/api/v1/auth/refresh')).status, 200)
})

t.test('If sign-up is closed, existing users can sign in, and nobody can become a user', async (t) => {
  const open = await buildWithMock(t)
  await signInWith(open, {})
  const { dataDir, mock } = open
  await open.close()
  const service = await buildWithMock(t, { SIGN_UP: 'closed', OIDC_ISSUER: mock.issuer }, () => {}, { dataDir })
  const both = { ...service, mock }
  const { location, browser } = await signInWith(both, {})
  t.equal(location, '/in')
  t.equal((await browser.call('GET', '/api/v1/auth/session')).status, 200)
  await refused(t, both, {}, 'SIGN_UP is closed, and this is no user yet', closed)
  const strangers = await Promise.all([signInWith(both, {}, 'mallory'), signInWith(both, {}, 'mallory')])
  t.same(
    strangers.map((stranger) => stranger.location),
    [closed, closed],
  )
})

t.test('A program also gets the reason of a refused sign-in', async (t) => {
  const service = await buildWithMock(t, { SIGN_UP: 'closed' })
  const [program, browser] = [openBrowser(service.call), openBrowser(service.call)]
  const callback = await signInAt(await program.startLogin('http://127.0.0.1:4711/in'), 'Ada')
  await browser.comeBack(callback)
  t.equal((await program.comeBack(callback)).headers.location, closed)
})
