import t from 'tap'
import { buildApp } from '../support/app.ts'
import { openBrowser } from '../support/browser.ts'
import { setCookies } from '../support/cookies.ts'
import { buildWithMock } from '../support/mock-service.ts'
import { allOperations } from '../support/operations.ts'
import { pick } from '../support/pick.ts'

const minute = 60_000
const day = 86_400_000

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
    const ask = () => withCookie('GET', '/api/v1/bookmarks', `service_session=${session?.value}`)
    app.setClock(now + 7 * day - 1)
    t.equal(await ask(), 200)
    app.setClock(now + 7 * day)
    t.equal(await ask(), 401, 'the server forgets the session, too')
  })
  t.test('service_refresh | 2592000 s (30 days) | Refresh token for new access tokens', async (t) => {
    const ask = () => withCookie('POST', '/api/v1/auth/refresh', `service_refresh=${refresh?.value}`)
    app.setClock(now + 30 * day - minute)
    t.equal(await ask(), 200)
    app.setClock(now + 30 * day)
    t.equal(await ask(), 401)
  })
})

const app = await buildApp(t)

t.test('Auth requirements by endpoint', async (t) => {
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
  t.test('none for login, callback, logout, the reservation of a pairing, health', async (t) => {
    const open = allOperations.filter(({ security }) => security === 'none')
    t.same(pick(open, 'id'), ['startLogin', 'completeLogin', 'logout', 'reservePairing', 'getHealth'])
  })
})

t.test('All endpoints live under the path prefix /api/v1.', async (t) => {
  for (const { id, method, path } of allOperations) {
    t.ok(path.startsWith('/api/v1/'), id)
    for (const other of [path.replace('/api/v1', ''), path.replace('v1', 'v2'), path.toUpperCase()]) {
      t.equal((await app.call(method, other)).status, 404, `${method} ${other} does not exist`)
    }
  }
})
