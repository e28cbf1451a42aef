import t from 'tap'
import { quotas } from '../../generated/limits.ts'
import { type OperationId, operations } from '../../generated/operations.ts'
import { signInAt as askProvider } from '../../scripts/servers/sign-in.ts'
import { findAuthenticatedAt } from '../../src/service/auth/authentication.ts'
import { done } from '../../src/service/operations/operation.ts'
import type { Identity } from '../../src/service/provider/provider.ts'
import { allOperations, furnish, type Ids } from '../hostile/requests.ts'
import { buildApp, type TestApp, type TestUser } from '../support/app.ts'
import { type Browser, openBrowser } from '../support/browser.ts'
import { snapshot } from '../support/database.ts'
import { isPostgres } from '../support/database-url.ts'
import { buildWithMock } from '../support/mock-service.ts'

type MockedService = Awaited<ReturnType<typeof buildWithMock>>

const app = await buildApp(t)
/** A second instance of the service on Postgres; SQLite allows only one. */
const there = isPostgres ? await buildApp(t, {}, { dataDir: app.dataDir }) : app
const { context } = app
const tooOld = [403, { error: 'Sign in again' }]
const dayMs = 86_400_000

/** Lets time pass until no earlier sign-in is recent. */
function makeSignInsOld(by = quotas.recentSignInSeconds * 1000): void {
  for (const one of new Set([app, there])) one.setClock(Date.now() + by + 1000)
}

t.afterEach(() => {
  for (const one of new Set([app, there])) one.setClock(undefined)
})

/** Operations that erase, called after those that restore. */
const last: OperationId[] = ['eraseKeyringVersions', 'deleteAccount']
const classed = Object.entries(operations)
  .flatMap(([operationId, { recentSignIn }]) => (recentSignIn === 'never' ? [] : [operationId as OperationId]))
  .sort((one, other) => last.indexOf(one) - last.indexOf(other))

async function ask(user: TestUser, operationId: OperationId, ids: Ids) {
  const found = allOperations(ids).find((one) => one.operationId === operationId)
  const { method = '', path = '', body } = found ?? {}
  const { status, body: answer } = await user.call(method, path, body === undefined ? {} : { body })
  return [status, answer]
}

t.test('Irreversible operations need a recent sign-in', async (t) => {
  const [ada, fresh] = [await app.user('ada'), () => app.user('ada')]
  const ids = await furnish(ada, 'ada')
  await app.user('ada')
  const key = Buffer.alloc(32, 7).toString('base64')
  t.equal((await ada.call('PUT', '/api/v1/account/export-key', { body: { key } })).status, 200)
  makeSignInsOld()
  const before = await snapshot(context)
  // Old sign-ins may purge a limited number, which a test below covers.
  for (const operationId of classed.filter((it) => it !== 'purgeBookmark')) {
    t.same(await ask(ada, operationId, ids), tooOld, operationId)
    t.equal(await snapshot(context), before, `${operationId} changed nothing`)
  }
  for (const operationId of classed.filter((it) => it !== 'purgeBookmark')) {
    const [status] = await ask(await fresh(), operationId, ids)
    t.equal(status, 200, operationId)
  }
})

t.test('A sign-in made while the clock was ahead does not count as recent', async (t) => {
  for (const one of new Set([app, there])) one.setClock(Date.now() + dayMs)
  const cleo = await app.user('cleo')
  const ids = await furnish(cleo, 'cleo')
  for (const one of new Set([app, there])) one.setClock(undefined)
  t.same(await ask(cleo, 'endOtherSessions', ids), tooOld)
})

t.test('An old sign-in may store the first keyring and export key, and set the same export key again', async (t) => {
  const eve = await app.user('eve')
  makeSignInsOld()
  const put = async (path: string, body: object) => {
    const answer = await eve.call('PUT', `/api/v1/account/${path}`, { body })
    return [answer.status, answer.body]
  }
  const key = (fill: number) => ({ key: Buffer.alloc(32, fill).toString('base64') })
  const { keyring } = (await furnished()).body
  t.same(await put('keyring', { keyring, revision: 1 }), [200, { keyring, revision: 1 }])
  t.same(await put('keyring', { keyring, revision: 1 }), [409, { error: 'Keyring was changed' }])
  t.same(await put('keyring', { keyring, revision: 2 }), tooOld)
  t.same(await put('export-key', key(1)), [200, done])
  t.same(await put('export-key', key(1)), [200, done])
  t.same(await put('export-key', key(2)), tooOld)
  t.same((await eve.call('GET', '/api/v1/account/export-key')).body, key(1))
})

async function furnished() {
  const other = await app.user('somebody with a keyring')
  await furnish(other, 'other')
  return other.call('GET', '/api/v1/account/keyring')
}

