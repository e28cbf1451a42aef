import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import type { Text } from './until-2.0.0.ts'

const tables = ['records', 'ciphertexts', 'versions']
const reference = ' references "users" ("id") on delete cascade'

/**
 * Does as 0017 on Postgres. SQLite looks users up, too, and while a reference may fail, it keeps a copy of each page that
 * a statement for several rows changes. It has no statement that removes a reference: this is what its documentation says
 * to do instead of copying the table (ALTER TABLE, section 7). It takes a connection in better-sqlite3's unsafe mode.
 */
export function sqliteUserReferences(textType: Text): Migration {
  return {
    async up(db: Kysely<unknown>) {
      if (textType !== 'text') return
      await sql`pragma writable_schema = on`.execute(db)
      await sql`update sqlite_schema set sql = replace(sql, ${reference}, '')
        where type = 'table' and name in (${sql.join(tables)})`.execute(db)
      // Reads the schema anew, here; and, by its number, in other processes.
      const { rows } = await sql<{ schema_version: number }>`pragma schema_version`.execute(db)
      await sql`pragma schema_version = ${sql.lit(Number(rows[0]?.schema_version) + 1)}`.execute(db)
      await sql`pragma writable_schema = reset`.execute(db)
    },
  }
}
