import { sql } from 'kysely'
import pg from 'pg'
import t, { type Test } from 'tap'
import type { Db } from '../../src/service/db/engine/database.ts'
import { openPostgres } from '../../src/service/db/engine/postgres/open.ts'
import { inOrder, query } from '../../src/service/db/engine/query.ts'
import { openDatabase } from '../../src/service/db/open.ts'
import { openDevice } from '../realtime/device.ts'
import { buildApp, type TestApp, type TestUser } from '../support/app.ts'
import { change, pullAll, pushEntities } from '../support/changes.ts'
import { runCommand } from '../support/command.ts'
import { databaseUrl } from '../support/database-url.ts'
import { holdClock, holdIntervals } from '../support/intervals.ts'
import { silent } from '../support/log.ts'
import { startPgbouncer } from '../support/pgbouncer.ts'
import { folder } from '../support/service.ts'
import { until } from '../support/until.ts'
import { startLink } from './link.ts'

/** The smallest allowed size of a pool. */
const connections = 5

// The service itself makes no query while a test counts locks, or breaks a connection.
holdIntervals(t)

t.test('While 40 writes of a user wait for a lock on two connections, other users read and write', async (t) => {
  // Stops the clock, because a request that waits 10 s is refused.
  holdClock(t)
  const app = await buildApp(t)
  const [ada, hersElsewhere, bob] = [await app.user('ada'), await app.user('ada'), await app.user('bob')]
  const device = await openDevice(t, await app.listen(), bob)
  const locks = await holdLocks(t, app, [ada])

  const writes = [...Array(12).keys()].flatMap((index) => [
    pushEntities(ada, `pushed-${index}`),
    ada.call('POST', '/api/v1/bookmarks', { body: { encrypted_data: 'data', data_hash: 'hash' } }),
    setExportKey(ada),
  ])
  // A pull writes its cursor, so it waits for the lock, too.
  writes.push(...['a', 'b', 'c', 'd'].map((deviceId) => pull(ada, deviceId)))
  await until(async () => (await locks.waiting()) + app.context.database.load().waiting >= writes.length)
  t.same(statuses(await requestsOf(bob)), [200], 'his requests are answered')
  t.same(await device.takeEntities('live'), ['live'], 'his other device receives the change')
  t.equal(await locks.waiting(), 2, 'her writes hold two connections')

  const signIns = [app.user('ada'), app.user('ada'), app.user('ada')]
  await until(async () => (await locks.waiting()) >= 4)
  t.same(statuses(await requestsOf(bob)), [200])
  t.equal(await locks.waiting(), 4, 'her sign-ins hold two more')
  t.equal((await hersElsewhere.call('POST', '/api/v1/auth/logout')).status, 200, 'a sign-out waits for none of them')

  await locks.release()
  t.same(statuses(await Promise.all(writes)), [200, 201], 'all writes succeed in the end')
  await Promise.all(signIns)
  t.same(app.context.database.load().waiting, 0)
})

t.test('Writes waiting for locks leave connections for reads and for the service itself', async (t) => {
  holdClock(t)
  const app = await buildApp(t)
  const users = await Promise.all(Array.from({ length: 10 }, (_, index) => app.user(`user-${index}`)))
  const [ada] = users as [TestUser]
  const locks = await holdLocks(t, app, users)
  const writes = users.flatMap((user) => [pushEntities(user, 'a'), setExportKey(user), setExportKey(user)])
  await until(async () => (await locks.waiting()) + app.context.database.load().waiting >= writes.length)
  const reads = ['/api/v1/auth/session', '/api/v1/bookmarks', '/api/v1/sync/status', '/api/v1/exports']
  t.same(statuses(await Promise.all(reads.map((path) => ada.call('GET', path)))), [200])
  await app.context.database.write(async () => {})
  t.equal(await locks.waiting(), 12, '12 of the 20 connections of the pool')
  await locks.release()
  t.same(statuses(await Promise.all(writes)), [200])
})

t.test('When a pipelined statement fails, its error is reported, not those of the ones after it', async (t) => {
  const { database } = (await buildApp(t)).context
  const [right, wrong] = [query(() => sql`select 1`), query(() => sql`select 1 / 0`)]
  const written = database.write((trx) => {
    const twice = async () => [await right.run(trx, {}), await right.run(trx, {})]
    return inOrder(trx, [twice, async () => wrong.run(trx, {})])
  })
  await t.rejects(written, { code: '22012' })
})

/** Locks these users' rows from a separate connection, as another instance may do. */
async function holdLocks(t: Test, { dataDir }: TestApp, users: TestUser[]) {
  const client = new pg.Client({ connectionString: await databaseUrl(dataDir) })
  await client.connect()
  t.teardown(() => client.end())
  await client.query('BEGIN')
  await client.query('SELECT id FROM users WHERE id = ANY($1) FOR NO KEY UPDATE', [users.map(({ userId }) => userId)])
  return {
    /** Counts the connections that wait for a lock. */
    async waiting(): Promise<number> {
      const { rows } = await client.query(`
        SELECT count(*)::integer AS count FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'`)
      // Otherwise this transaction would see the same statistics every time.
      await client.query('SELECT pg_stat_clear_snapshot()')
      return rows[0].count
    },
    release: () => client.query('COMMIT'),
  }
}

