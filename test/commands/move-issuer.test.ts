import { join } from 'node:path'
import t from 'tap'
import { v7 as uuidv7 } from 'uuid'
import { saveUser } from '../../src/service/db/tables/users.ts'
import { startCommand } from '../support/command.ts'
import { snapshot } from '../support/database.ts'
import { databaseUrl } from '../support/database-url.ts'
import { deep } from '../support/depth.ts'
import { replaceKeyring } from '../support/keyrings.ts'
import { addBookmark, countBookmarks, openChange } from './issuer-change.ts'

/** A change of the identity provider, and `ebs admin move-issuer`. */

const unmoved = `/login?error=${encodeURIComponent('Accounts have not been moved to this identity provider')}`
const minute = 60_000

t.test('Another issuer makes nobody a new, empty user; start and doctor tell, and one command moves all', async (t) => {
  const change = await openChange(t)
  const { old, next } = change
  await change.start(old)
  const ada = await change.signIn('ada')
  await addBookmark(ada.browser)
  await replaceKeyring(ada.browser, 1)
  t.same(await change.doctor(), [{ about: 'users', state: 'ok', says: `1 of ${old.issuer}` }])

  await change.start(next)
  const said = `1 user, none of ${next.issuer}: 1 of ${old.issuer}`
  const errors = change.log().filter(({ level }) => level === 50)
  t.equal(errors.length, 1)
  t.ok(errors[0].msg.startsWith(`OIDC_ISSUER: ${said}. Nobody can sign in until they are moved: `), errors[0].msg)
  t.match(errors[0].msg, `move-issuer ${old.issuer} ${next.issuer} --dry-run`)
  t.match(await change.doctor(), [{ state: 'error', says: said, todo: `move-issuer ${old.issuer} ${next.issuer}` }])

  const before = await snapshot(change.context())
  const refused = await change.signIn('ada')
  t.equal(refused.location, unmoved)
  t.equal(await snapshot(change.context()), before, 'no user is created')
  const line = change.log().find(({ msg }) => msg === 'a sign-in failed')
  t.match(line.err.message, `there are users of ${old.issuer}, and none of ${next.issuer}`)
  t.notMatch(JSON.stringify(line), /\bada\b|example\.org/, 'nobody is named')
  t.equal(await countBookmarks(ada.browser), 1, 'a session stays valid')

  const tried = await change.move('--dry-run')
  t.match(tried, { code: 0, stderr: '' })
  t.match(tried.stdout, `${ada.userId}  "ada@example.org"  becomes the subject "ada"\n`)
  t.match(tried.stdout, `would move 1 user from ${old.issuer} to ${next.issuer}; nothing was changed\n`)
  t.equal(await snapshot(change.context()), before)

  t.same(await change.move(), { code: 0, stdout: `moved 1 user from ${old.issuer} to ${next.issuer}\n`, stderr: '' })
  const again = await change.signIn('ada')
  t.match(again, { location: '/in', userId: ada.userId, body: { has_keyring: true } })
  t.equal(await countBookmarks(again.browser), 1)
  t.equal(await countBookmarks(ada.browser), 1, 'a session stays valid')
  t.same(await change.doctor(), [{ about: 'users', state: 'ok', says: `1 of ${next.issuer}` }])
  const moved = await snapshot(change.context())
  const second = await change.move()
  t.match(second, { code: 0, stdout: `nothing to do: no users of ${old.issuer} (users: 1 of ${next.issuer})\n` })
  t.equal(await snapshot(change.context()), moved)
})

