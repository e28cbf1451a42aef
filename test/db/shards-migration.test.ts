import { createHash, randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import t from 'tap'
import { v7 as uuidv7 } from 'uuid'
import type { Trx } from '../../src/service/db/engine/database.ts'
import { buildApp } from '../support/app.ts'
import { isPostgres } from '../support/database-url.ts'
import { pick } from '../support/pick.ts'
import { addOldUser, makeOldDatabase } from './old-database.ts'

const [ada, bob] = [uuidv7(), uuidv7()]
/** More than are given their users at once. */
const others = 1100
const later = Date.now() + 3_600_000

const { url, db } = await makeOldDatabase(t, '0009-heartbeat')
const old = await db.transaction().execute(async (trx) => {
  for (const id of [ada, bob]) await addOldUser(trx, id)
  const logins = {
    ada: await addOldLogin(trx, ada),
    lasting: await addOldLogin(trx, ada),
    bob: await addOldLogin(trx, bob),
  }
  const rows = Array.from(
    { length: others },
    (_, n) => sql`(${`other ${n}`}, 'session', ${logins.bob.id}, 0, ${later})`,
  )
  for (let done = 0; done < others; done += 100)
    await sql`insert into tokens (hash, kind, login_id, issued_at, expires_at)
      values ${sql.join(rows.slice(done, done + 100))}`.execute(trx)
  return logins
})
await db.destroy()
const { call, user, context } = await buildApp(t, { DATABASE_URL: url })

const session = (token: string) =>
  call('GET', '/api/v1/auth/session', { headers: { cookie: `service_session=${token}` } })

t.test('The sessions of an older version go on, and can be refreshed and ended', async (t) => {
  const before = await session(old.ada.session)
  t.match(before, { status: 200, body: { user: { user_id: ada } } })
  const cookie = `service_refresh=${old.ada.refresh}`
  const { status, headers } = await call('POST', '/api/v1/auth/refresh', { headers: { cookie } })
  t.equal(status, 200)
  const token = /service_session=([^;]+)/.exec(String(headers['set-cookie']))?.[1] ?? ''
  t.match(await session(token), { status: 200, body: { user: { user_id: ada } } })
  t.ok(
    Buffer.from(token, 'base64url').toString('hex').startsWith(ada.replaceAll('-', '')),
    'the new token names its user',
  )
  await call('POST', '/api/v1/auth/logout', { headers: { cookie } })
  t.same(pick(await Promise.all([old.ada.session, token, old.lasting.session].map(session)), 'status'), [401, 401, 200])
})

t.test('Each token has its user', async (t) => {
  const { rows } = await sql`select user_id, count(*) as count from tokens group by user_id order by user_id`.execute(
    context.database.db,
  )
  t.same(rows, [
    { user_id: ada, count: 2 },
    { user_id: bob, count: others + 2 },
  ])
})

t.test('Somebody who signs in again is the same user as before', async (t) => {
  t.equal((await user(bob)).userId, bob)
  t.equal((await user(bob)).userId, bob)
  t.not((await user('somebody else')).userId, bob)
})

t.test('A session that an older version begins beside this one is known here', { skip: !isPostgres }, async (t) => {
  const login = await context.database.write((trx) => addOldLogin(trx, bob))
  t.match(await session(login.session), { status: 200, body: { user: { user_id: bob } } })
  await context.database.db
    .updateTable('tokens')
    .set({ expires_at: 1 })
    .where('user_id', '=', bob)
    .where('login_id', '=', login.id)
    .execute()
  t.equal((await session(login.session)).status, 401)
})

async function addOldLogin(trx: Trx, user_id: string) {
  const id = uuidv7()
  await trx.insertInto('logins').values({ id, user_id, checked_at: 0, created_at: 0 }).execute()
  const [session, refresh] = [randomBytes(32), randomBytes(32)].map((bytes) => bytes.toString('base64url')) as [
    string,
    string,
  ]
  await addOldToken(trx, 'session', id, session)
  await addOldToken(trx, 'refresh', id, refresh)
  return { id, session, refresh }
}

async function addOldToken(trx: Trx, kind: string, loginId: string, token: string): Promise<void> {
  const hash = createHash('sha256').update(token).digest('base64url')
  await sql`insert into tokens (hash, kind, login_id, issued_at, expires_at)
    values (${hash}, ${kind}, ${loginId}, 0, ${later})`.execute(trx)
}
