import { sql } from 'kysely'
import t from 'tap'
import type { Db } from '../../src/service/db/engine/database.ts'
import { buildApp, type TestUser } from '../support/app.ts'
import { change } from '../support/changes.ts'
import { isPostgres } from '../support/database-url.ts'

if (!isPostgres) t.comment('`npm test` runs this file on Postgres')
else {
  const { user, context } = await buildApp(t)
  const { db } = context.database
  const ada = await user('ada')

  t.test(
    'A newer version adds columns to every table: this one goes on with the statements that it has prepared',
    async (t) => {
      t.same(await statuses(ada), succeeded)
      for (const { name } of await db.introspection.getTables())
        await sql`alter table ${sql.table(name)} add column added_later text`.execute(db)
      t.same(await statuses(ada), succeeded)
    },
  )

  t.test(
    'A large push gets plans of its own: one kept for small pushes compares each change with each record',
    async (t) => {
      const ben = await user('ben')
      const push = (length: number) => {
        const changes = Array.from({ length }, (_, index) => change({ entity_id: `x${index}` }))
        return ben.call('POST', '/api/v1/sync/push', { body: { changes } })
      }
      for (let count = 1; count <= 12; count += 1) await push(1)
      const before = await keptPlansUsed(db)
      t.ok(before > 0, 'by small pushes')
      t.match((await push(1000)).body, { conflicts: [], accepted: 1000 })
      t.equal(await keptPlansUsed(db), before)
    },
  )

  t.test('A connection whose prepared statements are gone is replaced', async (t) => {
    t.same(await statuses(ada), succeeded)
    await sql`deallocate all`.execute(db)
    const [first] = await statuses(ada)
    t.equal(first, 503, 'the session could not be looked up')
    t.same(await statuses(ada), succeeded)
  })
}

/** How often this connection has looked stored versions up by a plan made for any changes. */
async function keptPlansUsed(db: Db): Promise<number> {
  const { rows } = await sql<{ used: number }>`
    select sum(generic_plans)::int as used from pg_prepared_statements where statement like '%join records%'`.execute(
    db,
  )
  return rows[0]?.used ?? 0
}

const succeeded = [200, 200, 200, 200, 200]

/** Of requests of all kinds, one after the other, so that they share a connection. */
async function statuses(user: TestUser): Promise<number[]> {
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
