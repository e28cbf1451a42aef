import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import type { Text } from './until-2.0.0.ts'

/** Accounts that cannot sign in any more: some for as long as the operator wants it, others until they are erased. */
export function deletions(textType: Text): Migration {
  const text = sql.raw(textType)
  return {
    async up(db: Kysely<unknown>) {
      await db.schema.alterTable('users').addColumn('disabled_at', 'bigint').execute()
      await db.schema
        .createTable('deletions')
        .addColumn('user_id', text, (column) => column.primaryKey().references('users.id').onDelete('cascade'))
        .addColumn('deleted_at', 'bigint', (column) => column.notNull())
        .execute()
    },
  }
}
