import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import t from 'tap'
import { migrationsWith } from '../../src/service/db/migrations/until-2.0.0.ts'
import { openDatabase } from '../../src/service/db/open.ts'
import { silent } from '../support/log.ts'
import { addUser } from './fixture.ts'

t.test('From empty to the latest; a second time nothing changes', async (t) => {
  const path = join(t.testdir(), 'bookmarks.db')
  const first = await openDatabase(`sqlite:${path}`, silent)
  await first.write((trx) => addUser(trx, 'ada'))
  await first.close()
  const before = dump(path)
  t.match(before, { applied: Object.keys(migrationsWith('text')).map((name) => ({ name })), users: [{ id: 'ada' }] })
  await (await openDatabase(`sqlite:${path}`, silent)).close()
  t.same(dump(path), before)
})

t.test('Applied in the order of their names', async (t) => {
  const names = Object.keys(migrationsWith('text'))
  t.same(names, [...names].sort())
})

t.test('A database from a newer version is refused, and left as it is', async (t) => {
  const path = join(t.testdir(), 'bookmarks.db')
  await (await openDatabase(`sqlite:${path}`, silent)).close()
  const sqlite = new Sqlite(path)
  sqlite.exec(`insert into kysely_migration values ('9999-later', '2030-01-01T00:00:00.000Z')`)
  sqlite.close()
  const before = dump(path)
  for (const _ of ['the first time', 'and again']) {
    await t.rejects(openDatabase(`sqlite:${path}`, silent), {
      name: 'ConfigError',
      message: 'DATABASE_URL: the database has a newer version (9999-later); start that version',
    })
  }
  t.same(dump(path), before)
})

t.test('Only the large tables do not have each user looked up whose rows are written', async (t) => {
  const path = join(t.testdir(), 'bookmarks.db')
  await (await openDatabase(`sqlite:${path}`, silent)).close()
  const sqlite = new Sqlite(path)
  const tablesWith = (query: string) => sqlite.prepare<[], string>(query).pluck().all()
  const ofUsers = tablesWith(
    "select m.name from pragma_table_list m, pragma_table_info(m.name) c where c.name = 'user_id'",
  )
  const referring = tablesWith(
    "select m.name from pragma_table_list m, pragma_foreign_key_list(m.name) f where f.\"table\" in ('users', 'logins')",
  )
  const without = ofUsers.filter((table) => !referring.includes(table))
  t.same(without.sort(), ['ciphertexts', 'records', 'versions'])
  t.equal(sqlite.pragma('integrity_check', { simple: true }), 'ok')
  sqlite.close()
})

/** The whole schema, what was applied when, and whether the data is still there. */
function dump(path: string): object {
  const sqlite = new Sqlite(path, { readonly: true })
  const all = (sql: string) => sqlite.prepare(sql).all()
  const schema = all('select type, name, tbl_name, sql from sqlite_master order by name')
  const applied = all('select * from kysely_migration order by name')
  const users = all('select * from users')
  sqlite.close()
  return { schema, applied, users }
}
