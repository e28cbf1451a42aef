import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import type { Text } from './until-2.0.0.ts'

/**
 * By default, Postgres cleans up a table when a fifth of it has changed. Of hundreds of millions of rows that is seldom and
 * takes long; meanwhile the indexes grow, and reads look up rows that are gone. Inserts alone are to be cleaned up after, too:
 * an index answers alone only where the table's pages are known to be visible to all.
 */
export function autovacuum(textType: Text, tables: string[]): Migration {
  return {
    async up(db: Kysely<unknown>) {
      if (textType === 'text') return
      for (const table of tables) {
        await sql`alter table ${sql.table(table)} set (
          autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
          autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_vacuum_insert_threshold = 10000,
          autovacuum_analyze_scale_factor = 0.02, autovacuum_analyze_threshold = 1000)`.execute(db)
      }
    },
  }
}
