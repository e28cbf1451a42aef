import t from 'tap'
import { disableUser, enableUser, listUsers, removeUser } from '../../src/service/commands/accounts.ts'
import { type Beside, openBeside } from '../../src/service/db/beside.ts'
import { openDevice } from '../realtime/device.ts'
import { openBrowser } from '../support/browser.ts'
import { holdIntervals } from '../support/intervals.ts'
import { keyringOf, replaceKeyring } from '../support/keyrings.ts'
import { silent } from '../support/log.ts'
import { buildWithMock } from '../support/mock-service.ts'
import { sweepAccounts } from '../support/sweeps.ts'

t.test('npm run admin lists users, and disables, enables and deletes one, beside the running service', async (t) => {
  const tick = holdIntervals(t)
  const { call, context, listen, user, setClock } = await buildWithMock(t)
  const beside = await openBeside(context.config.databaseUrl, silent)
  t.teardown(() => beside.close())
  const log = t.capture(console, 'log')
  const run = async (command: (database: Beside, id: string) => Promise<void>, id = '') => {
    await command(beside, id)
    return log().map(({ args }) => String(args[0]))
  }
  const [browser, bob] = [openBrowser(call), await user('bob')]
  await browser.signIn('Ada')
  const { user_id, email } = (await browser.call('GET', '/api/v1/auth/session')).body.user
  await browser.call('POST', '/api/v1/bookmarks', { body: { encrypted_data: 'AAAA', data_hash: 'h' } })
  await replaceKeyring(browser, 2)
  const list = () => run(listUsers)
  const hour = (await browser.call('GET', '/api/v1/account/sessions')).body.sessions[0].last_used_at
  const lines = await list()
  t.equal(lines.at(-1), '2 users, 516 bytes', 'as the quota counts: 512 for the record')
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
  t.same(back.body, { keyring: keyringOf('1'), revision: 3 }, 'a keyring that was replaced before comes back')

  t.match(await run(removeUser, user_id), [/: deleted; the service erases what is stored/])
  t.equal((await browser.call('GET', '/api/v1/bookmarks')).status, 401)
  t.equal((await list()).at(-1), '1 users, 0 bytes')
  setClock(Date.now() + 11 * 60_000)
  await sweepAccounts(context)
  const left = context.database.db.selectFrom('users').select('id')
  t.same(await left.execute(), [{ id: bob.userId }])
  await t.rejects(run(removeUser, user_id), {
    message: `no user has the id ${user_id}; npm run admin -- users lists all`,
  })
})
