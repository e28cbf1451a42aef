import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { Kysely, PostgresDialect, SqliteDialect } from 'kysely'
import { Migrator } from 'kysely/migration'
import pg from 'pg'
import t, { type Test } from 'tap'
import { migrationsWith } from '../../src/db/migrations/index.ts'
import { openDatabase } from '../../src/db/open.ts'
import type { Schema } from '../../src/db/schema.ts'
import { databaseUrl, isPostgres } from '../support/database-url.ts'
import { silent } from '../support/log.ts'
import { addUser } from './fixture.ts'

/** More than the migration counts at once. */
const users = 250

/** A database as the previous version left it. */
async function makeOld(t: Test): Promise<{ url: string; db: Kysely<Schema> }> {
  const folder = await mkdtemp(join(tmpdir(), 'ebs-test-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const url = await databaseUrl(folder)
  const dialect = isPostgres
    ? new PostgresDialect({ pool: new pg.Pool({ connectionString: url }) })
    : new SqliteDialect({ database: new Sqlite(url.slice('sqlite:'.length)) })
  const db = new Kysely<Schema>({ dialect })
  const all = migrationsWith(isPostgres ? 'text collate "C"' : 'text')
  const migrator = new Migrator({ db, provider: { getMigrations: async () => all } })
  const { error } = await migrator.migrateTo('0001-initial')
  if (error) throw error
  return { url, db }
}

t.test('What users stored under the previous version is counted', async (t) => {
  const { url, db } = await makeOld(t)
  const id = (index: number) => `user-${index}`
  await db.transaction().execute(async (trx) => {
    for (let index = 0; index < users; index += 1) await addUser(trx, id(index))
    const record = (user: number, entity: string, encrypted_data: string | null, deleted_at: number | null) => {
      const key = { user_id: id(user), entity_type: entity === 'g' ? 'group' : 'bookmark', entity_id: entity } as const
      const times = { created_at: 1, updated_at: 1, timestamp: 1, stamp: entity.charCodeAt(0) }
      const change = { event_id: entity, operation: 'create', device_id: 'd', data_hash: null } as const
      const outcome = { conflict_resolved: 0, resolution_strategy: null, deleted_at }
      return trx
        .insertInto('records')
        .values({ ...key, ...times, ...change, ...outcome, encrypted_data })
        .execute()
    }
    for (let user = 0; user < users - 1; user += 1) await record(user, 'a', 'x'.repeat(user + 1), null)
    await record(7, 'b', 'x'.repeat(100_000), 1)
    await record(7, 'c', null, 1)
    await record(7, 'g', 'group', null)
  })
  await db.destroy()

  const database = await openDatabase(url, silent)
  t.teardown(() => database.close())
  const rows = await database.db.selectFrom('users').select(['id', 'stored_bytes', 'stored_records']).execute()
  const counted = new Map(rows.map(({ id, stored_bytes, stored_records }) => [id, [stored_bytes, stored_records]]))
  t.same(counted.get(id(7)), [8 + 100_000 + 5, 4], 'deleted ones, tombstones and other entities too')
  t.same(counted.get(id(users - 1)), [0, 0], 'a user without records')
  const wrong = Array.from({ length: users - 1 }, (_, user) => user)
    .filter((user) => user !== 7)
    .filter((user) => String(counted.get(id(user))) !== String([user + 1, 1]))
  t.same(wrong, [], 'each of the others')
})
