import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { sql } from 'kysely'
import t from 'tap'
import { makeBackup } from '../../src/service/backup/make.ts'
import { openDevice } from '../realtime/device.ts'
import { buildApp, type TestUser } from '../support/app.ts'
import { openBrowser } from '../support/browser.ts'
import { isPostgres } from '../support/database-url.ts'
import { holdIntervals } from '../support/intervals.ts'
import { buildWithMock } from '../support/mock-service.ts'
import { folder } from '../support/service.ts'
import { until } from '../support/until.ts'

const path = '/api/v1/account/sessions'
const hourMs = 3_600_000
const invalid = { error: 'Invalid or expired session' }

const tick = holdIntervals(t)
const app = await buildWithMock(t)
/** A second instance of the service on Postgres; SQLite allows only one. */
const there = isPostgres ? await buildApp(t, {}, { dataDir: app.dataDir }) : app
const here = await app.listen()
const origin = isPostgres ? await there.listen() : here
const tried = async ({ call }: TestUser) => (await call('GET', '/api/v1/bookmarks')).status
const idsOf = async ({ call }: TestUser) => (await call('GET', path)).body.sessions.map(({ id }: { id: string }) => id)

t.test('The list of sessions has how each began, the hour of its last use, and its sockets', async (t) => {
  const browser = openBrowser((method, path, { headers, ...request } = {}) =>
    app.call(method, path, { ...request, headers: { 'user-agent': 'é'.repeat(201), ...headers } }),
  )
  t.teardown(() => app.setClock(undefined))
  const start = Math.ceil(Date.now() / hourMs) * hourMs
  app.setClock(start + 1)
  await browser.signIn('Ada')
  const [own] = (await browser.call('GET', path)).body.sessions
  t.match(own, { created_at: start + 1, last_used_at: start, current: true, sockets: 0 })
  t.equal(own.user_agent, 'é'.repeat(200))

  const [phone, laptop] = [await app.user('bob'), await app.user('bob')]
  await openDevice(t, here, laptop)
  app.setClock(start + 2 * hourMs + 1)
  await laptop.call('GET', '/api/v1/bookmarks')
  app.setClock(start + 3 * hourMs + 1)
  tick(30)
  const list = async () => (await phone.call('GET', path)).body
  await until(async () => (await list()).sessions[0].last_used_at !== start)
  const common = { created_at: start + 1, authenticated_at: start + 1, user_agent: "bob's browser" }
  t.same(await list(), {
    sessions: [
      { ...common, id: laptop.loginId, last_used_at: start + 2 * hourMs, current: false, sockets: 1 },
      { ...common, id: phone.loginId, last_used_at: start + 3 * hourMs, current: true, sockets: 0 },
    ],
    next: null,
  })
  const first = (await phone.call('GET', `${path}?limit=1`)).body
  t.same([first.sessions[0].id, first.next], [laptop.loginId, laptop.loginId])
  const second = (await phone.call('GET', `${path}?limit=1&after=${first.next}`)).body
  t.same([second.sessions[0].id, second.next], [phone.loginId, null])
  const { status, body } = await phone.call('GET', `${path}?limit=0`)
  t.same([status, body], [400, { error: 'limit must be an integer from 1 to 1000' }])
})

t.test('A sign-in ends logins whose cookies the browser still had, of any user', async (t) => {
  const [browser, thief] = [openBrowser(app.call), openBrowser(app.call)]
  app.mock.person = { sub: 'ida', name: 'Ida' }
  await browser.signIn('Ida')
  const cookies = () => `service_session=${browser.cookies().service_session}`
  const { body } = await browser.call('GET', '/api/v1/auth/session')
  const own = { userId: body.user.user_id, cookie: cookies() }
  const stolen = { headers: { cookie: own.cookie } }
  const statusOf = async () => (await there.call('GET', '/api/v1/bookmarks', stolen)).status
  const socket = await openDevice(t, origin, own)
  await thief.signIn('Ida')
  t.equal(await statusOf(), 200, 'a sign-in in another browser ends no login')
  await browser.signIn('Ida')
  t.equal(await socket.closeCode, 4401)
  t.equal(await statusOf(), 401)
  t.equal((await browser.call('GET', path)).body.sessions.length, 2)
  t.equal((await thief.call('GET', path)).status, 200)

  stolen.headers.cookie = cookies()
  t.equal(await statusOf(), 200)
  app.mock.person = { sub: 'jan', name: 'Jan' }
  await browser.signIn('Jan')
  t.equal(await statusOf(), 401, 'the replaced login has ended')
  t.equal((await thief.call('GET', path)).body.sessions.length, 1)
})