async function deleted(user: Pick<TestUser, 'call'>, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, (_, n) => `gone-${n}`)
  const content = { encrypted_data: 'x', data_hash: 'h' }
  const body = { bookmarks: ids.map((id) => ({ id, ...content })) }
  t.equal((await user.call('POST', '/api/v1/sync/import', { body })).body.imported, count)
  for (const id of ids) await user.call('DELETE', `/api/v1/bookmarks/${id}`)
  return ids
}

const statusesOf = (answers: { status: number }[]) => answers.map(({ status }) => status).sort()
const most = quotas.purgesOfOldSignIn

t.test('Old sign-ins may purge 20 deleted bookmarks a day on all devices; a recent one may purge all', async (t) => {
  const [mia, other] = [await app.user('mia'), await app.user('mia')]
  const ids = await deleted(mia, most + 10)
  const neighbour = await app.user('noah')
  const [own = ''] = await deleted(neighbour, 1)
  const purge = (by: TestUser, id: string, at: TestApp = app) => at.as(by).call('DELETE', `/api/v1/trash/${id}`)
  makeSignInsOld()
  const answers = await Promise.all(ids.map((id, n) => purge(n % 3 === 0 ? mia : other, id, n % 2 === 0 ? app : there)))
  t.same(statusesOf(answers), [...Array(most).fill(200), ...Array(10).fill(403)])
  t.equal((await mia.call('GET', '/api/v1/trash?limit=1000')).body.bookmarks.length, 10)
  const left = ids.filter((_, n) => answers[n]?.status === 403)
  for (const one of [mia, other]) {
    const { status, body } = await purge(one, left[0] ?? '')
    t.same([status, body], tooOld)
  }
  t.equal((await purge(neighbour, own)).status, 200, 'another user has a separate limit')
  makeSignInsOld(dayMs + quotas.recentSignInSeconds * 1000)
  t.equal((await purge(mia, left[1] ?? '')).status, 200, 'the next day allows 20 more')
  for (const one of new Set([app, there])) one.setClock(undefined)
  const recent = await app.user('mia')
  t.same(statusesOf(await Promise.all(left.map((id) => purge(recent, id)))), Array(10).fill(200))
})

t.test('Signing in again without being asked by the provider allows no further purges', async (t) => {
  const { call, mock } = await buildWithMock(t)
  mock.alter.idToken = (claims) => {
    claims.auth_time = Number(claims.iat) - 3600
  }
  const browser = openBrowser(call)
  await browser.signIn('Mia')
  const ids = await deleted(browser, most + 10)
  const statuses: number[] = []
  for (const [n, id] of ids.entries()) {
    if (n % 10 === 0) t.equal((await browser.signIn('Mia')).status, 302)
    statuses.push((await browser.call('DELETE', `/api/v1/trash/${id}`)).status)
  }
  t.same(statuses, [...Array(most).fill(200), ...Array(10).fill(403)])
})

/** Sets how long before the ID token the provider claims to have asked the person. Undefined: it claims nothing. */
function askedAgo({ mock }: MockedService, seconds: number | undefined | null | string): void {
  mock.alter.idToken = (claims) => {
    claims.auth_time = typeof seconds === 'number' ? Number(claims.iat) - seconds : seconds
  }
}

/** Signs in. With the `prompt` `login`, as after a 403 `Sign in again`. */
async function signInAt({ call }: MockedService, browser = openBrowser(call), prompt?: 'login') {
  const { body } = await browser.call('POST', '/api/v1/auth/login', {
    body: { returnTo: '/in', ...(prompt && { prompt }) },
  })
  const { location } = (await browser.comeBack(await askProvider(body.authorizationUrl, 'Ada'))).headers
  return { browser, location }
}

/** The status of the response to an operation that cannot be undone. */
async function end(browser: Browser): Promise<number> {
  return (await browser.call('DELETE', '/api/v1/account/sessions')).status
}

t.test('A sign-in without a question by the provider is as old as the last question', async (t) => {
  const service = await buildWithMock(t)
  const signedIn = async (secondsAgo: number) => {
    askedAgo(service, secondsAgo)
    return end((await signInAt(service)).browser)
  }
  t.equal(await signedIn(quotas.recentSignInSeconds + 60), 403, 'asked long ago')
  t.equal(await signedIn(quotas.recentSignInSeconds - 60), 200, 'the provider asked some minutes ago')
  t.equal(await signedIn(-3600), 200, 'a time in the future counts as now')
})

