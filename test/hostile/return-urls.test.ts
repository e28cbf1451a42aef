import t from 'tap'
import { signInAt } from '../../scripts/servers/sign-in.ts'
import fixture from '../fixtures/hostile/return-to.json' with { type: 'json' }
import { openBrowser } from '../support/browser.ts'
import type { Answered } from '../support/contract.ts'
import { countRows } from '../support/database.ts'
import { buildWithMock } from '../support/mock-service.ts'

const web = 'http://app.localhost:5173'
const extension = 'chrome-extension://abcdefghijklmnopabcdefghijklmnop'
const env = { CORS_ORIGIN: `${web},${extension}` }
const expired = 'Login expired or was started in another browser'

t.test('Each hostile returnTo gets 400 Invalid returnTo, or the sign-in ends on the same origin', async (t) => {
  const app = await buildWithMock(t, env)
  const { publicUrl } = app.context.config
  t.equal(fixture.values.length, 68)
  for (const returnTo of fixture.values) {
    const browser = openBrowser(app.call)
    const name = encodeURIComponent(returnTo.toWellFormed()).slice(0, 60)
    const started = await browser.call('POST', '/api/v1/auth/login', { body: { returnTo } })
    if (started.status === 400) {
      t.same([started.body, started.headers['set-cookie']], [{ error: 'Invalid returnTo' }, undefined], name)
      continue
    }
    const state = new URL(started.body.authorizationUrl).searchParams.get('state') ?? ''
    t.match(state, /^\/([!-.0-~][!-~]*)?$/, `${name} is sent as ${state}`)
    const { status, headers } = await browser.comeBack(await signInAt(started.body.authorizationUrl, 'Ada'))
    t.same([status, headers.location], [302, state], name)
    t.equal(new URL(String(headers.location), publicUrl).origin, publicUrl, name)
  }
})

t.test('A login cookie that is altered, too old, or from another attempt or service signs nobody in', async (t) => {
  const app = await buildWithMock(t)
  const callback = async (headers: Record<string, string>) => {
    const { pathname, search } = new URL(good)
    return app.call('GET', pathname + search, { headers })
  }
  const browser = openBrowser(app.call)
  const good = await signInAt(await browser.startLogin('/'), 'Ada')
  const sealed = browser.cookies().service_login ?? ''
  const other = openBrowser((await buildWithMock(t)).call)
  await other.startLogin('/')
  const neighbour = openBrowser(app.call)
  await neighbour.startLogin('/elsewhere')

  refused(t, await callback({}), 'no cookie')
  for (const [name, value] of Object.entries({
    empty: '',
    garbage: 'garbage',
    altered: (sealed.startsWith('A') ? 'B' : 'A') + sealed.slice(1),
    cut: sealed.slice(0, -4),
    longer: `${sealed}AAAA`,
    long: 'A'.repeat(8000),
    'in the clear': Buffer.from('[{"returnTo":"/","expiresAt":9e15}]').toString('base64url'),
    'of another service': other.cookies().service_login ?? '',
    'of another attempt': neighbour.cookies().service_login ?? '',
  })) {
    refused(t, await callback({ cookie: `service_login=${value}` }), name)
  }
  app.setClock(Date.now() + 601_000)
  refused(t, await callback({ cookie: `service_login=${sealed}` }), 'an expired login cookie')
  app.setClock(undefined)
  t.same(await countRows(app.context), {}, 'nobody was signed in')
  t.equal((await callback({ cookie: `service_login=${sealed}` })).headers.location, '/')
})

function refused(t: { same(a: unknown, b: unknown, name: string): unknown }, answer: Answered, name: string): void {
  const { status, headers } = answer
  const location = `/login?error=${encodeURIComponent(expired)}`
  t.same([status, headers.location, headers['set-cookie']], [302, location, undefined], name)
}
