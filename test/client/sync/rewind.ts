import { type Kysely, sql } from 'kysely'
import type { Schema } from '../../../src/db/schema.ts'

const tables = ['records', 'ciphertexts', 'devices', 'rejections'] as const

/** Remembers what the database holds of a user's bookmarks; the returned function puts it back, like a restored backup. */
export async function remember(db: Kysely<Schema>, userId: string): Promise<() => Promise<void>> {
  const users = await db.selectFrom('users').selectAll().where('id', '=', userId).execute()
  const rows = await Promise.all(
    tables.map((table) => sql<object>`select * from ${sql.table(table)} where user_id = ${userId}`.execute(db)),
  )
  return () =>
    db.transaction().execute(async (trx) => {
      for (const [index, table] of tables.entries()) {
        await sql`delete from ${sql.table(table)} where user_id = ${userId}`.execute(trx)
        for (const row of rows[index]?.rows ?? [])
          await trx
            .insertInto(table)
            .values(row as never)
            .execute()
      }
      for (const { id, ...columns } of users) await trx.updateTable('users').set(columns).where('id', '=', id).execute()
    })
}
