import { sql } from 'kysely'
import pg from 'pg'
import t, { type Test } from 'tap'
import { inOrder, query } from '../../src/service/db/engine/query.ts'
import { openDevice } from '../realtime/device.ts'
import { buildApp, type TestApp, type TestUser } from '../support/app.ts'
import { change } from '../support/changes.ts'
import { databaseUrl, isPostgres } from '../support/database-url.ts'
import { until } from '../support/until.ts'

if (!isPostgres) t.comment('SQLite has no pool: `npm test` runs this file on Postgres')
else {
  t.test('40 writes of one user wait for a lock on two connections; others read and write meanwhile', async (t) => {
    const app = await buildApp(t)
    const [ada, hersElsewhere, bob] = [await app.user('ada'), await app.user('ada'), await app.user('bob')]
    const device = await openDevice(t, await app.listen(), bob)
    const locks = await holdLocks(t, app, [ada])

    const writes = [...Array(12).keys()].flatMap((index) => [
      push(ada, `pushed-${index}`),
      ada.call('POST', '/api/v1/bookmarks', { body: { encrypted_data: 'data', data_hash: 'hash' } }),
      setExportKey(ada),
    ])
    // As many as may read at a time: a pull's write keeps its cursor.
    writes.push(...['a', 'b', 'c', 'd'].map((deviceId) => pull(ada, deviceId)))
    await until(async () => (await locks.waiting()) + app.context.database.load().waiting >= writes.length)
    t.same(statuses(await requestsOf(bob)), [200], 'his requests are answered')
    t.same(await device.takeEntities('live'), ['live'], 'his other device is told')
    t.equal(await locks.waiting(), 2, 'her writes hold two connections')

    const signIns = [app.user('ada'), app.user('ada'), app.user('ada')]
    await until(async () => (await locks.waiting()) > 2)
    t.same(statuses(await requestsOf(bob)), [200])
    t.equal(await locks.waiting(), 4, 'and her sign-ins two more')
    t.equal((await hersElsewhere.call('POST', '/api/v1/auth/logout')).status, 200, 'signing out waits for none of them')

    await locks.release()
    t.same(statuses(await Promise.all(writes)), [200, 201], 'all are done in the end')
    await Promise.all(signIns)
    t.same(app.context.database.load().waiting, 0)
  })

  t.test('However many users wait for locks, connections are left for reads and for the service itself', async (t) => {
    const app = await buildApp(t)
    const users = await Promise.all(Array.from({ length: 10 }, (_, index) => app.user(`user-${index}`)))
    const [ada] = users as [TestUser]
    const locks = await holdLocks(t, app, users)
    const writes = users.flatMap((user) => [push(user, 'a'), setExportKey(user), setExportKey(user)])
    await until(async () => (await locks.waiting()) + app.context.database.load().waiting >= writes.length)
    const reads = ['/api/v1/auth/session', '/api/v1/bookmarks', '/api/v1/sync/status', '/api/v1/exports']
    t.same(statuses(await Promise.all(reads.map((path) => ada.call('GET', path)))), [200])
    await app.context.database.write(async () => {})
    t.equal(await locks.waiting(), 12, 'of the pool’s 20')
    await locks.release()
    t.same(statuses(await Promise.all(writes)), [200])
  })

  t.test(
    'Of steps that are taken at once, the statement that failed is told, not those that were refused then',
    async (t) => {
      const { database } = (await buildApp(t)).context
      const [right, wrong] = [query(() => sql`select 1`), query(() => sql`select 1 / 0`)]
      const written = database.write((trx) => {
        const twice = async () => [await right.run(trx, {}), await right.run(trx, {})]
        return inOrder(trx, [twice, async () => wrong.run(trx, {})])
      })
      await t.rejects(written, { code: '22012' })
    },
  )
}

/** From a connection of its own, as another instance may hold them. */
async function holdLocks(t: Test, { dataDir }: TestApp, users: TestUser[]) {
  const client = new pg.Client({ connectionString: await databaseUrl(dataDir) })
  await client.connect()
  t.teardown(() => client.end())
  await client.query('BEGIN')
  await client.query('SELECT id FROM users WHERE id = ANY($1) FOR NO KEY UPDATE', [users.map(({ userId }) => userId)])
  return {
    /** The connections that wait for a lock. */
    async waiting(): Promise<number> {
      const { rows } = await client.query(`
        SELECT count(*)::integer AS count FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'`)
      // Otherwise a transaction sees the same statistics again and again.
      await client.query('SELECT pg_stat_clear_snapshot()')
      return rows[0].count
    },
    release: () => client.query('COMMIT'),
  }
}

const push = (user: TestUser, entity_id: string) =>
  user.call('POST', '/api/v1/sync/push', { body: { changes: [change({ entity_id })] } })

const setExportKey = (user: TestUser) =>
  user.call('PUT', '/api/v1/account/export-key', { body: { key: Buffer.alloc(32).toString('base64') } })

const pull = (user: TestUser, deviceId: string) =>
  user.call('POST', '/api/v1/sync/pull', { headers: { 'x-device-id': deviceId } })

async function requestsOf(user: TestUser) {
  return Promise.all([
    push(user, 'live'),
    pull(user, 'device-b'),
    user.call('GET', '/api/v1/bookmarks'),
    user.call('GET', '/api/v1/sync/status'),
    user.call('POST', '/api/v1/auth/refresh', { headers: { cookie: `service_refresh=${user.refresh}` } }),
  ])
}

/** Each status once, in order. */
function statuses(answers: { status: number }[]): number[] {
  return [...new Set(answers.map(({ status }) => status))].sort()
}
