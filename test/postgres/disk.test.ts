import { sql } from 'kysely'
import t from 'tap'
import { buildApp } from '../support/app.ts'
import { change } from '../support/changes.ts'
import { isPostgres } from '../support/database-url.ts'
import { until } from '../support/until.ts'

if (!isPostgres) t.comment('`npm test` runs this file on Postgres: for SQLite see test/process/disk.test.ts')
else {
  t.test(
    'A full disk, one that fails and a damaged page: 503, not ready and logged, although the probe can write',
    async (t) => {
      const { app, user, context, log } = await buildApp(t)
      const { db } = context.database
      const ada = await user('ada')
      const push = async (entity_id: string) => {
        const { status, headers } = await ada.call('POST', '/api/v1/sync/push', {
          body: { changes: [change({ entity_id })] },
        })
        return [status, headers['retry-after']]
      }
      t.same(await push('before'), [200, undefined])
      const failing = (code: string) =>
        sql`create or replace function fail() returns trigger language plpgsql as ${sql.lit(
          `begin raise exception using errcode = '${code}'; end`,
        )}`.execute(db)
      const refused = []
      for (const code of ['53100', '58030', 'XX001', 'XX002']) {
        await failing(code)
        if (refused.length === 0)
          await sql`create trigger fail before insert on records for each row execute function fail()`.execute(db)
        refused.push(await push(code))
      }
      t.same(refused, Array(4).fill([503, '1']))
      await until(async () => (await app.inject('/readyz')).statusCode === 503)
      t.ok(log.some((line) => line.includes('the database is unreachable') && line.includes('"XX002"')))
    },
  )
}
