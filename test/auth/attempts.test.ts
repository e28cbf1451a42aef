import t, { type Test } from 'tap'
import openapi from '../../generated/openapi.json' with { type: 'json' }
import { signInAt } from '../../scripts/servers/sign-in.ts'
import { cookie } from '../../src/service/auth/cookies.ts'
import { openProvider } from '../../src/service/provider/openid.ts'
import { type Browser, openBrowser } from '../support/browser.ts'
import { countRows } from '../support/database.ts'
import { buildWithMock } from '../support/mock-service.ts'
import { relyingParty } from '../support/relying-party.ts'

const [minute, expired] = [60_000, '/login?error=Login%20expired%20or%20was%20started%20in%20another%20browser']
const refused = '/login?error=Login%20was%20refused%20by%20the%20identity%20provider'
const https = { PUBLIC_URL: 'https://sync.localhost' }

const service = await buildWithMock(t)
const { call, mock } = service

/** Sets the person who signs in next at the provider. */
function become(name: string): void {
  mock.person = { sub: name, name }
}

async function nameOf(browser: Browser): Promise<string | undefined> {
  return (await browser.call('GET', '/api/v1/auth/session')).body.user?.name
}

/** Two parameters of an authorization URL that bind the provider's response to the attempt. */
function bindingOf(authorizationUrl: string): (string | null)[] {
  const { searchParams } = new URL(authorizationUrl)
  return ['nonce', 'code_challenge'].map((name) => searchParams.get(name))
}

async function comeBack(browser: Browser, authorizationUrl: string): Promise<unknown> {
  return (await browser.comeBack(await signInAt(authorizationUrl, ''))).headers.location
}
const webApp = 'http://127.0.0.1:5173'
const appOfPrograms = await buildWithMock(t, { CORS_ORIGIN: webApp })

t.test('A sign-in attempt can be used once: another code for the same authorization URL is refused', async (t) => {
  const browser = openBrowser(call)
  become('Ada')
  const url = await browser.startLogin('/here')
  t.equal(await comeBack(browser, url), '/here')
  become('Eve')
  const exchanges = () => mock.requests.filter(({ endpoint }) => endpoint === 'token').length
  const before = exchanges()
  t.equal(await comeBack(browser, url), expired, 'a code by somebody who knows the URL')
  t.equal(exchanges(), before, 'the PKCE verifier is not used again')
  t.equal(await nameOf(browser), 'Ada')
})

t.test('A sign-in attempt lasts ten minutes, even if the browser keeps its cookie for longer', async (t) => {
  t.teardown(() => service.setClock(undefined))
  become('Ada')
  for (const [seconds, location] of [
    [599, '/here'],
    [600, expired],
  ] as const) {
    const now = Date.now()
    service.setClock(now)
    const browser = openBrowser(call)
    const callback = await signInAt(await browser.startLogin('/here'), '')
    service.setClock(now + seconds * 1000)
    t.equal((await browser.comeBack(callback)).headers.location, location, `after ${seconds} s`)
  }
})

t.test('If two codes for one attempt arrive at once, one of them signs in', async (t) => {
  const browser = openBrowser(call)
  become('Ada')
  const url = await browser.startLogin('/here')
  const callbacks = [await signInAt(url, ''), await signInAt(url, '')]
  const gate = Promise.withResolvers<void>()
  let arrived = 0
  mock.before = (endpoint) => {
    if (endpoint === 'token' && ++arrived === 2) gate.resolve()
    return endpoint === 'token' ? gate.promise : undefined
  }
  const answers = await Promise.all(callbacks.map((callback) => browser.comeBack(callback)))
  mock.before = () => {}
  t.same(answers.map(({ headers }) => headers.location).sort(), ['/here', expired])
})

t.test('Tabs with the same return URL have separate nonces, and all started within a minute can sign in', async (t) => {
  t.teardown(() => service.setClock(undefined))
  const browser = openBrowser(call)
  const now = Date.now()
  const urls: string[] = []
  for (const wait of [0, 30_000, minute - 1]) {
    service.setClock(now + wait)
    urls.push(await browser.startLogin('/here'))
  }
  t.equal(new Set(urls.map((url) => bindingOf(url)[0])).size, 3, 'nonces')
  for (const [tab, url] of urls.entries()) {
    become(`Ada ${tab}`)
    t.equal(await comeBack(browser, url), '/here')
    t.equal(await nameOf(browser), `Ada ${tab}`)
  }
  t.equal(await comeBack(browser, urls[1] ?? ''), expired, 'each attempt can be used once')
})

t.test('A tab that starts later replaces attempts with the same return URL', async (t) => {
  t.teardown(() => service.setClock(undefined))
  const browser = openBrowser(call)
  become('Ada')
  const now = Date.now()
  const older = await browser.startLogin('/here')
  service.setClock(now + minute + 1000)
  const newer = await browser.startLogin('/here')
  t.not(bindingOf(newer)[1], bindingOf(older)[1], 'the newer attempt has another verifier')
  t.equal(await comeBack(browser, older), refused)
  t.equal(await comeBack(browser, newer), '/here', 'the newer attempt still works')
})

