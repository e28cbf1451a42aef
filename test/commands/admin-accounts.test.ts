import t from 'tap'
import {
  disableUser,
  enableUser,
  endSessionOf,
  listSessions,
  listUsers,
  quotaOf,
  removeUser,
} from '../../src/service/commands/accounts.ts'
import { type CommandDatabase, openForCommand } from '../../src/service/db/for-command.ts'
import { openDevice } from '../realtime/device.ts'
import { buildApp } from '../support/app.ts'
import { openBrowser } from '../support/browser.ts'
import { holdIntervals } from '../support/intervals.ts'
import { keyringOf, replaceKeyring } from '../support/keyrings.ts'
import { silent } from '../support/log.ts'
import { buildWithMock } from '../support/mock-service.ts'
import { sweepAccounts } from '../support/sweeps.ts'
import { maxUserBytes } from '../support/usage.ts'

t.test('ebs admin quota sets another limit for one user, from the next write on', async (t) => {
  const settings = maxUserBytes(10, 1)
  const app = await buildApp(t, settings)
  const beside = await openForCommand(app.context.config.databaseUrl, silent)
  t.teardown(() => beside.close())
  const [ada, bob] = [await app.user('ada'), await app.user('bob')]
  const max = Number(settings.MAX_USER_BYTES)
  const log = t.capture(console, 'log')
  const quota = async (bytes?: string, yes = false) => {
    await quotaOf(beside, ada.userId, { bytes, yes }, max)
    return log().map(({ args }) => String(args[0]).replace(`${ada.userId}: `, ''))
  }
  const create = async ({ call }: typeof ada, size: number) =>
    (await call('POST', '/api/v1/bookmarks', { body: { encrypted_data: 'x'.repeat(size), data_hash: 'h' } })).status
  const limit = async ({ call }: typeof ada) => (await call('GET', '/api/v1/account')).body.limits.stored_bytes
  t.same(await quota(), [`0 of ${max} bytes, as MAX_USER_BYTES says`])
  t.same(await quota('2000'), ['0 of 2000 bytes, set for this user'])
  t.same([await limit(ada), await limit(bob)], [2000, max])
  t.same([await create(bob, 10), await create(bob, 10)], [201, 413])
  t.same([await create(ada, 400), await create(ada, 400), await create(ada, 400)], [201, 201, 413])
  await listUsers(beside, { search: ada.userId, json: true })
  t.match(JSON.parse(String(log()[0]?.args[0])), { id: ada.userId, bytes: 1824, quota: 2000 })
  await listUsers(beside, { search: ada.userId })
  t.match(log()[0]?.args[0], /1824 bytes, 2 records, last seen .*, quota 2000$/)
  await t.rejects(quota('600'), /1224 bytes less than is used: .* --yes sets it/)
  t.equal(await limit(ada), 2000)
  t.same(await quota('600', true), ['1824 of 600 bytes, set for this user'])
  t.equal(await create(ada, 1), 413)
  const { body } = await ada.call('GET', '/api/v1/bookmarks')
  t.equal((await ada.call('DELETE', `/api/v1/bookmarks/${body.data[0].id}`)).status, 200)
  // To make room, the delete has erased the only version, the one that it had just added.
  t.same(await quota('default', true), [`1424 of ${max} bytes, as MAX_USER_BYTES says`])
  for (const wrong of ['-1', '0', '1.5', '1e3', '9007199254740992', ''])
    await t.rejects(
      quotaOf(beside, ada.userId, { bytes: wrong, yes: true }, max),
      /neither a number of bytes, 1 or more, nor `default`/,
    )
  await t.rejects(quotaOf(beside, 'nobody', { bytes: '1', yes: true }, max), /no user has the id nobody/)
  t.same(await quota(), [`1424 of ${max} bytes, as MAX_USER_BYTES says`], 'the quota is unchanged')
})

