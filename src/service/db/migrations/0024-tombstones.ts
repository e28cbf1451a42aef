import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/**
 * How many deleted records each user has of which nothing is kept. Those of before, and of instances of before, are counted when
 * the sweep next looks through the user's records (upkeep/versions.ts): until then, that many count as live.
 */
export const tombstones: Migration = {
  async up(db: Kysely<unknown>) {
    for (const column of ['empty_tombstones', 'empty_tombstones_after'])
      await db.schema
        .alterTable('users')
        .addColumn(column, 'bigint', (it) => it.notNull().defaultTo(0))
        .execute()
  },
}
