import t, { type Test } from 'tap'
import { type Cookies, signInAt } from '../../scripts/servers/sign-in.ts'
import { faultPage, signInPage } from '../../src/service/provider/development/openid-provider.ts'
import { startDevelopmentProvider } from '../../src/service/provider/development/provider.ts'
import { InvalidGrantError } from '../../src/service/provider/provider.ts'
import { buildApp, type TestApp } from '../support/app.ts'
import { openBrowser } from '../support/browser.ts'
import { pick } from '../support/pick.ts'
import { open, relyingParty, signIn } from '../support/relying-party.ts'
import { folder } from '../support/service.ts'

const { issuer, provider } = await start(t)

t.test('the sign-in page is one accessible form without foreign assets', async (t) => {
  const { response, page } = await look(await provider.authorizationUrl(provider.newAttempt('/')))
  t.equal(response.status, 200)
  t.equal(response.headers.get('content-type'), 'text/html; charset=utf-8')
  t.match(response.headers.get('content-security-policy'), /^default-src 'none';/)
  t.equal(response.headers.get('cache-control'), 'no-store')
  t.match(page, /<html lang="en">/)
  t.match(page, /<label for="name">/)
  t.match(page, /<input id="name" name="name" required/)
  t.equal(page.match(/<form/g)?.length, 1)
  t.notMatch(page, /https?:|src=|<script|<link(?! rel="icon" href="data:,">)/)
})

