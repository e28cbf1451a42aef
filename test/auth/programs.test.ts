import t from 'tap'
import { openBrowser } from '../support/browser.ts'
import { countRows } from '../support/database.ts'
import { buildWithMock } from '../support/mock-service.ts'
import { signInAt } from '../support/sign-in.ts'

const listener = 'http://127.0.0.1:49152/here'
const webApp = 'http://127.0.0.1:5173'
const expired = '/login?error=Login%20expired%20or%20was%20started%20in%20another%20browser'

const app = await buildWithMock(t, { CORS_ORIGIN: webApp })

t.test("A program signs in through the user's browser, which is sent on to its listener", async (t) => {
  const [program, browser] = [openBrowser(app.call), openBrowser(app.call)]
  const callback = await signInAt(await program.startLogin(listener), 'Ada')
  const sentOn = await browser.comeBack(callback)
  t.equal(sentOn.headers.location, `${listener}${new URL(callback).search}`)
  t.same(browser.cookies(), {}, 'the browser is not signed in')
  t.same(await countRows(app.context), {}, 'nobody is yet')
  const redeemed = await program.comeBack(callback)
  t.equal(redeemed.headers.location, listener)
  t.equal((await program.call('GET', '/api/v1/auth/session')).status, 200)
})

t.test("Another program cannot redeem the code that was sent on, nor one of another attempt's", async (t) => {
  const [program, other] = [openBrowser(app.call), openBrowser(app.call)]
  const before = await countRows(app.context)
  const callback = await signInAt(await program.startLogin(listener), 'Ada')
  t.equal(
    (await other.comeBack(callback)).headers.location,
    `${listener}${new URL(callback).search}`,
    'without a cookie',
  )
  await other.startLogin(listener)
  t.match((await other.comeBack(callback)).headers.location, /^\/login\?error=/, 'with its own')
  t.same(other.cookies('/'), {})
  t.same(await countRows(app.context), before)
})

t.test('The provider asks the user, unless the program says otherwise', async (t) => {
  const promptFor = async (body: object) => {
    const started = await app.call('POST', '/api/v1/auth/login', { body })
    return new URL(started.body.authorizationUrl).searchParams.get('prompt')
  }
  t.same(
    await Promise.all([
      promptFor({ returnTo: listener }),
      promptFor({ returnTo: listener, prompt: 'select_account' }),
      promptFor({ returnTo: `${webApp}/` }),
      promptFor({ returnTo: '/' }),
    ]),
    ['login', 'select_account', null, null],
  )
})

t.test('A web app on the loopback interface is listed, and gets no code', async (t) => {
  const [one, another] = [openBrowser(app.call), openBrowser(app.call)]
  const callback = await signInAt(await one.startLogin(`${webApp}/home`), 'Ada')
  t.equal((await another.comeBack(callback)).headers.location, expired)
  t.equal((await one.comeBack(callback)).headers.location, `${webApp}/home`)
})

t.test('A query of the listener stays, and a refusal of the provider is sent on, too', async (t) => {
  const state = encodeURIComponent(`${listener}?a=b#c`)
  const { headers } = await app.call('GET', `/api/v1/auth/callback?error=access_denied&state=${state}`)
  t.equal(headers.location, `${listener}?a=b&error=access_denied&state=${state}#c`)
})

t.test('Only the literal addresses of the loopback interface, with a port, are taken', async (t) => {
  const status = async (returnTo: string) =>
    [returnTo, (await app.call('POST', '/api/v1/auth/login', { body: { returnTo } })).status] as const
  const accepted = [listener, 'http://127.0.0.1:1', 'http://[::1]:65535/x?y']
  const refused = [
    'http://localhost:49152/',
    'http://127.0.0.2:49152/',
    'http://127.0.0.1/',
    'http://127.0.0.1:0/',
    'http://127.0.0.1:65536/',
    'http://127.0.0.1:080/',
    'https://127.0.0.1:49152/',
    'http://user@127.0.0.1:49152/',
    'http://127.0.0.1:49152@evil.example/',
    'http://127.0.0.1:49152.evil.example/',
    'http://127.0.0.1:49152//evil.example',
    'http://127.0.0.1:49152\\@evil.example',
    'http://2130706433:49152/',
    'http://[::ffff:127.0.0.1]:49152/',
  ]
  t.same(await Promise.all([...accepted, ...refused].map(status)), [
    ...accepted.map((returnTo) => [returnTo, 200]),
    ...refused.map((returnTo) => [returnTo, 400]),
  ])
})
