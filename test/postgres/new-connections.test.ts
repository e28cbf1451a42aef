import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import t, { type Test } from 'tap'
import { buildApp } from '../support/app.ts'
import { pushEntities } from '../support/changes.ts'
import { databaseUrl } from '../support/database-url.ts'
import { folder } from '../support/service.ts'
import { until } from '../support/until.ts'

t.test('Without a new connection the service is not ready after 10 s, and requests get 503', async (t) => {
  const dataDir = await folder(t)
  const url = new URL(await databaseUrl(dataDir))
  const admin = new pg.Client({ connectionString: url.href })
  await admin.connect()
  const role = `role_${process.pid}`
  await admin.query(`CREATE ROLE ${role} LOGIN PASSWORD 'before'`)
  await admin.query(`ALTER DATABASE ${admin.database} OWNER TO ${role}`)
  t.teardown(async () => {
    await admin.query(`REASSIGN OWNED BY ${role} TO CURRENT_USER`)
    await admin.query(`DROP ROLE ${role}`)
    await admin.end()
  })
  Object.assign(url, { username: role, password: 'before' })
  const pass = skipTime(t)
  const { app, user, context } = await buildApp(t, { DATABASE_URL: url.href }, { dataDir })
  const ada = await user('ada')
  const isUp = () => context.health.components().database
  const idle = () => context.database.load().idle

  const refusals = {
    [`ALTER ROLE ${role} PASSWORD 'after'`]: `ALTER ROLE ${role} PASSWORD 'before'`,
    [`ALTER ROLE ${role} NOLOGIN`]: `ALTER ROLE ${role} LOGIN`,
    [`ALTER ROLE ${role} CONNECTION LIMIT 0`]: `ALTER ROLE ${role} CONNECTION LIMIT -1`,
  }
  for (const [refuse, permit] of Object.entries(refusals)) {
    await admin.query(refuse)
    await closeIdle()
    const { status, headers } = await pushEntities(ada, 'meanwhile')
    t.match([status, headers['retry-after']], [503, /^\d+$/], refuse)
    pass(11)
    await until(() => !isUp())
    t.equal((await app.inject('/readyz')).statusCode, 503, refuse)
    await admin.query(permit)
    await until(isUp)
    await until(async () => (await app.inject('/readyz')).statusCode === 200)
    t.equal((await pushEntities(ada, refuse)).status, 200, permit)
  }

  await admin.query(`ALTER ROLE ${role} CONNECTION LIMIT 0`)
  t.ok(idle() > 0)
  pass(11)
  await sleep(2_500)
  t.ok(isUp(), 'while all connections are taken, those of the pool keep it ready')

  /** Ends the connections of the pool, but not those that listen or probe. */
  async function closeIdle() {
    await admin.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE usename = $1 AND query !~* '^(listen|update .heartbeat)'`,
      [role],
    )
    await until(() => idle() === 0)
  }
})

/** Returns a function that lets seconds pass at once for `performance.now`, which otherwise goes on as usual. */
function skipTime(t: Test): (seconds: number) => void {
  const { now } = performance
  let ahead = 0
  performance.now = () => now.call(performance) + ahead
  t.teardown(() => Object.assign(performance, { now }))
  return (seconds) => {
    ahead += seconds * 1000
  }
}