t.test('npm run admin lists, disables, enables and deletes users while the service runs', async (t) => {
  const tick = holdIntervals(t)
  const { call, context, listen, user, setClock } = await buildWithMock(t)
  // The hour in which a session was last used does not change between two requests.
  setClock(Date.now())
  const beside = await openForCommand(context.config.databaseUrl, silent)
  t.teardown(() => beside.close())
  const log = t.capture(console, 'log')
  const run = async (command: (database: CommandDatabase, id: string) => Promise<void>, id = '') => {
    await command(beside, id)
    return log().map(({ args }) => String(args[0]))
  }
  const [browser, bob] = [openBrowser(call), await user('bob')]
  await browser.signIn('Ada')
  const { user_id, email } = (await browser.call('GET', '/api/v1/auth/session')).body.user
  await browser.call('POST', '/api/v1/bookmarks', { body: { encrypted_data: 'AAAA', data_hash: 'h' } })
  await replaceKeyring(browser, 2)
  const list = () => run((database) => listUsers(database))
  const hour = (await browser.call('GET', '/api/v1/account/sessions')).body.sessions[0].last_used_at
  const lines = await list()
  t.equal(lines.at(-1), '2 users, 516 bytes', 'a record counts 512 bytes, as in the quota')
  const ofAda = `${user_id}  ${JSON.stringify(email)}  516 bytes, 1 records, last seen ${new Date(hour).toISOString()}`
  t.ok(lines.includes(ofAda), lines.join('\n'))

  const cookie = `service_session=${browser.cookies().service_session}`
  const socket = await openDevice(t, await listen(), { userId: user_id, cookie })
  t.same(await run(disableUser, user_id), [`${user_id}: signed out and disabled`])
  t.equal((await call('GET', '/api/v1/bookmarks', { headers: { cookie } })).status, 401)
  t.equal((await bob.call('GET', '/api/v1/bookmarks')).status, 200)
  t.equal((await user('bob')).userId, bob.userId, 'others can sign in')
  tick(30)
  t.equal(await socket.closeCode, 4401)
  const refused = await browser.signIn('Ada')
  t.equal(refused.headers.location, `/login?error=${encodeURIComponent('Account is disabled')}`)
  t.ok((await list()).includes(`${ofAda.replace(/last seen.*/, 'last seen never')}, disabled`))
  t.same(await run(enableUser, user_id), [`${user_id}: can sign in again`])
  await browser.signIn('Ada')
  t.equal((await browser.call('GET', '/api/v1/bookmarks')).body.meta.total, 1)
  const keyrings = '/api/v1/account/keyring/versions'
  const [earlier] = (await browser.call('GET', keyrings)).body.versions
  const back = await browser.call('POST', `${keyrings}/${earlier.id}/restore`)
  t.same(back.body, { keyring: keyringOf('1'), revision: 3 }, 'a replaced keyring was restored')

  const remove = (options: { yes?: true }) => run((database, id) => removeUser(database, id, options), user_id)
  await t.rejects(remove({}), /nothing was deleted: --yes deletes this account/)
  t.match(log()[0]?.args[0], new RegExp(`^${user_id}  ${JSON.stringify(email)}  \\d+ bytes, 1 records, last seen 2`))
  t.equal((await browser.call('GET', '/api/v1/bookmarks')).status, 200)
  t.match(await remove({ yes: true }), [/./, /^deleted; until .* npm run admin -- undelete .* brings it back$/])
  t.equal((await browser.call('GET', '/api/v1/bookmarks')).status, 401)
  t.equal((await list()).at(-1), '1 users, 0 bytes')
  setClock(Date.now() + 86_400_000)
  await sweepAccounts(context)
  const left = context.database.db.selectFrom('users').select('id')
  t.same(await left.execute(), [{ id: bob.userId }])
  await t.rejects(remove({ yes: true }), {
    message: `no user has the id ${user_id}; npm run admin -- users lists all`,
  })
})

t.test('Users are found by literal text, and their sessions can be listed and ended', async (t) => {
  const { call, context, mock } = await buildWithMock(t)
  const beside = await openForCommand(context.config.databaseUrl, silent)
  t.teardown(() => beside.close())
  const log = t.capture(console, 'log')
  const printed = () => log().map(({ args }) => String(args[0]))
  const found = async (search: string) => {
    await listUsers(beside, { search, json: true })
    return printed().map((line) => JSON.parse(line))
  }
  const emails = ['Ada_Q@Example.org', 'adaXq@example.org', '100%@é.example', "o'brien@example.org"]
  const browsers = []
  for (const [index, email] of emails.entries()) {
    mock.person = { sub: `person ${index}`, email, email_verified: true }
    const browser = openBrowser(call)
    await browser.signIn('Ada')
    browsers.push(browser)
  }
  const named = async (search: string) => (await found(search)).map(({ email }) => email).sort()
  t.same(await named('ada_q'), ['Ada_Q@Example.org'], 'no pattern')
  t.same(await named('%'), ['100%@é.example'])
  t.same(await named('É'), ['100%@é.example'])
  t.same(await named("'"), ["o'brien@example.org"])
  t.same((await named('')).length, 4)
  t.same(await named('\\'), [])
  const [ada] = await found('ada_q')
  t.same(ada, { ...ada, email: 'Ada_Q@Example.org', bytes: 0, records: 0, disabled: false })
  t.same((await found(ada.id.slice(0, 35))).map(({ id }) => id).includes(ada.id), true)
  t.same(await found(ada.id.slice(1)), [], 'the rest of an id does not match')

  const [first] = browsers
  mock.person = { sub: 'person 0', email: 'Ada_Q@Example.org', email_verified: true }
  const other = openBrowser(call)
  await other.signIn('Ada')
  const sessions = async () => {
    await listSessions(beside, ada.id, { json: true })
    return printed().map((line) => JSON.parse(line))
  }
  const [newest, oldest, ...more] = await sessions()
  t.same([more.length, Object.keys(newest)], [0, ['id', 'signed_in', 'last_used', 'user_agent']])
  await listSessions(beside, ada.id)
  t.match(printed()[1], `${oldest.id}  signed in ${oldest.signed_in}, last used ${oldest.last_used}`)
  await endSessionOf(beside, ada.id, oldest.id)
  t.same(printed(), [`${oldest.id}: signed out`])
  t.equal((await first?.call('GET', '/api/v1/bookmarks'))?.status, 401)
  t.equal((await other.call('GET', '/api/v1/bookmarks')).status, 200)
  const bob = await found('brien')
  await t.rejects(endSessionOf(beside, bob[0].id, newest.id), /the user has no session/)
  t.same((await sessions()).length, 1, "no other user's session is ended")
  await t.rejects(listSessions(beside, 'none'), /no user has the id none/)
})
