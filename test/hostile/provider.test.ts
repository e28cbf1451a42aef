import t, { type Test } from 'tap'
import { signInAt } from '../../scripts/servers/sign-in.ts'
import { openProvider } from '../../src/service/provider/openid.ts'
import { openBrowser } from '../support/browser.ts'
import { snapshot } from '../support/database.ts'
import { buildWithMock } from '../support/mock-service.ts'
import type { MockEndpoint, MockProvider } from '../support/providers.ts'
import { relyingParty } from '../support/relying-party.ts'

/** For the calls that never end: nothing but the one that fails is called meanwhile. */
const impatientMs = 100

type Fault = MockProvider['faults'] extends Map<unknown, infer Name> ? Name : never
type Service = Awaited<ReturnType<typeof buildWithMock>>

/** One of each kind: test/provider/faults.test.ts has all of them, and all lies. */
const quick: Fault[] = ['missing', 'error', 'array']
const slow: Fault[] = ['silent']
const unavailable = '/login?error=Identity%20provider%20is%20not%20available'
const refused = '/login?error=Login%20was%20refused%20by%20the%20identity%20provider'
/** A response, but not one that could be right. */
const isAnswer = (fault: Fault) => fault === 'missing' || fault === 'array'

/** Each finds a service that has no metadata yet. */
async function withEach(t: Test, faults: Fault[], check: (fault: Fault, service: Service) => Promise<void>) {
  const service = await buildWithMock(t)
  for (const fault of faults) {
    forgetMetadata(t, service)
    await check(fault, service)
    mend(service)
    const answer = await openBrowser(service.call).signIn('Ada', '/well')
    t.equal(answer.headers.location, '/well', `${fault}: sign-in works again afterwards`)
  }
}

/** From now on. */
function disturb({ mock, limitCalls }: Service, endpoint: MockEndpoint, fault: Fault): void {
  mock.faults.set(endpoint, fault)
  limitCalls(slow.includes(fault) ? impatientMs : undefined)
}

function mend({ mock, limitCalls }: Service): void {
  mock.faults.clear()
  limitCalls()
}

function forgetMetadata(t: Test, { context, mock }: Service): void {
  const provider = openProvider({ ...relyingParty, issuer: mock.issuer })
  t.teardown(() => provider.close())
  context.provider = provider
}

t.test('No metadata: 500 Failed to initiate login, no cookie, nothing changed', async (t) => {
  await withEach(t, [...quick, ...slow], async (fault, service) => {
    const { call, context } = service
    disturb(service, 'discovery', fault)
    const before = await snapshot(context)
    const { status, body, headers } = await call('POST', '/api/v1/auth/login', { body: {} })
    t.same([status, body, headers['set-cookie']], [500, { error: 'Failed to initiate login' }, undefined], fault)
    t.equal(await snapshot(context), before)
  })
})

for (const endpoint of ['token', 'jwks'] as const) {
  t.test(`A faulty response from ${endpoint} in the callback: /login?error, no cookie, nothing changed`, async (t) => {
    await withEach(t, [...quick, ...(endpoint === 'token' ? slow : [])], async (fault, service) => {
      const message = isAnswer(fault) ? refused : unavailable
      await failsToSignIn(t, service, message, fault, () => disturb(service, endpoint, fault))
    })
  })
}

t.test('An ID token or a redirect that lies: /login?error, no cookie, nothing changed', async (t) => {
  const service = await buildWithMock(t)
  const { alter } = service.mock
  const changeRedirect = (name: string, value: string) => {
    alter.redirect = (callback) => callback.searchParams.set(name, value)
  }
  const lies: Record<string, () => void> = {
    'wrong nonce': () => {
      alter.idToken = (claims) => Object.assign(claims, { nonce: 'another' })
    },
    'UserInfo of somebody else': () => {
      alter.userInfo = (claims) => Object.assign(claims, { sub: 'eve' })
    },
    'an error in the redirect': () => changeRedirect('error', 'access_denied'),
    'another code in the redirect': () => changeRedirect('code', 'another'),
  }
  for (const [name, lie] of Object.entries(lies)) {
    for (const key of Object.keys(alter)) delete alter[key as keyof typeof alter]
    await failsToSignIn(t, service, refused, name, lie)
  }
  for (const error of ['server_error', 'temporarily_unavailable'])
    await failsToSignIn(t, service, unavailable, error, () => changeRedirect('error', error))
})

t.test('If UserInfo is unavailable, the sign-in succeeds without the profile', async (t) => {
  const { call, mock } = await buildWithMock(t)
  for (const fault of quick.filter((fault) => fault !== 'array')) {
    mock.faults.set('userinfo', fault)
    t.equal((await openBrowser(call).signIn('Ada', '/in')).headers.location, '/in', fault)
  }
})

t.test('A faulty response to a refresh: 503 with Retry-After, and nobody is signed out', async (t) => {
  await withEach(t, [...quick, ...slow], async (fault, service) => {
    const { call, setClock } = service
    setClock(undefined)
    const browser = openBrowser(call)
    await browser.signIn('Ada')
    setClock(Date.now() + 61_000)
    const before = browser.cookies()
    disturb(service, 'token', fault)
    const { status, body, headers } = await browser.call('POST', '/api/v1/auth/refresh')
    t.same([status, body], [503, { error: 'Service unavailable' }], fault)
    t.match(headers['retry-after'], /^[1-9]\d*$/)
    t.same(browser.cookies(), before, 'the cookies stay')
    t.equal((await browser.call('GET', '/api/v1/bookmarks')).status, 200)
    mend(service)
    t.equal((await browser.call('POST', '/api/v1/auth/refresh')).status, 200, 'later it works')
  })
})

t.test('A refresh whose response names another person ends the login with 401', async (t) => {
  const { call, mock, setClock } = await buildWithMock(t)
  const browser = openBrowser(call)
  await browser.signIn('Ada')
  setClock(Date.now() + 61_000)
  mock.alter.idToken = (claims) => Object.assign(claims, { sub: 'eve' })
  const { status, body } = await browser.call('POST', '/api/v1/auth/refresh')
  t.same([status, body], [401, { error: 'Failed to refresh token' }])
  t.equal((await browser.call('GET', '/api/v1/auth/session')).status, 401)
})

t.test('A logout does not wait for the provider, and ignores its faults', async (t) => {
  const { call, mock, context } = await buildWithMock(t)
  const browser = openBrowser(call)
  const signOut = async (name: string) => {
    await browser.signIn('Ada')
    t.equal((await browser.call('POST', '/api/v1/auth/logout')).status, 200, name)
    t.equal((await browser.call('GET', '/api/v1/auth/session')).status, 401)
  }
  for (const fault of quick) {
    mock.faults.set('revoke', fault)
    await signOut(fault)
  }
  context.provider.revoke = () => new Promise(() => {})
  await signOut('never answered')
})

async function failsToSignIn(t: Test, { call, context }: Service, location: string, name: string, spoil: () => void) {
  const browser = openBrowser(call)
  const before = await snapshot(context)
  const url = await browser.startLogin('/here')
  spoil()
  const answer = await browser.comeBack(await signInAt(url, 'Ada'))
  t.same([answer.status, answer.headers.location, answer.headers['set-cookie']], [302, location, undefined], name)
  t.equal(await snapshot(context), before, `${name}: nothing changed`)
}