t.test("A provider never gets another one's refresh tokens: such logins end within a day, moved or not", async (t) => {
  const change = await openChange(t)
  const { old, next } = change
  await change.start(old)
  const people = [await change.signIn('ada'), await change.signIn('bob')]
  const other = await change.signIn('ada')
  const leaving = await change.signIn('eve')
  await change.start(next)
  t.equal((await leaving.browser.call('DELETE', '/api/v1/account')).status, 200)
  const started = Date.now()
  for (const [index, { browser }] of people.entries()) {
    if (index === 1) await change.move()
    change.setClock(started + 2 * minute)
    t.equal((await browser.call('POST', '/api/v1/auth/refresh')).status, 200)
    t.same(
      next.requests.filter(({ endpoint }) => endpoint === 'token'),
      [],
    )
    if (index === 0) t.equal((await other.browser.call('POST', '/api/v1/auth/logout')).status, 200)
    change.setClock(started + 23 * 60 * minute)
    t.equal((await browser.call('POST', '/api/v1/auth/refresh')).status, 200)
    t.equal((await browser.call('GET', '/api/v1/bookmarks')).status, 200)
    change.setClock(started + 24 * 60 * minute + 3 * minute)
    t.equal((await browser.call('GET', '/api/v1/bookmarks')).status, 401)
    change.setClock(started)
  }
  const later = await change.signIn('bob')
  // A sign-out does not wait for the revocation, so one would have been sent by now.
  t.same(
    next.requests.filter(({ endpoint }) => endpoint === 'revoke'),
    [],
    'neither a sign-out nor the deletion of an account sends one',
  )
  change.setClock(started + 2 * minute)
  next.requests.length = 0
  t.equal((await later.browser.call('POST', '/api/v1/auth/refresh')).status, 200)
  t.equal(next.requests.filter(({ endpoint }) => endpoint === 'token').length, 1, 'a new login is refreshed')
})

t.test('While sign-up is closed, a moved user can sign in, and a stranger cannot', async (t) => {
  const change = await openChange(t)
  await change.start(change.old)
  const { userId } = await change.signIn('ada')
  await change.start(change.next, { SIGN_UP: 'closed', OIDC_ALLOWED_DOMAINS: 'example.org' })
  t.equal((await change.signIn('ada')).location, unmoved, 'the error says that accounts were not moved')
  await change.move()
  t.match(await change.signIn('ada'), { userId, location: '/in' })
  t.match((await change.signIn('eve')).location, /takes%20no%20new%20users/)
  t.match((await change.signIn('ada', { email: 'ada@example.com' })).location, /may%20not%20use/)
})

t.test('A file moves the users that it names by subject or verified address, and no others', async (t) => {
  const change = await openChange(t)
  const { old, next } = change
  await change.start(old)
  const [ada, bob, eve] = [await change.signIn('ada'), await change.signIn('Bob'), await change.signIn('eve')]
  const unverified = await change.signIn('dan', { email_verified: false })
  await change.start(next)

  const strangers = await change.map(['old_subject,new_subject', 'nobody,3'])
  t.match(await change.move('--map', strangers), { code: 0, stdout: /the file names none of the 4 users of/ })

  const subjects = await change.map(['\uFEFFold_subject,new_subject\r', 'ada,"1,""2"""\r', 'nobody,3'])
  const tried = await change.move('--map', subjects, '--dry-run')
  t.match(tried.stdout, `${ada.userId}  "ada@example.org"  becomes the subject "1,\\"2\\""\n`)
  t.match(tried.stdout, `line 3  no user of ${old.issuer} has "nobody"\n`)
  t.match(tried.stdout, `${eve.userId}  "eve@example.org"  stays: the file does not name it\n`)
  t.match(await change.move('--map', subjects), { code: 0, stdout: /^moved 1 user .*; 3 users of \S+ stay\n$/m })
  t.equal((await change.signIn('1,"2"')).userId, ada.userId)
  t.match(await change.doctor(), [{ state: 'warning', says: `4 users, 1 of ${next.issuer}, but 3 of ${old.issuer}` }])

  const addresses = ['old_email,new_email', 'BOB@example.org,wrong@example.com', 'dan@example.org,dan@example.com']
  const byAddress = await change.move('--map', await change.map(addresses))
  t.match(byAddress.stdout, /^moved 1 user /m, 'an unverified address does not count')
  const corrected = await change.map(['old_email,new_email', 'bob@example.org,Robert@example.com'])
  t.match(await change.move('--map', corrected), { code: 0, stdout: /^moved 1 user /m })
  t.match(
    (await change.move('--map', corrected)).stdout,
    /^nothing to do: .*; 1 user of \S+ has not signed in there yet/,
  )
  const claims = { email: 'robert@EXAMPLE.com' }
  t.equal((await change.signIn('b', { ...claims, email_verified: false })).location, unmoved)
  t.equal((await change.signIn('b', claims)).userId, bob.userId)
  t.equal((await change.signIn('b', { email: 'other@example.com' })).userId, bob.userId, 'now the subject counts')
  const stranger = await change.signIn('c', claims)
  t.match(stranger.location, '/in')
  t.notSame(stranger.userId, bob.userId, 'an account is assigned once')
  t.match(await change.doctor(), [{ says: `5 users, 3 of ${next.issuer}, but 2 of ${old.issuer}` }])
  t.ok(unverified.userId)
})

