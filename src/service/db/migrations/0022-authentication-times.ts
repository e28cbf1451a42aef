import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** When the provider last asked the person of a login who they are, if it says so. */
export const authenticationTimes: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema.alterTable('logins').addColumn('authenticated_at', 'bigint').execute()
  },
}
