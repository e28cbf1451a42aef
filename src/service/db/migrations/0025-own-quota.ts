import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** The bytes that a user may store, if an operator has set it for this one. Instances of before go by MAX_USER_BYTES. */
export const ownQuota: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema.alterTable('users').addColumn('max_bytes', 'bigint').execute()
  },
}
