import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Counts what each user stores, so that writes can check a limit without reading the records. */
export const quota: Migration = {
  async up(db: Kysely<Tables>) {
    await db.schema
      .alterTable('users')
      .addColumn('stored_bytes', 'bigint', (column) => column.notNull().defaultTo(0))
      .execute()
    await db.schema
      .alterTable('users')
      .addColumn('stored_records', 'bigint', (column) => column.notNull().defaultTo(0))
      .execute()
    await count(db)
  },
}

interface Tables {
  users: { id: string; stored_bytes: number; stored_records: number }
  records: { user_id: string; encrypted_data: string | null }
}

/** Counts a few users at a time: however many there are, no statement reaches the database's time limit. */
async function count(db: Kysely<Tables>): Promise<void> {
  for (let last: string | undefined = ''; last !== undefined; ) {
    const page = await db.selectFrom('users').select('id').where('id', '>', last).orderBy('id').limit(100).execute()
    const ids = page.map(({ id }) => id)
    last = ids.at(-1)
    if (last === undefined) return
    await db
      .updateTable('users')
      .set(({ selectFrom, fn }) => {
        const records = selectFrom('records').whereRef('records.user_id', '=', 'users.id')
        return {
          stored_bytes: records.select(sql<number>`coalesce(sum(octet_length(encrypted_data)), 0)`.as('bytes')),
          stored_records: records.select(fn.countAll<number>().as('count')),
        }
      })
      .where('id', 'in', ids)
      .execute()
  }
}
