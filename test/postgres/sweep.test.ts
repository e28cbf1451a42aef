import pg from 'pg'
import t from 'tap'
import { startSweeps } from '../../src/service/upkeep/sweeps.ts'
import { buildApp } from '../support/app.ts'
import { countRows } from '../support/database.ts'
import { databaseUrl } from '../support/database-url.ts'
import { until } from '../support/until.ts'

const yearMs = 366 * 86_400_000

t.test('While one instance sweeps, another does not; afterwards each instance can', async (t) => {
  const first = await buildApp(t)
  const second = await buildApp(t, {}, first)
  await first.user('ada')
  const client = new pg.Client({ connectionString: await databaseUrl(first.dataDir) })
  await client.connect()
  t.teardown(() => client.end())
  await client.query('BEGIN; SELECT * FROM tokens FOR UPDATE')

  const sweeping = startSweeps(laterOn(first).parts)
  t.teardown(() => sweeping.close())
  const isWaiting = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
  await until(async () => {
    await client.query('SELECT pg_stat_clear_snapshot()')
    return (await client.query(isWaiting)).rowCount === 1
  })
  const meanwhile = laterOn(second)
  const idle = startSweeps(meanwhile.parts)
  await meanwhile.done
  await idle.close()
  t.equal(meanwhile.writes(), 0)

  await client.query('COMMIT')
  await until(async () => !('tokens' in (await countRows(first.context))))
  await sweeping.close()
  const afterwards = laterOn(second)
  const next = startSweeps(afterwards.parts)
  await afterwards.done
  await next.close()
  t.ok(afterwards.writes() >= 3)
})

/** An instance whose clock is a year ahead, with a count of the sweep's writes and a promise of its end. */
function laterOn({ context }: Awaited<ReturnType<typeof buildApp>>) {
  const { database } = context
  const { promise: done, resolve } = Promise.withResolvers<void>()
  let writes = 0
  const watched: typeof database = {
    ...database,
    write(work, owner) {
      writes++
      return database.write(work, owner)
    },
    exclusively: (name, work) => database.exclusively(name, work).finally(resolve),
  }
  return { parts: { ...context, database: watched, clock: () => Date.now() + yearMs }, done, writes: () => writes }
}