deep(t, 'A contradictory or empty file is refused before the database is read', async (t) => {
  const change = await openChange(t)
  await change.start(change.old)
  await change.signIn('ada')
  const before = await snapshot(change.context())
  const faults: [lines: string[], says: RegExp][] = [
    [['ada,1'], /line 1 must be old_subject or old_email, a comma, and new_subject or new_email/],
    [['old_subject,new_subject', 'ada,1', 'ada,2'], /lines 2 and 3 both have "ada"/],
    [['old_email,new_email', 'a@b.c,x@y.z', 'd@e.f,X@Y.Z'], /lines 2 and 3 both have "x@y.z"/],
    [
      ['old_subject,new_subject', 'ada'],
      /line 2 must have a subject of at most 255 printable ASCII characters, a comma, and a subj/,
    ],
    [['old_subject,new_subject', 'ada,é'], /line 2 must have/],
    [['old_subject,new_email', 'ada,1'], /line 2 must have .* a comma, and an e-mail address/],
  ]
  for (const [lines, says] of faults)
    t.match(await change.move('--map', await change.map(lines)), { code: 1, stdout: '', stderr: says })
  t.match(await change.move('--map', join(change.dataDir, 'none.csv')), { code: 2, stderr: /there is no file/ })
  const { stderr } = await change.move('--no')
  t.match(stderr, /unknown option/)
  t.equal(await snapshot(change.context()), before)
})

/** Makes users of the new provider, as if they had signed in there before the move. */
async function letIn(change: Awaited<ReturnType<typeof openChange>>, ...names: string[]) {
  const [first = '', ...others] = names
  const { database, seal } = change.context()
  const id = uuidv7()
  const profile = { email: `${first}@example.org`, name: '', avatar_url: '', email_verified: 1, created_at: 1 }
  const export_key_sealed = seal.seal(Buffer.alloc(32), { purpose: 'export-key', userId: id, rowId: id })
  const user = { id, issuer: change.next.issuer, subject: first, ...profile, export_key_sealed }
  await database.write((trx) => saveUser(trx, user))
  const signedIn = [await change.signIn(first)]
  for (const name of others) signedIn.push(await change.signIn(name))
  return signedIn
}

