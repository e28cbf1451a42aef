import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Since when an entity is known, and about how many versions of it are kept. */
export const recordHistory: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema.alterTable('records').addColumn('first_stamp', 'bigint').execute()
    await db.schema
      .alterTable('records')
      .addColumn('versions', 'integer', (column) => column.notNull().defaultTo(0))
      .execute()
  },
}
