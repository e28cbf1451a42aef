import t, { type Test } from 'tap'
import { type Cookies, signInAt } from '../../scripts/servers/sign-in.ts'
import { type Browser, openBrowser } from '../support/browser.ts'
import { buildWithEmbedded, buildWithMock } from '../support/mock-service.ts'
import { callsTo } from '../support/service.ts'

const providers = { 'oidc-provider': buildWithEmbedded, 'oauth2-mock-server': buildWithMock }

for (const [name, build] of Object.entries(providers)) {
  t.test(`Sign-in with ${name}, over real HTTP`, async (t) => {
    const app = await build(t)
    const call = callsTo(await app.listen())

    t.test('once', async (t) => {
      const browser = openBrowser(call)
      t.equal(await isSignedIn(browser), false)
      const { status, headers } = await browser.signIn('Ada', '/bookmarks?a=1')
      t.same([status, headers.location], [302, '/bookmarks?a=1'])
      const { user } = (await browser.call('GET', '/api/v1/auth/session')).body
      t.equal(user.name, 'Ada')
      t.equal((await browser.call('POST', '/api/v1/bookmarks', { body: content })).status, 201)
    })

    for (const urls of [
      ['/one', '/one'],
      ['/one', '/two'],
    ]) {
      for (const order of [
        [0, 1],
        [1, 0],
      ]) {
        const which = urls[0] === urls[1] ? 'the same return URL' : 'different return URLs'
        t.test(`in two tabs at once with ${which}, completed in the order ${order}`, async (t) => {
          const browser = openBrowser(call)
          const cookies: Cookies = new Map()
          const started = [await browser.startLogin(urls[0]), await browser.startLogin(urls[1])]
          const callbacks = []
          for (const url of started) callbacks.push(await signInAt(url, 'Ada', cookies))
          for (const tab of order) {
            const { headers } = await browser.comeBack(callbacks[tab] ?? '')
            t.equal(headers.location, urls[tab], `tab ${tab} arrives`)
            t.equal(await isSignedIn(browser), true)
          }
        })
      }
    }

    t.test('in four tabs, each completed before the next one comes back', async (t) => {
      const browser = openBrowser(call)
      const started: string[] = []
      for (const tab of ['/1', '/2', '/3', '/4']) started.push(await browser.startLogin(tab))
      for (const [tab, url] of started.entries()) {
        const { headers } = await browser.comeBack(await signInAt(url, 'Ada'))
        t.equal(headers.location, `/${tab + 1}`)
      }
    })

    t.test('again after a logout, as somebody else', async (t) => {
      const browser = openBrowser(call)
      const people: string[] = []
      for (const person of ['Ada', 'Bob']) {
        if ('mock' in app) Object.assign(app.mock as object, { person: { sub: person, name: person } })
        await browser.signIn(person)
        const { user } = (await browser.call('GET', '/api/v1/auth/session')).body
        t.equal(user.name, person)
        people.push(user.user_id)
        await browser.call('POST', '/api/v1/auth/logout')
      }
      t.not(people[0], people[1])
    })

    await codesOfOthers(t, call)
  })
}

const content = { encrypted_data: 'AWVuY3J5cHRlZA==', data_hash: 'hash' }
const expired = '/login?error=Login%20expired%20or%20was%20started%20in%20another%20browser'
const refused = '/login?error=Login%20was%20refused%20by%20the%20identity%20provider'

/** An attacker has a valid code of their own, and makes a victim's browser deliver it. */
async function codesOfOthers(t: Test, call: ReturnType<typeof callsTo>): Promise<void> {
  t.test('A code from another browser logs nobody in', async (t) => {
    const attacker = openBrowser(call)
    const stolen = async () => signInAt(await attacker.startLogin('/here'), 'Eve')
    const attempts: [name: string, prepare: (victim: Browser) => Promise<unknown>, location: string][] = [
      ['nothing under way', async () => {}, expired],
      ['another return URL under way', (victim) => victim.startLogin('/there'), expired],
      ['the same return URL under way', (victim) => victim.startLogin('/here'), refused],
    ]
    for (const [name, prepare, location] of attempts) {
      const victim = openBrowser(call)
      await prepare(victim)
      const answer = await victim.comeBack(await stolen())
      t.same([answer.status, answer.headers.location], [302, location], name)
      t.equal(answer.headers['set-cookie'], undefined)
      t.equal(await isSignedIn(victim), false)
    }
  })
}

async function isSignedIn(browser: Browser): Promise<boolean> {
  return (await browser.call('GET', '/api/v1/auth/session')).body.authenticated
}