t.test('Sessions say when the person was asked to sign in, and for how long that is recent', async (t) => {
  const { call, mock, setClock } = await buildWithMock(t)
  t.teardown(() => setClock(undefined))
  const start = Math.ceil(Date.now() / 1000) * 1000
  setClock(start)
  let secondsAgo: number | undefined
  mock.alter.idToken = (claims) => {
    claims.auth_time = secondsAgo === undefined ? undefined : Number(claims.iat) - secondsAgo
  }
  const told = async (askedSecondsAgo: number | undefined, passedMs = 0) => {
    secondsAgo = askedSecondsAgo
    setClock(start)
    const browser = openBrowser(call)
    await browser.signIn('Ada')
    setClock(start + passedMs)
    const { authenticated_at, recent_sign_in_seconds_left } = (await browser.call('GET', '/api/v1/auth/session')).body
    const [own] = (await browser.call('GET', '/api/v1/account/sessions')).body.sessions
    t.match(own, { created_at: start, authenticated_at, current: true })
    const { status } = await browser.call('DELETE', '/api/v1/account/sessions')
    t.equal(status, recent_sign_in_seconds_left > 0 ? 200 : 403, 'the service itself uses the same limit')
    return [(start - authenticated_at) / 1000, recent_sign_in_seconds_left]
  }
  const most = quotas.recentSignInSeconds
  t.same(await told(undefined), [0, most], 'without auth_time, the sign-in itself counts')
  t.same(await told(undefined, most * 1000), [0, 0], 'a sign-in is old after this time')
  t.same(await told(0), [0, most], 'just now')
  t.same(await told(0, 61_500), [0, most - 62], 'the time left shrinks, and is never too long')
  t.same(await told(300), [300, most - 300], 'asked some minutes before the sign-in')
  t.same(await told(3600), [3600, 0], 'asked long before the sign-in')
  t.same(await told(undefined), [start / 1000, 0], 'a missing auth_time counts as old once the provider has sent one')
})

t.test('If a provider never sends auth_time, every sign-in counts as recent', async (t) => {
  const service = await buildWithMock(t)
  for (const never of [undefined, null, '1700000000']) {
    askedAgo(service, never)
    for (const prompt of [undefined, 'login'] as const) {
      const { browser, location } = await signInAt(service, undefined, prompt)
      t.same([location, await end(browser)], ['/in', 200], `${never} ${prompt}`)
    }
  }
})

t.test('Once a provider has sent auth_time, a sign-in without it counts as old, on every instance', async (t) => {
  const first = await buildWithMock(t)
  const { dataDir, mock } = first
  await signInAt(first)
  if (!isPostgres) await first.close()
  const other = await buildWithMock(t, { OIDC_ISSUER: mock.issuer }, () => {}, { dataDir })
  for (const service of [...(isPostgres ? [first] : []), { ...other, mock }]) {
    for (const missing of [undefined, null, 'yesterday']) {
      askedAgo(service, missing)
      const { browser, location } = await signInAt(service)
      t.same([location, await end(browser)], ['/in', 403], `${missing}`)
    }
    askedAgo(service, 0)
    t.equal(await end((await signInAt(service)).browser), 200)
  }
  const missing = (issuer: string) => ({ identity: { issuer } as Identity, authenticatedMsAgo: null })
  const judged = (issuer: string) => findAuthenticatedAt(other.context, missing(issuer), {})
  t.same([await judged(mock.issuer), await judged('https://other.example')], [0, null], 'each provider is separate')
})

t.test('If the provider ignores prompt=login, the sign-in fails with that reason, and the session stays', async (t) => {
  const unasked = '/login?error=Identity%20provider%20did%20not%20ask%20you%20to%20sign%20in'
  const service = await buildWithMock(t)
  askedAgo(service, quotas.recentSignInSeconds + 60)
  const { browser } = await signInAt(service)
  const before = browser.cookies()
  for (const [answer, reason] of [
    [quotas.recentSignInSeconds, 'its auth_time is 10 minutes before the ID token'],
    [3600, 'its auth_time is 60 minutes before the ID token'],
    [undefined, 'it sent no auth_time, although it usually does'],
  ] as const) {
    const lines = service.log.length
    askedAgo(service, answer)
    t.equal((await signInAt(service, browser, 'login')).location, unasked, reason)
    t.match(service.log.slice(lines).join(''), `the OpenID provider ignored prompt=login and max_age=0: ${reason}`)
    t.match(browser.cookies(), { service_session: before.service_session, service_refresh: before.service_refresh })
    t.equal((await browser.call('GET', '/api/v1/auth/session')).status, 200)
  }
  askedAgo(service, quotas.recentSignInSeconds - 60)
  t.equal((await signInAt(service, browser, 'login')).location, '/in', 'asked recently enough')
  t.equal(await end(browser), 200)
})
