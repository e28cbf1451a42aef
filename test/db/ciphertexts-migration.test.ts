import Sqlite from 'better-sqlite3'
import { type Kysely, sql } from 'kysely'
import t, { type Test } from 'tap'
import { openDatabase } from '../../src/service/db/open.ts'
import type { Schema } from '../../src/service/db/schema.ts'
import { isPostgres } from '../support/database-url.ts'
import { silent } from '../support/log.ts'
import { addOldRecord, addOldUser, makeOldDatabase, type OldRecord, oldRecord } from './old-database.ts'

const largest = 'x'.repeat(262_144)
const overwritten = JSON.stringify([{ device_id: 'e', timestamp: 2 }])

/** Records of every kind, of users before and after one whose records do not fit into one page of the migration. */
const old: OldRecord[] = [
  oldRecord('ada', 'live', { encrypted_data: largest, data_hash: 'hash', overwritten, conflict_resolved: 1 }),
  oldRecord('ada', 'deleted', { encrypted_data: 'kept', data_hash: 'hash', deleted_at: 3, operation: 'delete' }),
  oldRecord('ada', 'never known', { deleted_at: 3, operation: 'delete' }),
  oldRecord('ada', 'group', { encrypted_data: 'group', entity_type: 'group', overwritten }),
  ...Array.from({ length: 600 }, (_, n) =>
    oldRecord('bob', `${n}`, { encrypted_data: `data ${n}`, stamp: 1_763_700_000_000 + n }),
  ),
  oldRecord('cyd', 'history', { encrypted_data: 'history', entity_type: 'history' }),
]

async function fill(t: Test): Promise<{ url: string; users: unknown[] }> {
  const { url, db } = await makeOldDatabase(t, '0003-overwritten')
  await db.transaction().execute(async (trx) => {
    for (const user of ['ada', 'bob', 'cyd', 'dan']) await addOldUser(trx, user)
    for (const record of old) await addOldRecord(trx, { overwritten: null, ...record })
    await trx
      .updateTable('users')
      .set({ last_stamp: 7, live_bookmarks: 8, stored_bytes: 9, stored_records: 10 })
      .execute()
  })
  const users = await usersOf(db)
  await db.destroy()
  return { url, users }
}

async function usersOf(db: Kysely<Schema>): Promise<unknown[]> {
  const counters = ['last_stamp', 'live_bookmarks', 'stored_bytes', 'stored_records'] as const
  return db
    .selectFrom('users')
    .select(['id', 'created_at', ...counters])
    .orderBy('id')
    .execute()
}

t.test('Every record of the previous version is kept, with its ciphertext and its size', async (t) => {
  const { url, users } = await fill(t)
  const database = await openDatabase(url, silent)
  t.teardown(() => database.close())
  const { rows } = await sql<OldRecord>`
    select records.*, encrypted_data from records
    left join ciphertexts on ciphertexts.user_id = records.user_id and ciphertexts.stamp = data_stamp
    order by records.user_id, records.stamp`.execute(database.db)
  const expected = old
    .map((record) => {
      const { encrypted_data, stamp, overwritten = null } = record
      const data = { bytes: encrypted_data?.length ?? 0, data_stamp: encrypted_data && stamp }
      return { ...record, overwritten, ...data, first_stamp: null, versions: 0, ahead: null, first_ahead: null }
    })
    .toSorted((one, other) =>
      one.user_id < other.user_id ? -1 : one.user_id > other.user_id ? 1 : one.stamp - other.stamp,
    )
  t.same(rows, expected)
  const { count } = await database.db
    .selectFrom('ciphertexts')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  t.equal(Number(count), old.filter(({ encrypted_data }) => encrypted_data !== null).length, 'and nothing else')
  t.same((await usersOf(database.db)) as object[], JSON.parse(JSON.stringify(users, numbers)), 'the counters stay')
})

/** The driver alone returns 64-bit integers of Postgres as text. */
function numbers(key: string, value: unknown): unknown {
  return /^(stored|last|live|created)_/.test(key) ? Number(value) : value
}

t.test('A start that ends in the middle of it leaves the database as it was', { skip: isPostgres }, async (t) => {
  const { url } = await fill(t)
  const path = url.slice('sqlite:'.length)
  const before = dump(path)
  const { prepare } = Sqlite.prototype
  Sqlite.prototype.prepare = function (this: Sqlite.Database, sql: string) {
    if (/drop column/.test(sql)) throw new Sqlite.SqliteError('disk I/O error', 'SQLITE_IOERR')
    return prepare.call(this, sql)
  } as typeof prepare
  const opening = openDatabase(url, silent)
  await t.rejects(opening, { name: 'ConfigError', message: /cannot be migrated \(disk I\/O error\)/ })
  Sqlite.prototype.prepare = prepare
  t.same(dump(path), before)
  await (await openDatabase(url, silent)).close()
})

function dump(path: string): unknown[] {
  const sqlite = new Sqlite(path, { readonly: true })
  const tables = sqlite.prepare('select name, sql from sqlite_master order by name').all() as {
    name: string
    sql: string
  }[]
  const rows = ['records', 'users', 'kysely_migration'].map((table) => sqlite.prepare(`select * from ${table}`).all())
  sqlite.close()
  return [tables, rows]
}
