import t from 'tap'
import type { Context } from '../../src/service/context.ts'
import { openDevice } from '../realtime/device.ts'
import { buildApp, type TestUser } from '../support/app.ts'
import { holdIntervals } from '../support/intervals.ts'

const limit = 1000

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
  const tokens = logins.map(({ id, created_at }) => ({
    hash: `hash-${id}`,
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

t.test(`A user has at most ${limit} logins: another one ends the oldest with its sockets`, async (t) => {
  holdIntervals(t)
  const app = await buildApp(t)
  const [bob, first] = [await app.user('bob'), await app.user('ada')]
  const socket = await openDevice(t, await app.listen(), first)
  await addLogins(app.context, first, limit - 1, Date.now() + 1000)
  app.setClock(Date.now() + 10_000)
  const second = await app.user('ada')
  const left = await loginsOf(app.context, first)
  t.equal(left.size, limit)
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

t.test(`A login has at most ${limit} session tokens: another token ends the oldest one`, async (t) => {
  const { context, user, call } = await buildApp(t)
  const ada = await user('ada')
  const { db } = context.database
  const soon = Date.now() + 3_600_000
  const tokens = Array.from({ length: limit }, (_, index) => ({
    hash: `hash-${index}`,
    kind: 'session' as const,
    user_id: ada.userId,
    login_id: ada.loginId,
    issued_at: Date.now() - index,
    expires_at: soon,
  }))
  for (let done = 0; done < limit; done += 100) {
    await db
      .insertInto('tokens')
      .values(tokens.slice(done, done + 100))
      .execute()
  }
  const refresh = () => call('POST', '/api/v1/auth/refresh', { headers: { cookie: `service_refresh=${ada.refresh}` } })
  const { headers } = await refresh()
  const [cookie = ''] = String(headers['set-cookie']).split(';')
  t.equal((await call('GET', '/api/v1/bookmarks', { headers: { cookie } })).status, 200)
  const left = await db.selectFrom('tokens').select(['hash', 'kind']).where('login_id', '=', ada.loginId).execute()
  const hashes = new Set(left.filter(({ kind }) => kind === 'session').map(({ hash }) => hash))
  t.equal(hashes.size, limit)
  t.same([hashes.has('hash-0'), hashes.has(`hash-${limit - 1}`)], [true, false])
  t.equal((await refresh()).status, 200, 'the refresh token stays valid')
})
