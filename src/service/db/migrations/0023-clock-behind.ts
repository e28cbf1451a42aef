import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/**
 * How far the clock was behind when something became a version, and up to which sequence number a
 * user's deleted records were looked through: without a value, as everything is that an instance of before writes, not at
 * all, and up to none.
 */
export const clockBehind: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema.alterTable('versions').addColumn('behind', 'bigint').execute()
    await db.schema.alterTable('users').addColumn('trash_checked_to', 'bigint').execute()
  },
}