t.test('A browser keeps its newest sign-in attempts: four, or fewer if the cookie is full', async (t) => {
  become('Ada')
  for (const [length, kept] of [
    [10, 4],
    [2000, 1],
  ] as const) {
    const browser = openBrowser(call)
    const urls: string[] = []
    for (const tab of [1, 2, 3, 4, 5]) urls.push(await browser.startLogin(`/${tab}${'x'.repeat(length)}`))
    const { service_login = '' } = browser.cookies()
    t.ok(service_login.length < 4000, 'browsers drop a cookie of more than 4,096 bytes, with its name and attributes')
    const callbacks = await Promise.all(urls.map((url) => signInAt(url, '')))
    const locations: unknown[] = []
    for (const callback of callbacks) locations.push((await browser.comeBack(callback)).headers.location)
    t.equal(locations.indexOf(expired), 0, 'the oldest attempt has ended')
    t.equal(locations.filter((location) => location !== expired).length, kept, `of ${length} characters`)
  }
})

/** The service with an https address, and a provider that knows its redirect URI. */
async function overHttps(t: Test) {
  const { call, context, mock } = await buildWithMock(t, https)
  const redirectUri = `${https.PUBLIC_URL}/api/v1/auth/callback`
  const provider = openProvider({ ...relyingParty, issuer: mock.issuer, redirectUri })
  t.teardown(() => provider.close())
  Object.assign(context, { provider })
  return call
}

t.test('Over https, a cookie set by another host of the domain signs nobody in', async (t) => {
  const send = await overHttps(t)
  const eve = openBrowser(send)
  const callback = new URL(await signInAt(await eve.startLogin('/'), ''))
  const [[name = '', planted] = []] = Object.entries(eve.cookies())
  t.equal(name, '__Host-service_login', 'browsers accept this prefix only from the host itself')
  const victim = openBrowser(send)
  await victim.startLogin('/')
  const own = victim.cookies()[name]
  const cookies: [what: string, cookie: string, location: string][] = [
    ['a plain cookie', `service_login=${planted}`, expired],
    ['two of that name, the foreign one first', `${name}=${planted}; ${name}=${own}`, expired],
    ['two of that name, the foreign one last', `${name}=${own}; ${name}=${planted}`, expired],
    ['a plain cookie next to the own one', `service_login=${planted}; ${name}=${own}`, refused],
  ]
  for (const [what, cookie, location] of cookies) {
    const { headers } = await send('GET', callback.pathname + callback.search, { headers: { cookie } })
    t.same([headers.location, headers['set-cookie']], [location, undefined], what)
  }
  t.equal(await comeBack(eve, await eve.startLogin('/')), '/', 'in her own browser')
})

t.test('Over http, two cookies of attempts are both ignored', async (t) => {
  const [eve, victim] = [openBrowser(call), openBrowser(call)]
  const callback = new URL(await signInAt(await eve.startLogin('/'), ''))
  await victim.startLogin('/')
  const cookie = [eve, victim].map((browser) => `service_login=${browser.cookies().service_login}`).join('; ')
  const { headers } = await call('GET', callback.pathname + callback.search, { headers: { cookie } })
  t.same([headers.location, headers['set-cookie']], [expired, undefined])
})

const listener = 'http://127.0.0.1:49152/here'
const lateLocation = '/login?error=Login%20expired%20or%20was%20started%20in%20another%20browser'

t.test("A program signs in through the user's browser, which is redirected to its listener", async (t) => {
  const [program, browser] = [openBrowser(appOfPrograms.call), openBrowser(appOfPrograms.call)]
  const callback = await signInAt(await program.startLogin(listener), 'Ada')
  const sentOn = await browser.comeBack(`${callback}&port=1&user=eve`)
  t.equal(
    sentOn.headers.location,
    `${listener}${new URL(callback).search}`,
    "the redirect has the provider's parameters and nothing else",
  )
  t.same(browser.cookies(), {}, 'the browser is not signed in')
  t.same(await countRows(appOfPrograms.context), {}, 'nobody is yet')
  const redeemed = await program.comeBack(callback)
  t.equal(redeemed.headers.location, listener)
  t.equal((await program.call('GET', '/api/v1/auth/session')).status, 200)
})

t.test('Another program cannot redeem the redirected code, nor a code of another attempt', async (t) => {
  const [program, other] = [openBrowser(appOfPrograms.call), openBrowser(appOfPrograms.call)]
  const before = await countRows(appOfPrograms.context)
  const callback = await signInAt(await program.startLogin(listener), 'Ada')
  t.equal(
    (await other.comeBack(callback)).headers.location,
    `${listener}${new URL(callback).search}`,
    'without a cookie',
  )
  await other.startLogin(listener)
  t.match((await other.comeBack(callback)).headers.location, /^\/login\?error=/, 'with its own')
  t.same(other.cookies('/'), {})
  t.same(await countRows(appOfPrograms.context), before)
})

