import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** The versions of a record that were replaced by devices that had not seen them. */
export const overwritten: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema.alterTable('records').addColumn('overwritten', 'text').execute()
  },
}
