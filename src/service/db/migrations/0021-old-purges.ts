import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** The number of erasures by a login that is not young any more. Instances of before do not count it. */
export const oldPurges: Migration = {
  async up(db: Kysely<unknown>) {
    for (const column of ['old_purges', 'old_purges_since'])
      await db.schema
        .alterTable('logins')
        .addColumn(column, 'bigint', (it) => it.notNull().defaultTo(0))
        .execute()
  },
}
