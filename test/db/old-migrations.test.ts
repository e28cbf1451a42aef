import Sqlite from 'better-sqlite3'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { openDatabase } from '../../src/service/db/open.ts'
import { isPostgres } from '../support/database-url.ts'
import { silent } from '../support/log.ts'
import { addOldRecord, addOldUser, makeOldDatabase, type OldRecord, oldRecord } from './old-database.ts'

const largest = 'x'.repeat(262_144)
/** With ada and the others, more than are counted at once. */
const others = Array.from({ length: 110 }, (_, n) => `user-${n}`)

/** Records of every kind, of users before and after one whose records do not fit into one page of the migration. */
const old: OldRecord[] = [
  oldRecord('ada', 'live', { encrypted_data: largest, data_hash: 'hash', conflict_resolved: 1 }),
  oldRecord('ada', 'deleted', { encrypted_data: 'kept', data_hash: 'hash', deleted_at: 3, operation: 'delete' }),
  oldRecord('ada', 'never known', { deleted_at: 3, operation: 'delete' }),
  oldRecord('ada', 'group', { encrypted_data: 'group', entity_type: 'group' }),
  ...Array.from({ length: 600 }, (_, n) =>
    oldRecord('bob', `${n}`, { encrypted_data: `data ${n}`, stamp: 1_763_700_000_000 + n }),
  ),
  oldRecord('cyd', 'history', { encrypted_data: 'history', entity_type: 'history' }),
  ...others.map((user, n) => oldRecord(user, 'one', { encrypted_data: 'x'.repeat(n + 1) })),
]

/** As the first version left it, which counted nothing. */
async function fill(t: Test): Promise<string> {
  const { url, db } = await makeOldDatabase(t, '0001-initial')
  await db.transaction().execute(async (trx) => {
    for (const user of ['ada', 'bob', 'cyd', 'dan', ...others]) await addOldUser(trx, user)
    for (const record of old) await addOldRecord(trx, record)
  })
  await db.destroy()
  return url
}

t.test('Every record of an old version is kept, with its ciphertext and its size, and is counted', async (t) => {
  const database = await openDatabase(await fill(t), silent)
  t.teardown(() => database.close())
  const { rows } = await sql<OldRecord>`
    select records.*, encrypted_data from records
    left join ciphertexts on ciphertexts.user_id = records.user_id and ciphertexts.stamp = data_stamp
    order by records.user_id, records.stamp`.execute(database.db)
  const later = { overwritten: null, first_stamp: null, versions: 0, ahead: null, first_ahead: null }
  const expected = old
    .map((record) => {
      const { encrypted_data, stamp } = record
      return { ...record, ...later, bytes: encrypted_data?.length ?? 0, data_stamp: encrypted_data && stamp }
    })
    .toSorted((one, other) =>
      one.user_id < other.user_id ? -1 : one.user_id > other.user_id ? 1 : one.stamp - other.stamp,
    )
  t.same(rows, expected)
  const ciphertexts = await database.db.selectFrom('ciphertexts').select('stamp').execute()
  t.equal(ciphertexts.length, old.filter(({ encrypted_data }) => encrypted_data !== null).length, 'and nothing else')
  const users = database.db.selectFrom('users').select(['id', 'stored_bytes', 'stored_records']).orderBy('id')
  t.same(
    await users.execute(),
    ['ada', 'bob', 'cyd', 'dan', ...others].sort().map((id) => {
      const own = expected.filter(({ user_id }) => user_id === id)
      return { id, stored_bytes: own.reduce((sum, { bytes }) => sum + bytes, 0), stored_records: own.length }
    }),
    'deleted ones, tombstones and other entities too',
  )
})

t.test('A start that ends in the middle of it leaves the database as it was', { skip: isPostgres }, async (t) => {
  const url = await fill(t)
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
