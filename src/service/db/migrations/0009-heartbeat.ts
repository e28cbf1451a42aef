import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** One row that health probes write: that a database can be read does not show that it can be written. */
export const heartbeat: Migration = {
  async up(db: Kysely<{ heartbeat: { at: number } }>) {
    await db.schema
      .createTable('heartbeat')
      .addColumn('at', 'bigint', (column) => column.notNull())
      .execute()
    await db.insertInto('heartbeat').values({ at: 0 }).execute()
  },
}
