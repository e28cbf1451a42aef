import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Which versions a record's history replaced without having seen them. */
export const overwritten: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema.alterTable('records').addColumn('overwritten', 'text').execute()
  },
}