t.test("the pages show an error's description as text, not as HTML", async (t) => {
  for (const page of [faultPage(`<b>"&'`), signInPage(`<b>"&'`)])
    t.match(page, /role="alert">&#60;b&#62;&#34;&#38;&#39;</)
})

t.test('every name is a person; spaces, case, punctuation and Unicode forms do not matter', async (t) => {
  const person = async (name: string) => (await signIn(provider, '/', name)).identity
  const ada = await person('Ada Lovelace')
  t.match(ada, { name: 'Ada Lovelace', email: 'ada.lovelace@dev.localhost', email_verified: true, avatar_url: '' })
  for (const name of [
    'ada lovelace',
    '  ADA\t LOVELACE ',
    'Ada-Lovelace',
    'Ａda Lovelace',
    'ada.lovelace',
    'Ada\u200b Lovelace',
  ]) {
    t.equal((await person(name)).subject, ada.subject, name)
  }
  t.equal((await person('ada  LOVELACE')).name, 'ada LOVELACE', 'the name is shown as typed last')
  const others = ['Ada', 'AdaLovelace', 'José', 'Jose', '李雷', 'O’Brien & <b>Söhne</b>', '7', 'نور']
  const people = await Promise.all(others.map(person))
  t.equal(new Set([ada, ...people].map(({ subject }) => subject)).size, others.length + 1)
  t.strictSame(pick(people, 'name'), others)
  t.strictSame(await person('Jose\u0301'), await person('José'), 'decomposed or not')
  t.equal((await person('José')).email, 'josé@dev.localhost')
  for (const { subject } of people) t.match(subject, /^[\x21-\x7e]{1,255}$/)
})

t.test('an empty or unusable name is refused', async (t) => {
  for (const name of ['', '   ', '!?', '🙂', 'a'.repeat(65)]) {
    const { response, page } = await look(await provider.authorizationUrl(provider.newAttempt('/')), name)
    t.equal(response.status, 400, name)
    t.match(page, /role="alert">The name must contain a letter or digit/)
    t.match(page, /<form/)
  }
})

t.test('every sign-in asks for the name, with any prompt, also in the same browser', async (t) => {
  const cookies: Cookies = new Map()
  for (const prompt of [undefined, 'login', 'select_account'] as const) {
    for (const name of ['Ada', 'Bob']) {
      const attempt = provider.newAttempt('/')
      const callback = await signInAt(await provider.authorizationUrl(attempt, prompt), name, cookies)
      const { identity, refreshToken } = await provider.exchangeCode(new URL(callback).searchParams, attempt)
      t.equal(identity.name, name, `${prompt}`)
      t.equal(typeof refreshToken, 'string')
    }
  }
  const attempt = provider.newAttempt('/')
  const url = new URL(await provider.authorizationUrl(attempt))
  url.searchParams.set('prompt', 'login consent select_account')
  const callback = await signInAt(url.href, 'Eve', cookies)
  t.equal((await provider.exchangeCode(new URL(callback).searchParams, attempt)).identity.name, 'Eve')
})

t.test('an unknown client or redirect URI gets a page that says so', async (t) => {
  for (const [name, value] of Object.entries({ client_id: '<script>', redirect_uri: 'http://evil.example/' })) {
    const url = new URL(await provider.authorizationUrl(provider.newAttempt('/')))
    url.searchParams.set(name, value)
    const { response, page } = await look(url.href)
    t.equal(response.status, 400)
    t.match(page, /role="alert">/)
    t.notMatch(page, /<script/)
  }
})

t.test('the page of a finished or unknown sign-in says so', async (t) => {
  const response = await fetch(`${issuer}/sign-in/unknown`)
  t.equal(response.status, 400)
  t.match(await response.text(), /This sign-in has ended/)
  const again = await fetch(`${issuer}/sign-in/unknown`, { method: 'POST', body: new URLSearchParams({ name: 'Ada' }) })
  t.equal(again.status, 400)
  t.ok(await signIn(provider, '/', 'Ada'))
})

t.test('refresh tokens rotate, and using one twice revokes them all', async (t) => {
  const { identity, refreshToken: first } = await signIn(provider, '/', 'Ada')
  const refresh = async (token: string | null) => (await provider.refresh(String(token), identity.subject)).refreshToken
  const second = await refresh(first)
  const third = await refresh(second)
  t.equal(new Set([first, second, third]).size, 3)
  await t.rejects(refresh(second), InvalidGrantError)
  await t.rejects(refresh(third), InvalidGrantError)
  t.ok(await refresh((await signIn(provider, '/', 'Ada')).refreshToken))
})

t.test('revoking ends one login, and not another one of the same person', async (t) => {
  const [one, other] = [await signIn(provider, '/', 'Ada'), await signIn(provider, '/', 'Ada')]
  await provider.revoke(String(one.refreshToken))
  await t.rejects(provider.refresh(String(one.refreshToken), one.identity.subject), InvalidGrantError)
  t.ok(await provider.refresh(String(other.refreshToken), other.identity.subject))
})

t.test('after a restart on the same port, people can sign in, but earlier refresh tokens are invalid', async (t) => {
  const first = await start(t)
  const { identity, refreshToken } = await signIn(first.provider)
  await first.close()
  const port = Number(new URL(first.issuer).port)
  const second = await startDevelopmentProvider({ ...relyingParty, port })
  t.teardown(second.close)
  t.equal(second.issuer, first.issuer)
  // A new client: the first one may not have noticed yet that its connection was closed.
  const provider = open(t, second.issuer)
  await t.rejects(provider.refresh(String(refreshToken), identity.subject), InvalidGrantError)
})

t.test('on another port it knows the same people; the log says how to move users of earlier ports', async (t) => {
  const dataDir = await folder(t)
  const before = await buildApp(t, development, { dataDir })
  const ada = await signInThere(before)
  await before.close()
  const after = await buildApp(t, development, { dataDir })
  t.equal(await signInThere(after), ada)
  t.same(issuerLines(after.log), [])
  // Earlier versions stored an issuer with the port, as here with DEV_IDP_PORT set.
  const { db } = after.context.database
  for (const table of ['users', 'identities'] as const)
    await db.updateTable(table).set({ issuer: 'http://127.0.0.1:41501' }).execute()
  await after.close()
  const now = await buildApp(t, development, { dataDir })
  t.match(issuerLines(now.log), [
    /^OIDC_ISSUER: 1 user, none of .* move-issuer http:\/\/127\.0\.0\.1:41501 http:\/\/127\.0\.0\.1:3001 /,
  ])
  t.equal(await signInThere(now), undefined, 'nobody gets an empty account')
})

const development = { OIDC_ISSUER: '', DEV_IDP_PORT: '0' }

async function signInThere({ call }: TestApp): Promise<string | undefined> {
  const browser = openBrowser(call)
  await browser.signIn('Ada')
  return (await browser.call('GET', '/api/v1/auth/session')).body.user?.user_id
}

function issuerLines(log: string[]): string[] {
  return log.map((line) => JSON.parse(line).msg).filter((msg) => msg.startsWith('OIDC_ISSUER'))
}

t.test('the provider listens on loopback only, and a port in use is reported by its error code', async (t) => {
  const { hostname, port } = new URL(issuer)
  t.equal(hostname, '127.0.0.1')
  await t.rejects(startDevelopmentProvider({ ...relyingParty, port: Number(port) }), { code: 'EADDRINUSE' })
})

async function start(t: Test) {
  const development = await startDevelopmentProvider({ ...relyingParty, port: 0 })
  const provider = open(t, development.issuer)
  t.teardown(() => development.close())
  return { ...development, provider }
}

/** Opens the sign-in page and enters `name`, if given. Returns the last page. */
async function look(authorizationUrl: string, name?: string): Promise<{ response: Response; page: string }> {
  const first = await fetch(authorizationUrl, { redirect: 'manual' })
  const location = first.headers.get('location')
  if (location === null || !location.startsWith('/')) return { response: first, page: await first.text() }
  const cookie = first.headers.getSetCookie().map((line) => line.split(';')[0])
  const request = { headers: { cookie: cookie.join('; ') } }
  const body = name === undefined ? {} : { method: 'POST', body: new URLSearchParams({ name }) }
  const response = await fetch(new URL(location, authorizationUrl), { ...request, ...body })
  return { response, page: await response.text() }
}
