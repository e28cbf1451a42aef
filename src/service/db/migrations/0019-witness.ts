import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** The witness that tells a clock that was set wrong from one that went on. Older instances leave it as it is. */
export const witness: Migration = {
  async up(db: Kysely<unknown>) {
    for (const column of ['believed_at', 'judged_at', 'doubted_ms'])
      await db.schema.alterTable('heartbeat').addColumn(column, 'bigint').execute()
  },
}
