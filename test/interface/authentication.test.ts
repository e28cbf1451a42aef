import t from 'tap'
import { buildApp } from '../support/app.ts'
import { openBrowser } from '../support/browser.ts'
import { setCookies } from '../support/cookies.ts'
import { buildWithMock } from '../support/mock-service.ts'
import { allOperations } from '../support/operations.ts'
import { pick } from '../support/pick.ts'
import { signInAt } from '../support/sign-in.ts'

const minute = 60_000
const day = 86_400_000

t.test('1. Login uses OAuth 2.0 with an external identity provider', async (t) => {
  const { call, mock } = await buildWithMock(t)
  await openBrowser(call).signIn('Ada')
  const exchange = mock.requests.find(({ endpoint }) => endpoint === 'token')
  t.same(
    [exchange?.form.get('grant_type'), exchange?.form.get('redirect_uri')],
    ['authorization_code', 'http://127.0.0.1:3000/api/v1/auth/callback'],
  )
  t.match(exchange?.form.get('code_verifier'), /^[\w-]{43}$/)
  t.match(exchange?.authorization, /^Basic /)
})

t.test('2. Flow: login, authorizationUrl, the callback with code and state, cookies, redirect', async (t) => {
  const { call, mock } = await buildWithMock(t)
  const browser = openBrowser(call)
  const { body } = await browser.call('POST', '/api/v1/auth/login', { body: { returnTo: '/bookmarks' } })
  t.equal(new URL(body.authorizationUrl).origin, mock.issuer)
  const callback = new URL(await signInAt(body.authorizationUrl, 'Ada'))
  t.equal(callback.pathname, '/api/v1/auth/callback')
  t.ok(callback.searchParams.get('code'))
  t.equal(callback.searchParams.get('state'), '/bookmarks')
  const { status, headers } = await browser.comeBack(callback.href)
  t.same([status, headers.location], [302, '/bookmarks'])
  t.equal((await browser.call('GET', '/api/v1/auth/session')).status, 200)
})

t.test('3. Later requests carry the session cookie. Browser clients send credentials with each request.', async (t) => {
  const origin = 'https://app.example'
  const { user } = await buildApp(t, { CORS_ORIGIN: origin })
  const ada = await user('ada')
  const { status, headers } = await ada.call('GET', '/api/v1/bookmarks', { headers: { origin } })
  t.equal(status, 200)
  t.hasStrict(headers, { 'access-control-allow-origin': origin, 'access-control-allow-credentials': 'true' })
})

t.test('4. On 401 a client may refresh and retry once; if refresh fails, the user must log in again.', async (t) => {
  const app = await buildWithMock(t, {}, (mock) => {
    mock.refreshTokens = 'none'
  })
  t.teardown(() => app.setClock(undefined))
  const browser = openBrowser(app.call)
  await browser.signIn('Ada')
  const list = async () => (await browser.call('GET', '/api/v1/bookmarks')).status
  const later = Date.now() + 8 * day
  app.setClock(later)
  t.equal(await list(), 401)
  t.equal((await browser.call('POST', '/api/v1/auth/refresh')).status, 200)
  t.equal(await list(), 200)
  app.setClock(later + 31 * day)
  t.equal(await list(), 401)
  t.equal((await browser.call('POST', '/api/v1/auth/refresh')).status, 401)
  await browser.signIn('Ada')
  t.equal(await list(), 200)
})

t.test('Cookies', async (t) => {
  const app = await buildWithMock(t, {}, (mock) => {
    mock.refreshTokens = 'none'
  })
  t.teardown(() => app.setClock(undefined))
  const browser = openBrowser(app.call)
  const now = Date.now()
  app.setClock(now)
  const [session, refresh] = setCookies(await browser.signIn('Ada'))
  const withCookie = async (method: string, path: string, cookie: string) =>
    (await app.call(method, path, { headers: { cookie } })).status

  t.test('service_session | 604800 s (7 days) | Access token for API requests', async (t) => {
    t.same([session?.name, session?.attributes['max-age']], ['service_session', '604800'])
    const ask = () => withCookie('GET', '/api/v1/bookmarks', `service_session=${session?.value}`)
    app.setClock(now + 7 * day - 1)
    t.equal(await ask(), 200)
    app.setClock(now + 7 * day)
    t.equal(await ask(), 401, 'the server forgets it, too')
  })
  t.test('service_refresh | 2592000 s (30 days) | Refresh token for new access tokens', async (t) => {
    t.same([refresh?.name, refresh?.attributes['max-age']], ['service_refresh', '2592000'])
    const ask = () => withCookie('POST', '/api/v1/auth/refresh', `service_refresh=${refresh?.value}`)
    app.setClock(now + 30 * day - minute)
    t.equal(await ask(), 200)
    app.setClock(now + 30 * day)
    t.equal(await ask(), 401)
  })
  t.test('Each works only for its own purpose', async (t) => {
    app.setClock(now)
    t.equal(await withCookie('GET', '/api/v1/bookmarks', `service_session=${refresh?.value}`), 401)
    t.equal(await withCookie('POST', '/api/v1/auth/refresh', `service_refresh=${session?.value}`), 401)
  })
})

