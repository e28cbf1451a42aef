import { hash as hashOf } from 'node:crypto'
import t from 'tap'
import { parse } from 'uuid'
import type { Context } from '../../src/service/context.ts'
import { openDevice } from '../realtime/device.ts'
import { buildApp, type TestUser } from '../support/app.ts'
import { holdIntervals } from '../support/intervals.ts'
import { countPerTurn } from '../support/per-turn.ts'
import { watchRows } from '../support/rows-looked-at.ts'

const limits = { logins: 1000, sessions: 32 }

/** The text of the token number `index` of a login. The refresh token has the number `ofRefresh`. */
function tokenOf({ userId }: Pick<TestUser, 'userId'>, login: number, index: number): string {
  return Buffer.concat([parse(userId), Buffer.alloc(15, `${login} `), Buffer.of(index)]).toString('base64url')
}

const ofRefresh = 255

/** Each login gets a token, because a login without one is swept. */
async function addLogins({ database: { db } }: Context, { userId }: TestUser, count: number, createdAt: number) {
  const logins = Array.from({ length: count }, (_, index) => ({
    id: `login-${index}`,
    user_id: userId,
    provider_token_sealed: null,
    checked_at: 0,
    created_at: createdAt + index,
    user_agent: '',
    last_used_at: createdAt,
  }))
  const tokens = logins.map(({ id, created_at }, index) => ({
    hash: hashOf('sha256', tokenOf({ userId }, index, ofRefresh), 'base64url'),
    kind: 'refresh' as const,
    user_id: userId,
    login_id: id,
    issued_at: created_at,
    expires_at: created_at + 3_600_000,
  }))
  for (let done = 0; done < count; done += 100) {
    const next = [done, done + 100] as const
    await db.transaction().execute(async (trx) => {
      await trx
        .insertInto('logins')
        .values(logins.slice(...next))
        .execute()
      await trx
        .insertInto('tokens')
        .values(tokens.slice(...next))
        .execute()
    })
  }
}

async function loginsOf({ database: { db } }: Context, { userId }: TestUser): Promise<Set<string>> {
  const rows = await db.selectFrom('logins').select('id').where('user_id', '=', userId).execute()
  return new Set(rows.map(({ id }) => id))
}

t.test(`A user has at most ${limits.logins} logins: another one ends the oldest with its sockets`, async (t) => {
  holdIntervals(t)
  const app = await buildApp(t)
  const [bob, first] = [await app.user('bob'), await app.user('ada')]
  const socket = await openDevice(t, await app.listen(), first)
  await addLogins(app.context, first, limits.logins - 1, Date.now() + 1000)
  app.setClock(Date.now() + 10_000)
  const second = await app.user('ada')
  const left = await loginsOf(app.context, first)
  t.equal(left.size, limits.logins)
  t.same(
    [first.loginId, 'login-0', second.loginId].map((id) => left.has(id)),
    [false, true, true],
  )
  t.same((await first.call('GET', '/api/v1/bookmarks')).body, { error: 'Invalid or expired session' })
  const refresh = { headers: { cookie: `service_refresh=${first.refresh}` } }
  t.equal((await app.call('POST', '/api/v1/auth/refresh', refresh)).status, 401)
  t.equal(await socket.closeCode, 4401, 'the socket is closed before the next sweep')
  for (const user of [second, bob]) t.equal((await user.call('GET', '/api/v1/bookmarks')).status, 200)

  app.setClock(Date.now() - 86_400_000)
  const third = await app.user('ada')
  t.equal(
    (await third.call('GET', '/api/v1/bookmarks')).status,
    200,
    'the new login stays, even if the clock was set back',
  )
})

t.test(`A login has at most ${limits.sessions} session tokens: another token ends the oldest one`, async (t) => {
  const { context, user, call } = await buildApp(t)
  const ada = await user('ada')
  const { db } = context.database
  const soon = Date.now() + 3_600_000
  const tokens = Array.from({ length: limits.sessions }, (_, index) => ({
    hash: `hash-${index}`,
    kind: 'session' as const,
    user_id: ada.userId,
    login_id: ada.loginId,
    issued_at: Date.now() - index,
    expires_at: soon,
  }))
  await db.insertInto('tokens').values(tokens).execute()
  const refresh = () => call('POST', '/api/v1/auth/refresh', { headers: { cookie: `service_refresh=${ada.refresh}` } })
  const { headers } = await refresh()
  const [cookie = ''] = String(headers['set-cookie']).split(';')
  t.equal((await call('GET', '/api/v1/bookmarks', { headers: { cookie } })).status, 200)
  const left = await db.selectFrom('tokens').select(['hash', 'kind']).where('login_id', '=', ada.loginId).execute()
  const hashes = new Set(left.filter(({ kind }) => kind === 'session').map(({ hash }) => hash))
  t.equal(hashes.size, limits.sessions)
  t.same([hashes.has('hash-0'), hashes.has(`hash-${limits.sessions - 1}`)], [true, false])
  t.equal((await refresh()).status, 200, 'the refresh token stays valid')
})

/** Adds the most session tokens to each login that `addLogins` has made. */
async function addSessions({ database: { db } }: Context, user: TestUser, logins: number): Promise<void> {
  for (let login = 0; login < logins; login++) {
    const tokens = Array.from({ length: limits.sessions }, (_, index) => ({
      hash: hashOf('sha256', tokenOf(user, login, index), 'base64url'),
      kind: 'session' as const,
      user_id: user.userId,
      login_id: `login-${login}`,
      issued_at: Date.now(),
      expires_at: Date.now() + 3_600_000,
    }))
    await db.insertInto('tokens').values(tokens).execute()
  }
}

const logins = 60
const ends: Record<string, (user: TestUser) => ReturnType<TestUser['call']>> = {
  logout: (user) => {
    // The most cookies of a request, each of another login.
    const cookies = Array.from({ length: 16 }, (_, index) => [
      `service_session=${tokenOf(user, index, 0)}`,
      `service_refresh=${tokenOf(user, 16 + index, ofRefresh)}`,
    ])
    return user.call('POST', '/api/v1/auth/logout', { headers: { cookie: cookies.flat().join('; ') } })
  },
  endOtherSessions: (user) => user.call('DELETE', '/api/v1/account/sessions'),
  deleteAccount: (user) => user.call('DELETE', '/api/v1/account'),
}

for (const [name, end] of Object.entries(ends)) {
  t.test(`${name} ends many logins with many tokens in several turns of the event loop`, async (t) => {
    holdIntervals(t)
    const { context, user } = await buildApp(t)
    const ada = await user('ada')
    await addLogins(context, ada, logins, Date.now())
    await addSessions(context, ada, logins)
    const rows = countPerTurn(t)
    watchRows(t, (looked) => rows.add(looked.rows))
    t.equal((await end(ada)).status, 200)
    t.ok(rows.most < 1000, `at most ${rows.most} of ${rows.all} rows in a turn`)
  })
}
