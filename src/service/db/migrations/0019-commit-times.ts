import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

/**
 * How far each sequence number was ahead of the clock when it was given, null if it was given before this. Kept so instead of
 * as a time, because an older instance that changes a record gives it another number, and leaves this as it is: so it
 * stays nearly right.
 */
export const commitTimes: Migration = {
  async up(db: Kysely<unknown>) {
    const columns = [
      ['records', 'ahead'],
      ['records', 'first_ahead'],
      ['versions', 'ahead'],
      ['versions', 'began_ahead'],
      ['versions', 'ended_ahead'],
    ] as const
    for (const [table, column] of columns) await db.schema.alterTable(table).addColumn(column, 'bigint').execute()
    // As a default, it changes no row.
    await db.schema
      .alterTable('heartbeat')
      .addColumn('times_since', 'bigint', (column) => column.defaultTo(sql.lit(Date.now())))
      .execute()
  },
}
