import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/**
 * How many tombstones each user has. Those of before, and of instances of before, are counted when the sweep next looks through
 * the user's records (upkeep/versions.ts): until then, that many count as live.
 */
export const tombstones: Migration = {
  async up(db: Kysely<unknown>) {
    for (const column of ['tombstones', 'tombstones_after'])
      await db.schema
        .alterTable('users')
        .addColumn(column, 'bigint', (it) => it.notNull().defaultTo(0))
        .execute()
  },
}