t.test('Auth requirements by endpoint', async (t) => {
  const app = await buildApp(t)
  const ada = await app.user('ada')
  const required = { none: 'none', sessionCookie: 'session', refreshCookie: 'refresh', optional: 'session' }
  for (const { id, method, path, security } of allOperations) {
    t.test(`${id} needs: ${required[security]}`, async (t) => {
      const ask = async (cookie: string) => (await app.call(method, path, { headers: { cookie } })).status
      const cookies = { session: ada.cookie, refresh: `service_refresh=${ada.refresh}`, none: '' }
      for (const [name, cookie] of Object.entries(cookies)) {
        if (id === 'logout' && name !== 'none') continue
        const isRefused = required[security] !== 'none' && required[security] !== name
        t.equal((await ask(cookie)) === 401, isRefused, `with ${name}`)
      }
    })
  }
  t.test('none for login, callback, logout, health', async (t) => {
    const open = allOperations.filter(({ security }) => security === 'none')
    t.same(pick(open, 'id'), ['startLogin', 'completeLogin', 'logout', 'getHealth'])
  })
})

const [web, extension] = ['https://app.example', 'chrome-extension://abcdefghijklmnopabcdefghijklmnop']
const corsRows = {
  'CORS: credentials are allowed from the production web app origin and the browser extension origin': {
    env: { PUBLIC_URL: 'https://localhost:8443', APP_URL: web, CORS_ORIGIN: extension },
    allowed: [web, extension, 'https://localhost:8443'],
  },
  'CORS: local development configures the allowed origin through a CORS_ORIGIN setting': {
    env: { CORS_ORIGIN: 'http://app.localhost:5173' },
    allowed: ['http://app.localhost:5173', 'http://127.0.0.1:3000'],
  },
}
for (const [name, { env, allowed }] of Object.entries(corsRows)) {
  t.test(name, async (t) => {
    const ada = await (await buildApp(t, env)).user('ada')
    for (const origin of [...allowed, 'https://evil.example']) {
      const { headers } = await ada.call('GET', '/api/v1/bookmarks', { headers: { origin } })
      const expected = allowed.includes(origin) ? [origin, 'true'] : [undefined, undefined]
      t.same([headers['access-control-allow-origin'], headers['access-control-allow-credentials']], expected, origin)
      const written = await ada.call('POST', '/api/v1/sync/pull', { headers: { origin } })
      t.equal(written.status, allowed.includes(origin) ? 200 : 403)
    }
  })
}

t.test('Logout clears both cookies, and ends this login alone.', async (t) => {
  const app = await buildApp(t)
  const [here, there] = [await app.user('ada'), await app.user('ada')]
  const answer = await here.call('POST', '/api/v1/auth/logout')
  t.same(
    setCookies(answer).map(({ name, value, attributes }) => [name, value, attributes['max-age']]),
    [
      ['service_session', '', '0'],
      ['service_refresh', '', '0'],
    ],
  )
  t.equal((await here.call('GET', '/api/v1/bookmarks')).status, 401)
  t.equal((await there.call('GET', '/api/v1/bookmarks')).status, 200, 'on another device')
  const both = { cookie: `${here.cookie}; ${there.cookie}; service_refresh=${there.refresh}` }
  await app.call('POST', '/api/v1/auth/logout', { headers: both })
  t.equal((await there.call('GET', '/api/v1/bookmarks')).status, 401, 'whichever cookie is valid')
})