const setExportKey = (user: TestUser) =>
  user.call('PUT', '/api/v1/account/export-key', { body: { key: Buffer.alloc(32).toString('base64') } })

const pull = (user: TestUser, deviceId: string) =>
  user.call('POST', '/api/v1/sync/pull', { headers: { 'x-device-id': deviceId } })

async function requestsOf(user: TestUser) {
  return Promise.all([
    pushEntities(user, 'live'),
    pull(user, 'device-b'),
    user.call('GET', '/api/v1/bookmarks'),
    user.call('GET', '/api/v1/sync/status'),
    user.call('POST', '/api/v1/auth/refresh', { headers: { cookie: `service_refresh=${user.refresh}` } }),
  ])
}

/** The distinct statuses, sorted. */
function statuses(answers: { status: number }[]): number[] {
  return [...new Set(answers.map(({ status }) => status))].sort()
}

t.test('Starts, parallel pushes, sweeps and notices work through PgBouncer in transaction mode', async (t) => {
  const dataDir = await folder(t)
  const direct = await databaseUrl(dataDir)
  const pooler = await startPgbouncer(t, direct)
  if (!pooler) return t.comment('SKIPPED: no PgBouncer here')
  const env = { DATABASE_URL: pooler, PULSE_DATABASE_URL: direct }
  const { app, user, context } = await buildApp(t, env, { dataDir })
  const ada = await user('ada')
  const names = Array.from({ length: 40 }, (_, index) => `e${index}`)
  const pushes = names.map((entity_id) => {
    const body = { changes: [change({ entity_id, device_id: entity_id })] }
    return ada.call('POST', '/api/v1/sync/push', { body, headers: { 'x-device-id': entity_id } })
  })
  t.same(new Set((await Promise.all(pushes)).map(({ status }) => status)), new Set([200]))
  t.same((await pullAll(ada)).changes.map(({ entity_id }) => entity_id).sort(), names.sort())
  t.match((await app.inject('/readyz')).json(), { status: /healthy|degraded/ })

  const { database } = context
  const settings = await database.write((trx) =>
    sql`select current_setting('statement_timeout') as statement, current_setting('lock_timeout') as lock,
      current_setting('synchronous_commit') as commit`.execute(trx),
  )
  t.same(settings.rows, [{ statement: '30s', lock: '15s', commit: 'on' }])
  let ran = 0
  const count = async () => {
    ran += 1
  }
  await database.exclusively('test', () => database.exclusively('test', count))
  t.equal(ran, 0, 'a held lock is not given to another instance')
  await database.exclusively('test', count)
  t.equal(ran, 1)

  const listed = await runCommand(t, 'admin', ['users'], { ...env, DATA_DIR: dataDir })
  t.match(listed, { code: 0, stderr: '', stdout: ada.userId }, 'an admin command uses the direct connection')

  await t.rejects(openDatabase(pooler, silent, { waitMs: 60_000 }), {
    name: 'ConfigError',
    message: /^DATABASE_URL: the database cannot be used \(.+\): for a pooler, set PULSE_DATABASE_URL, too$/,
  })
})

t.test('A start fails if PULSE_DATABASE_URL is another database or cannot be used', async (t) => {
  const [url, other] = [await databaseUrl(await folder(t)), new URL(await databaseUrl(await folder(t)))]
  const open = (directUrl: string) => openDatabase(url, silent, { directUrl })
  await t.rejects(open(other.href), {
    name: 'ConfigError',
    message: 'PULSE_DATABASE_URL: this is another database than that of DATABASE_URL',
  })
  const client = new pg.Client({ connectionString: other.href })
  await client.connect()
  t.teardown(() => client.end())
  t.equal(
    (await client.query(`select from pg_tables where schemaname = 'public'`)).rowCount,
    0,
    'no table is created there',
  )
  other.pathname = '/nowhere'
  await t.rejects(open(other.href), { message: /^PULSE_DATABASE_URL: .*"nowhere" does not exist/ })
  await t.rejects(openDatabase(other.href, silent, { directUrl: url }), { message: /^DATABASE_URL: .*"nowhere"/ })
  await (await open(`${url}?application_name=direct`)).close()
})

const { user, context } = await buildApp(t)
const { db } = context.database
const ada = await user('ada')

t.test('Prepared statements keep working while a newer version adds a column to every table', async (t) => {
  t.same(await statusesOf(ada), succeeded)
  for (const { name } of await db.introspection.getTables())
    await sql`alter table ${sql.table(name)} add column added_later text`.execute(db)
  t.same(await statusesOf(ada), succeeded)
})

