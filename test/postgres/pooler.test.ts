import { sql } from 'kysely'
import pg from 'pg'
import t from 'tap'
import { openDatabase } from '../../src/service/db/open.ts'
import { buildApp } from '../support/app.ts'
import { change, pullAll } from '../support/changes.ts'
import { runCommand } from '../support/command.ts'
import { databaseUrl, isPostgres } from '../support/database-url.ts'
import { silent } from '../support/log.ts'
import { startPgbouncer } from '../support/pgbouncer.ts'
import { folder } from '../support/service.ts'

if (!isPostgres) t.comment('`npm test` runs this file on Postgres')
else {
  t.test('Through PgBouncer in transaction mode: start, pushes at once, sweeps, notices', async (t) => {
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
    t.equal(ran, 0, 'a lock that is held is not given twice')
    await database.exclusively('test', count)
    t.equal(ran, 1)

    const listed = await runCommand(t, 'admin', ['users'], { ...env, DATA_DIR: dataDir })
    t.match(listed, { code: 0, stderr: '', stdout: ada.userId }, 'an admin command uses the direct connection')

    await t.rejects(openDatabase(pooler, silent, { waitMs: 60_000 }), {
      name: 'ConfigError',
      message: /^DATABASE_URL: the database cannot be used \(.+\): for a pooler, set PULSE_DATABASE_URL, too$/,
    })
  })

  t.test('PULSE_DATABASE_URL of another database, or one that cannot be used, ends the start', async (t) => {
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
      'nothing is made there',
    )
    other.pathname = '/nowhere'
    await t.rejects(open(other.href), { message: /^PULSE_DATABASE_URL: .*"nowhere" does not exist/ })
    await t.rejects(openDatabase(other.href, silent, { directUrl: url }), { message: /^DATABASE_URL: .*"nowhere"/ })
    await (await open(`${url}?application_name=direct`)).close()
  })
}