t.test('An expired session is not listed, even before a sweep has removed it', async (t) => {
  t.teardown(() => app.setClock(undefined))
  await app.user('zoe')
  app.setClock(Date.now() + 31 * 24 * hourMs)
  const zoe = await app.user('zoe')
  t.same(await idsOf(zoe), [zoe.loginId])
})

t.test('A session ended from another one ends as by a logout, on every instance', async (t) => {
  const [phone, laptop, other] = [await app.user('eve'), await app.user('eve'), await app.user('mallory')]
  const socket = await openDevice(t, origin, laptop)
  const [unknown, foreign] = ['unknown', other.loginId]
  for (const id of [unknown, foreign]) {
    const { status, body } = await phone.call('DELETE', `${path}/${id}`)
    t.same([status, body], [404, { error: 'Session not found' }])
  }
  t.equal((await phone.call('DELETE', `${path}/${laptop.loginId}`)).status, 200)
  t.equal(await socket.closeCode, 4401)
  const refused = await there.as(laptop).call('GET', '/api/v1/bookmarks')
  t.same([refused.status, refused.body], [401, invalid])
  const refresh = { headers: { cookie: `service_refresh=${laptop.refresh}` } }
  t.equal((await there.call('POST', '/api/v1/auth/refresh', refresh)).status, 401)
  t.same([await tried(phone), await tried(other), await idsOf(phone)], [200, 200, [phone.loginId]])
  t.equal((await phone.call('DELETE', `${path}/${phone.loginId}`)).status, 200, 'ending the own session is a logout')
  t.equal(await tried(phone), 401)
})

t.test('All other sessions end at once, and the provider revokes their tokens', async (t) => {
  const [browser, other] = [openBrowser(app.call), openBrowser(app.call)]
  await browser.signIn('Grace')
  await other.signIn('Grace')
  const { user_id: userId } = (await other.call('GET', '/api/v1/auth/session')).body.user
  const cookie = `service_session=${other.cookies().service_session}`
  const socket = await openDevice(t, origin, { userId, cookie })
  t.equal((await browser.call('DELETE', path)).status, 200)
  t.equal(await socket.closeCode, 4401)
  t.equal((await there.call('GET', '/api/v1/bookmarks', { headers: { cookie } })).status, 401)
  t.equal((await browser.call('GET', path)).body.sessions.length, 1)
  await until(() => app.mock.requests.some(({ endpoint }) => endpoint === 'revoke'))
  t.equal((await browser.call('DELETE', path)).status, 200, 'again, without any')
})

t.test('If two sessions end each other at once, one is left', async (t) => {
  for (let n = 0; n < 5; n++) {
    const [one, two] = [await app.user('rivals'), there.as(await app.user('rivals'))]
    const answers = await Promise.all([one.call('DELETE', path), two.call('DELETE', path)])
    t.same(answers.map(({ status }) => status).sort(), [200, 401])
    t.same([await tried(one), await tried(two)].sort(), [200, 401])
  }
})

t.test('`delete from logins` ends all sessions, even in the shell of SQLite, which leaves the tokens', async (t) => {
  const [ada, again, bob] = [await app.user('ada'), await app.user('ada'), await app.user('bob')]
  const socket = await openDevice(t, here, ada)
  if (isPostgres) await sql`delete from logins`.execute(app.context.database.db)
  else {
    const shell = new Sqlite(join(app.dataDir, 'bookmarks.db'))
    shell.exec('pragma foreign_keys = off; delete from logins')
    t.ok(shell.prepare('select count(*) from tokens').pluck().get())
    shell.close()
  }
  for (const users of [[ada], [ada, again], [ada, bob]]) {
    const cookie = users
      .flatMap((one) => [`service_session=${one.session}`, `service_refresh=${one.refresh}`])
      .join('; ')
    for (const what of ['bookmarks', 'trash', 'account/keyring', 'account/export-key', 'account/sessions'])
      t.equal((await app.call('GET', `/api/v1/${what}`, { headers: { cookie } })).status, 401, what)
    t.equal((await app.call('POST', '/api/v1/auth/refresh', { headers: { cookie } })).status, 401)
  }
  tick(30)
  t.equal(await socket.closeCode, 4401)
  if (isPostgres) return
  const source = { database: join(app.dataDir, 'bookmarks.db'), exportsDir: undefined }
  t.match((await makeBackup(source, join(await folder(t), 'backup'))).rows, { users: Number, logins: 0, tokens: 0 })
})