t.test('A large push gets its own query plans, because the plan for small pushes would be slow for it', async (t) => {
  const { user, context } = await buildApp(t, { DATABASE_POOL_SIZE: `${connections}` })
  const { db } = context.database
  const ben = await user('ben')
  const push = (length: number) => {
    const changes = Array.from({ length }, (_, index) => change({ entity_id: `x${index}` }))
    return ben.call('POST', '/api/v1/sync/push', { body: { changes } })
  }
  // Postgres may use a generic plan from the sixth run on a connection. A single change uses another statement.
  await until(async () => {
    await push(2)
    return (await keptPlansUsed(db)) > 0
  })
  const before = await keptPlansUsed(db)
  t.match((await push(500)).body, { conflicts: [], accepted: 500 })
  t.equal(await keptPlansUsed(db), before)
})

t.test('A connection that lost its prepared statements is replaced', async (t) => {
  t.same(await statusesOf(ada), succeeded)
  await sql`deallocate all`.execute(db)
  const [first] = await statusesOf(ada)
  t.equal(first, 503, 'the session could not be looked up')
  t.same(await statusesOf(ada), succeeded)
})

t.test("A connection is replaced if a column's new type makes its prepared statements invalid", async (t) => {
  t.same(await statusesOf(ada), succeeded)
  await sql`alter table tokens alter column user_id type varchar`.execute(db)
  const [first] = await statusesOf(ada)
  t.equal(first, 503, 'the session could not be looked up')
  // Each connection fails once before it is replaced.
  for (let replaced = 1; replaced < connections; replaced++) await statusesOf(ada)
  t.same(await statusesOf(ada), succeeded)
})

/** How often all connections used the generic plan to look up records. Each connection knows only its own plans. */
async function keptPlansUsed(db: Db): Promise<number> {
  const all = Promise.withResolvers<void>()
  let taken = 0
  const ask = () =>
    db.connection().execute(async (one) => {
      if (++taken === connections) all.resolve()
      await all.promise
      const { rows } = await sql<{ used: number }>`
        select sum(generic_plans)::int as used from pg_prepared_statements where statement like '%join records%'`.execute(
        one,
      )
      return rows[0]?.used ?? 0
    })
  const used = await Promise.all(Array.from({ length: connections }, ask))
  return used.reduce((sum, own) => sum + own, 0)
}

const succeeded = [200, 200, 200, 200, 200]

/** The statuses of reads and writes, sent one after another so that they share a connection. */
async function statusesOf(user: TestUser): Promise<number[]> {
  const requests: [method: string, path: string, body?: object][] = [
    ['GET', '/api/v1/bookmarks'],
    ['POST', '/api/v1/sync/push', { changes: [change({ entity_id: 'x', timestamp: Date.now() })] }],
    ['POST', '/api/v1/sync/pull', {}],
    ['PUT', '/api/v1/bookmarks/x', { encrypted_data: 'data', data_hash: 'hash' }],
    ['GET', '/api/v1/sync/status'],
  ]
  const found = []
  for (const [method, path, body] of requests) {
    const headers = { 'x-device-id': 'device-a' }
    found.push((await user.call(method, path, { headers, ...(body && { body }) })).status)
  }
  return found
}

const url = await databaseUrl(await folder(t))
const asking = (setting: string) => `${url}?options=-c%20synchronous_commit%3D${setting}`

t.test('Commits wait for the disk on every connection, even if the database or the URL says otherwise', async (t) => {
  const settings = ['off', 'local', 'remote_write', 'on', 'remote_apply']
  const used = await Promise.all(settings.map((setting) => settingOf(asking(setting))))
  t.same(used, ['on', 'on', 'on', 'on', 'remote_apply'])
})

t.test('A start fails if synchronous_commit cannot be turned on', async (t) => {
  const link = await startLink(t, new URL(asking('off')), meddle)
  await t.rejects(openDatabase(link, silent), {
    name: 'ConfigError',
    message: 'DATABASE_URL: synchronous_commit stays off, so confirmed writes could be lost',
  })
})

t.test('A database that cannot store every character is refused', async (t) => {
  const name = `latin_${process.pid}`
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  t.teardown(async () => {
    await client.query(`drop database ${name} with (force)`)
    await client.end()
  })
  await client.query(`create database ${name} encoding 'LATIN1' locale 'C' template template0`)
  await t.rejects(openDatabase(url.replace(/[^/]*$/, name), silent), {
    name: 'ConfigError',
    message: "DATABASE_URL: the database has the encoding LATIN1; create it with ENCODING 'UTF8'",
  })
})

async function settingOf(url: string): Promise<string | undefined> {
  const { db, close } = openPostgres(url, silent)
  try {
    const { rows } = await sql<{ synchronous_commit: string }>`show synchronous_commit`.execute(db)
    return rows[0]?.synchronous_commit
  } finally {
    await close()
  }
}

/** Changes `= on` to `=off` on the way, like a pooler that runs each statement in another session. */
function meddle(data: Buffer): Buffer {
  return Buffer.from(data.toString('latin1').replace('= on', '=off'), 'latin1')
}
