import t from 'tap'
import { signInAt } from '../../scripts/servers/sign-in.ts'
import { done } from '../../src/service/operations/operation.ts'
import { buildApp } from '../support/app.ts'
import { openBrowser } from '../support/browser.ts'
import { setCookies } from '../support/cookies.ts'
import { breakWrites, countRows, snapshot } from '../support/database.ts'
import { buildWithMock } from '../support/mock-service.ts'
import { callsTo } from '../support/service.ts'

const app = await buildWithMock(t)
const { call, mock, context } = app

t.test('POST /api/v1/auth/login | none | returnTo (string, optional, default /)', async (t) => {
  const state = async (request: object) => {
    const { status, body } = await call('POST', '/api/v1/auth/login', request)
    t.equal(status, 200)
    t.same(Object.keys(body), ['authorizationUrl'])
    const url = new URL(body.authorizationUrl)
    t.equal(url.origin, mock.issuer, "the provider's page")
    return url.searchParams.get('state')
  }
  t.equal(await state({ body: { returnTo: '/bookmarks?a=b#c' } }), '/bookmarks?a=b#c')
  t.equal(await state({ body: {} }), '/', 'without returnTo')
  t.equal(await state({}), '/', 'without a body')
  t.equal(await state({ payload: '', headers: { 'content-type': 'application/json' } }), '/', 'with an empty body')
})

t.test("GET /api/v1/auth/callback | state (string, optional, default '/', the return URL)", async (t) => {
  const browser = openBrowser(call)
  const callback = new URL(await signInAt(await browser.startLogin(), 'Ada'))
  callback.searchParams.delete('state')
  t.hasStrict((await browser.comeBack(callback.href)).headers, { location: '/' })
  t.equal((await browser.call('GET', '/api/v1/auth/session')).status, 200)
})

t.test('URL and headers: 32 KiB together', async (t) => {
  const callOverHttp = callsTo(await app.listen())
  const ask = (bytes: number) => callOverHttp('GET', `/api/v1/auth/callback?code=${'x'.repeat(bytes)}`)
  t.equal((await ask(31_000)).status, 302)
  const { status, body } = await ask(32_768)
  t.same([status, body], [431, { error: 'Request headers too large' }])
})

t.test('GET /api/v1/auth/callback | code (string, required); on failure, 302 to /login?error=<message>', async (t) => {
  const before = await snapshot(context)
  const browser = openBrowser(call)
  const url = await browser.startLogin('/here')
  const { search } = new URL(await signInAt(url, 'Ada'))
  const expired = 'Login expired or was started in another browser'
  const refused = 'Login was refused by the identity provider'
  const failures: Record<string, string> = {
    '?state=/here': refused,
    '?code=&state=/here': refused,
    '?code=wrong&state=/here': refused,
    '?code=a&code=b&state=/here': expired,
    '?error=access_denied&state=/here': refused,
    '?error=%3Cscript%3E&state=/here': refused,
    '?code=x&state=/elsewhere': expired,
    '?code=x': expired,
    '': expired,
    [`${search}&iss=http://127.0.0.1:1`]: refused,
    [`${search}&error=access_denied`]: refused,
    [`?state=/here&code=${'x'.repeat(5000)}`]: expired,
  }
  for (const [query, message] of Object.entries(failures)) {
    const answer = await browser.call('GET', `/api/v1/auth/callback${query}`)
    t.equal(answer.status, 302)
    t.equal(answer.headers.location, `/login?error=${encodeURIComponent(message)}`, query.slice(0, 60))
    t.equal(answer.headers['set-cookie'], undefined, 'no cookie')
    t.equal(answer.raw.length, 0)
  }
  t.equal(await snapshot(context), before, 'nothing changed')
})

t.test('If the user cannot be stored, the code was exchanged before, and there is no cookie', async (t) => {
  const app = await buildWithMock(t)
  const browser = openBrowser(app.call)
  const callback = await signInAt(await browser.startLogin('/here'), 'Ada')
  const repair = breakWrites(app.context)
  const { headers } = await browser.comeBack(callback)
  repair()
  t.ok(app.mock.requests.some(({ endpoint }) => endpoint === 'token'))
  t.hasStrict(headers, { location: '/login?error=Login%20failed' })
  t.equal(headers['set-cookie'], undefined)
  t.same(await countRows(app.context), {})
  t.equal((await browser.signIn('Ada', '/here')).headers.location, '/here', 'after the repair, the sign-in works')
})

t.test('A person becomes a user at the first login, and only then', async (t) => {
  const app = await buildWithMock(t)
  const browser = openBrowser(app.call)
  await browser.signIn('Ada')
  t.hasStrict(await countRows(app.context), { users: 1, logins: 1, tokens: 2 })
  app.mock.person = { ...app.mock.person, name: 'Ada King' }
  await browser.signIn('Ada')
  await openBrowser(app.call).signIn('Ada')
  t.hasStrict(await countRows(app.context), { users: 1, logins: 2 })
  const { user } = (await browser.call('GET', '/api/v1/auth/session')).body
  t.equal(user.name, 'Ada King', 'later sign-ins update the profile')
})

t.test('POST /api/v1/auth/logout | none (clears any existing session) | 200: {success, name}', async (t) => {
  const browser = openBrowser(call)
  await browser.signIn('Ada')
  for (const cookie of [undefined, '', 'service_session=garbage']) {
    const { status, body } = await browser.call(
      'POST',
      '/api/v1/auth/logout',
      cookie === undefined ? {} : { headers: { cookie } },
    )
    t.same([status, body], [200, done], `cookie ${cookie}`)
  }
})

t.test('GET /api/v1/auth/session | 200: {authenticated: true, user}. 401: {authenticated: false}', async (t) => {
  const app = await buildApp(t)
  const ada = await app.user('ada')
  const signedIn = await ada.call('GET', '/api/v1/auth/session')
  t.same([signedIn.status, signedIn.body.authenticated, signedIn.body.user.user_id], [200, true, ada.userId])
  for (const cookie of ['', 'service_session=', 'service_session=garbage', `service_session=${ada.refresh}`]) {
    const { status, body } = await app.call('GET', '/api/v1/auth/session', { headers: { cookie } })
    t.same([status, body], [401, { authenticated: false }], cookie.slice(0, 30))
  }
})

t.test('POST /api/v1/auth/refresh | 200: {success, name} and a new session cookie. 401: {error}', async (t) => {
  const app = await buildApp(t)
  const ada = await app.user('ada')
  const refresh = (cookie: string) => app.call('POST', '/api/v1/auth/refresh', { headers: { cookie } })
  const answer = await refresh(`service_refresh=${ada.refresh}`)
  t.same([answer.status, answer.body], [200, done])
  const [cookie] = setCookies(answer)
  t.not(cookie?.value, ada.session)
  t.equal(
    (await app.call('GET', '/api/v1/bookmarks', { headers: { cookie: `service_session=${cookie?.value}` } })).status,
    200,
  )
  t.same((await refresh(ada.cookie)).body, { error: 'No refresh token' }, 'a session cookie is not a refresh cookie')
  t.same((await refresh(`service_refresh=${ada.session}`)).body, { error: 'Failed to refresh token' })
})