t.test('An empty account of the same person is replaced; two with bookmarks are refused by name', async (t) => {
  const change = await openChange(t)
  const { old, next } = change
  await change.start(old)
  const [ada, bob, cy] = [await change.signIn('ada'), await change.signIn('bob'), await change.signIn('cy')]
  for (const { browser } of [ada, cy]) await addBookmark(browser)
  await change.start(next)
  const [ada2, bob2, cy2] = await letIn(change, 'ada', 'bob', 'cy')
  if (!ada2 || !bob2 || !cy2) throw new Error('somebody is missing')
  await replaceKeyring(ada2.browser, 1)
  for (const { browser } of [bob2, cy2]) await addBookmark(browser)

  const before = await snapshot(change.context())
  for (const args of [['--dry-run'], []]) {
    const refused = await change.move(...args)
    t.match(refused, { code: 1, stderr: /^1 user cannot be moved: nothing was changed\b/ })
    t.match(
      refused.stdout,
      `${cy.userId}  "cy@example.org"  cannot be moved: ${cy2.userId}  "cy@example.org" is the same`,
    )
    t.equal(await snapshot(change.context()), before)
  }
  const file = await change.map(['old_subject,new_subject', 'ada,ada', 'bob,bob'])
  const { code, stdout } = await change.move('--map', file)
  t.equal(code, 0)
  t.match(
    stdout,
    `${ada.userId}  "ada@example.org"  becomes the subject "ada", in place of ${ada2.userId}, which is empty`,
  )
  t.match(stdout, `${bob.userId}  "bob@example.org"  is empty and deleted: the same person is ${bob2.userId} at`)
  t.match(stdout, /^moved 1 user .*; deleted 2 empty accounts; 1 user of \S+ stays$/m)
  t.equal((await ada2.browser.call('GET', '/api/v1/bookmarks')).status, 401, 'its sessions have ended')
  const [adaNow, bobNow] = [await change.signIn('ada'), await change.signIn('bob')]
  t.same([adaNow.userId, bobNow.userId], [ada.userId, bob2.userId])
  t.same([await countBookmarks(adaNow.browser), await countBookmarks(bobNow.browser)], [1, 1])
})

t.test('A disabled user stays disabled, and cannot get the account back through another one', async (t) => {
  const change = await openChange(t)
  await change.start(change.old)
  const [ada, bob] = [await change.signIn('ada'), await change.signIn('bob')]
  const disable = (id: string) =>
    change.context().database.db.updateTable('users').set({ disabled_at: 1 }).where('id', '=', id).execute()
  await disable(bob.userId)
  await change.start(change.next)
  const [ada2] = await letIn(change, 'ada')
  await disable(String(ada2?.userId))
  const refused = await change.move()
  t.match(refused, { code: 1, stdout: /ada@example\.org" is the same person at \S+, and one of the two is disabled/ })
  t.ok(ada.userId)
  await change.move('--map', await change.map(['old_subject,new_subject', 'bob,bob']))
  t.match((await change.signIn('bob')).location, /Account%20is%20disabled/)
})

t.test('If all earlier users are disabled or deleted, people can sign up at a new provider', async (t) => {
  const change = await openChange(t)
  await change.start(change.old)
  const [ada, bob] = [await change.signIn('ada'), await change.signIn('bob')]
  const app = await change.start(change.next)
  t.equal((await change.signIn('eve')).location, unmoved)
  await app.context.database.db.updateTable('users').set({ disabled_at: 1 }).where('id', '=', ada.userId).execute()
  t.equal((await bob.browser.call('GET', '/api/v1/bookmarks')).status, 200)
  await startCommand(t, 'admin', ['delete', bob.userId, '--yes'], {
    DATA_DIR: change.dataDir,
    DATABASE_URL: await databaseUrl(change.dataDir),
  }).result
  t.equal((await change.signIn('eve')).location, '/in')
})

t.test('A misspelt issuer, or one without users, is reported with the existing ones', async (t) => {
  const change = await openChange(t)
  await change.start(change.old)
  await change.signIn('ada')
  const wrong = await startCommand(t, 'admin', ['move-issuer', 'https://a.example', 'https://b.example'], {
    DATA_DIR: change.dataDir,
    DATABASE_URL: await databaseUrl(change.dataDir),
  }).result
  t.match(wrong, {
    code: 1,
    stdout: `nothing to do: no users of https://a.example (users: 1 of ${change.old.issuer})\n`,
    stderr: new RegExp(`did you mean .*move-issuer ${change.old.issuer} https://b.example`),
  })
  for (const [args, says] of [
    [['a', 'https://b.example'], /a is not an issuer/],
    [['https://b.example', 'https://b.example'], /are the same/],
    [['https://b.example'], /missing required argument/],
  ] as const) {
    const { code, stderr } = await startCommand(t, 'admin', ['move-issuer', ...args], { DATA_DIR: change.dataDir })
      .result
    t.match([code, stderr], [2, says])
  }
})