t.test("For a program's sign-in, the provider must always ask the user to sign in again", async (t) => {
  const askedFor = async (body: object) => {
    const started = await appOfPrograms.call('POST', '/api/v1/auth/login', { body })
    const { searchParams } = new URL(started.body.authorizationUrl)
    return [searchParams.get('prompt'), searchParams.get('max_age')]
  }
  for (const [body, expected] of [
    [{ returnTo: listener }, ['login', '0']],
    [{ returnTo: listener, prompt: 'select_account' }, ['login', '0']],
    [{ returnTo: `${webApp}/` }, [null, '31536000']],
    [{ returnTo: `${webApp}/`, prompt: 'login' }, ['login', '0']],
    [{ returnTo: '/', prompt: 'select_account' }, ['select_account', '31536000']],
  ] as const) {
    t.same(await askedFor(body), expected, JSON.stringify(body))
  }
})

t.test('A program is refused unless the provider says that it asked the user for this sign-in', async (t) => {
  const { alter } = appOfPrograms.mock
  t.teardown(() => Object.assign(alter, { idToken: undefined }))
  const before = await countRows(appOfPrograms.context)
  const signInSaying = async (returnTo: string, auth_time: unknown) => {
    alter.idToken = (claims) => {
      claims.auth_time = auth_time
    }
    const browser = openBrowser(appOfPrograms.call)
    return comeBack(browser, await browser.startLogin(returnTo))
  }
  const now = () => Math.floor(Date.now() / 1000)
  const signIn = (returnTo: string, seconds: number | undefined) =>
    signInSaying(returnTo, seconds === undefined ? undefined : now() + seconds)
  t.equal(await signIn(listener, -60), refused, 'the user signed in a minute before the program asked')
  t.equal(await signIn(listener, -400 * 86_400), refused, 'a year ago')
  t.equal(await signIn(listener, 3600), refused, 'in an hour')
  t.equal(await signInSaying(listener, Date.now() - 86_400_000), refused, 'yesterday, in milliseconds')
  for (const odd of [0, -1, String(now()), new Date().toISOString(), null, true, [now()], {}]) {
    t.match(await signInSaying(listener, odd), /^\/login\?error=/, JSON.stringify(odd))
  }
  t.equal(await signIn(listener, undefined), refused, 'the provider does not say when the user signed in')
  t.same(await countRows(appOfPrograms.context), before)
  t.ok(appOfPrograms.log.some((line) => line.includes('OpenID provider has not asked the user to sign in')))
  t.ok(appOfPrograms.log.some((line) => line.includes('OpenID provider does not say when the user signed in')))
  t.equal(await signIn(listener, 0), listener)
  t.equal(await signIn('/', -60), '/', 'a sign-in in the browser may use a remembered one')
  t.equal(await signIn('/', undefined), '/')
})

t.test('A listed web app on the loopback interface does not get the code', async (t) => {
  const [one, another] = [openBrowser(appOfPrograms.call), openBrowser(appOfPrograms.call)]
  const callback = await signInAt(await one.startLogin(`${webApp}/home`), 'Ada')
  t.equal((await another.comeBack(callback)).headers.location, lateLocation)
  t.equal((await one.comeBack(callback)).headers.location, `${webApp}/home`)
})

t.test("The listener's own query is kept, and refusals by the provider are redirected, too", async (t) => {
  const state = encodeURIComponent(`${listener}?a=b#c`)
  const { headers } = await appOfPrograms.call('GET', `/api/v1/auth/callback?error=access_denied&state=${state}`)
  t.equal(headers.location, `${listener}?a=b&error=access_denied&state=${state}#c`)
})

t.test('A listener must be a literal loopback address with a port', async (t) => {
  const status = async (returnTo: string) =>
    [returnTo, (await appOfPrograms.call('POST', '/api/v1/auth/login', { body: { returnTo } })).status] as const
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

t.test('The cookies have the attributes that the contract lists as data', async (t) => {
  const { sessionCookie: session, refreshCookie: refresh } = openapi.components.securitySchemes
  const over = (secureCookies: boolean) =>
    (['service_session', 'service_refresh'] as const).map((name) =>
      cookie({ cookieDomain: undefined, secureCookies }, name, 'token'),
    )
  const listed = [session, refresh].map(({ name, 'x-cookie': { secure: _, sameSite, ...attributes } }) => {
    return { name, options: { ...attributes, sameSite: sameSite.toLowerCase() } }
  })
  const withSecure = (secure: boolean) =>
    listed.map(({ name, options }) => ({ name, value: 'token', options: { ...options, secure } }))
  t.same([over(true), over(false)], [withSecure(true), withSecure(false)])
})
