import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import type { Text } from './until-2.0.0.ts'

const tables = ['records', 'ciphertexts', 'versions']

/**
 * Postgres looks the user up for each row of a table that refers to users, which is a third of a push. Rows of these tables
 * are only written under the lock on the user's row, which says the same, and `deleteUser` takes them with it.
 */
export function userReferences(textType: Text): Migration {
  return {
    async up(db: Kysely<unknown>) {
      if (textType === 'text') return
      // In the order in which writes lock them: otherwise the two could wait for each other.
      await sql`lock table users in access exclusive mode`.execute(db)
      for (const table of tables) {
        const name = sql.ref(`${table}_user_id_fkey`)
        await sql`alter table ${sql.table(table)} drop constraint if exists ${name}`.execute(db)
      }
    },
  }
}
