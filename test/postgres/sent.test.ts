/** Runs last in each process of tests on Postgres (scripts/test/plan.ts). */
import pg from 'pg'
import t from 'tap'
import { buildApp, sent } from '../support/app.ts'
import { findUnlisted } from './shards/across.ts'
import { partition } from './shards/partition.ts'

t.test('What the service sent for a user in the tests of this process reaches a single shard', async (t) => {
  const app = await buildApp(t)
  await app.close()
  const client = new pg.Client({ connectionString: app.context.config.databaseUrl })
  await client.connect()
  t.teardown(() => client.end())
  await partition(client)
  t.same(await findUnlisted(client, sent), [], `${sent.size} statements`)
})
