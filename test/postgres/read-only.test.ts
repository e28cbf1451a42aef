import pg from 'pg'
import t from 'tap'
import { buildApp } from '../support/app.ts'
import { change } from '../support/changes.ts'
import { databaseUrl, isPostgres } from '../support/database-url.ts'
import { until } from '../support/until.ts'

if (!isPostgres) t.comment('SQLite has no standby: `npm test` runs this file on Postgres')
else {
  t.test('A server that became read-only: 503 and not ready; when it can be written again, all goes on', async (t) => {
    const { app, user, context, dataDir, log } = await buildApp(t)
    const ada = await user('ada')
    const push = (entity_id: string) =>
      ada.call('POST', '/api/v1/sync/push', { body: { changes: [change({ entity_id })] } })
    const readiness = async () => (await app.inject('/readyz')).statusCode
    t.equal((await push('before')).status, 200)

    const admin = new pg.Client({ connectionString: await databaseUrl(dataDir) })
    await admin.connect()
    t.teardown(() => admin.end())
    const { database: name } = admin
    // What a failover does to the connections of an instance: their server is a standby from now on.
    await admin.query(`ALTER DATABASE ${name} SET default_transaction_read_only = on`)
    await admin.query(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
    )
    await until(() => !context.health.components().database)
    t.equal(await readiness(), 503)
    const refused = await push('meanwhile')
    t.match([refused.status, refused.headers['retry-after']], [503, /^\d+$/])
    const errors = log.map((line) => JSON.parse(line)).filter(({ level, reqId }) => level === 50 && reqId)
    t.match(errors, [{ err: { code: '25006', message: /in a read-only transaction/ } }], 'the log says why')

    await admin.query('SET default_transaction_read_only = off')
    await admin.query(`ALTER DATABASE ${name} SET default_transaction_read_only = off`)
    await until(async () => (await readiness()) === 200)
    t.equal((await push('after')).status, 200, 'over new connections: those that were read-only are gone')
  })
}
