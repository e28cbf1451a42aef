import t from 'tap'
import { addBookmark, countBookmarks, openChange } from './issuer-change.ts'

/** `ebs admin move-issuer` at the same time as other writes. */

t.test('A running refresh at the old provider does not store its token after the move', async (t) => {
  const change = await openChange(t)
  const { old, next } = change
  await change.start(old)
  const { browser } = await change.signIn('ada')
  const started = Date.now()
  change.setClock(started + 120_000)
  const moved = Promise.withResolvers<void>()
  const asked = new Promise<void>((resolve) => {
    old.before = (endpoint) => {
      if (endpoint !== 'token') return
      resolve()
      return moved.promise
    }
  })
  const refreshed = browser.call('POST', '/api/v1/auth/refresh')
  await asked
  t.match(await change.move(), { code: 0, stdout: /^moved 1 user / })
  moved.resolve()
  t.equal((await refreshed).status, 200)
  await change.start(next)
  change.setClock(started + 240_000)
  t.equal((await browser.call('POST', '/api/v1/auth/refresh')).status, 200)
  t.notOk(next.requests.some(({ endpoint }) => endpoint === 'token'))
  change.setClock(Date.now() + 86_400_000)
  t.equal((await browser.call('POST', '/api/v1/auth/refresh')).status, 401)
})

t.test('Hundreds of users, some known at both issuers, are moved while one of them writes', async (t) => {
  const change = await openChange(t)
  const { old, next } = change
  await change.start(old)
  const ada = await change.signIn('ada')
  await change.start(next)
  const { database } = change.context()
  const profile = { email: '', name: '', avatar_url: '', email_verified: 0, created_at: 1, export_key_sealed: '' }
  const users = Array.from({ length: 320 }, (_, n) => ({
    ...profile,
    id: `user ${n}`,
    issuer: old.issuer,
    subject: `s${n}`,
  }))
  await database.db.insertInto('users').values(users).execute()
  const identities = users.map(({ id, subject }) => ({ issuer: old.issuer, subject, user_id: id }))
  await database.db.insertInto('identities').values(identities).execute()
  const both = identities.slice(0, 20).map((identity) => ({ ...identity, issuer: next.issuer }))
  await database.db.insertInto('identities').values(both).execute()
  t.match(await change.doctor(), [{ says: `321 users, 20 of ${next.issuer}, but 301 of ${old.issuer}` }])

  let [over, writes] = [false, 0]
  const writing = (async () => {
    for (; !over; writes += 1) await addBookmark(ada.browser)
  })()
  const [one, other] = await Promise.all([change.move(), change.move()])
  over = true
  await writing
  t.same([one?.code, other?.code], [0, 0], `${one?.stderr}${other?.stderr}`)
  t.ok(writes > 0)
  const left = (table: 'users' | 'identities') =>
    database.db.selectFrom(table).select('subject').where('issuer', '=', old.issuer).execute()
  t.same([await left('users'), await left('identities')], [[], []])
  const rows = await database.db.selectFrom('identities').selectAll().where('issuer', '=', next.issuer).execute()
  t.equal(rows.length, 321)
  t.same(
    rows.filter(({ user_id, subject }) => user_id !== ada.userId && user_id !== subject.replace('s', 'user ')),
    [],
  )
  t.equal((await change.signIn('ada')).userId, ada.userId)
  t.equal(await countBookmarks(ada.browser), writes)
})
