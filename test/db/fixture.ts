import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import type { Test } from 'tap'
import type { Database, Trx } from '../../src/service/db/engine/database.ts'
import { openDatabase } from '../../src/service/db/open.ts'
import { saveUser } from '../../src/service/db/tables/users.ts'
import { silent } from '../support/log.ts'

/** A database in a folder of its own, closed at the end of the test. */
export async function openTestDatabase(t: Test): Promise<{ database: Database; path: string }> {
  const path = join(t.testdir(), 'bookmarks.db')
  const database = await openDatabase(`sqlite:${path}`, silent)
  t.teardown(() => database.close())
  return { database, path }
}

export async function addUser(trx: Trx, id: string): Promise<string> {
  return saveUser(trx, {
    id,
    issuer: 'https://id.example',
    subject: id,
    email: '',
    name: '',
    avatar_url: '',
    email_verified: 0,
    export_key_sealed: '',
    created_at: 1,
  })
}

export async function listUsers({ db }: Pick<Database, 'db'>): Promise<string[]> {
  const rows = await db.selectFrom('users').select('id').orderBy('id').execute()
  return rows.map(({ id }) => id)
}

/** Calls `see` for each statement that SQLite prepares, until the end of the test. */
export function onPrepare(t: Pick<Test, 'teardown'>, see: (sql: string, statement: Sqlite.Statement) => void): void {
  const { prepare } = Sqlite.prototype
  t.teardown(() => Object.assign(Sqlite.prototype, { prepare }))
  Sqlite.prototype.prepare = function (this: Sqlite.Database, sql: string) {
    const statement = prepare.call(this, sql)
    see(sql, statement)
    return statement
  } as typeof prepare
}

/** Reports each transaction statement before the connection runs it. */
export function intercept(t: Test, before: (sql: string) => void): void {
  onPrepare(t, (sql, statement) => {
    if (!/^(begin|commit|rollback|savepoint|release)/.test(sql)) return
    const run = statement.run as () => Sqlite.RunResult
    statement.run = () => {
      before(sql)
      return run.call(statement)
    }
  })
}

/** The steps of SQLite's query plans for these statements. */
export function stepsOf(sqlite: Sqlite.Database, statements: string[]): string[] {
  return statements.flatMap((sql) => {
    const parameters = Array.from(sql.matchAll(/\?/g), () => null)
    const plan = sqlite.prepare(`explain query plan ${sql}`).all(parameters) as { detail: string }[]
    return plan.map(({ detail }) => detail)
  })
}
