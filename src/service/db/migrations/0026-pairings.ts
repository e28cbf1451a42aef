import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import type { Text } from './until-2.0.0.ts'

/** The last message of each user's pairing of a new device. Instances of before know of none. */
export function pairings(textType: Text): Migration {
  const text = sql.raw(textType)
  return {
    async up(db: Kysely<unknown>) {
      await db.schema
        .createTable('pairings')
        .addColumn('user_id', text, (column) => column.primaryKey().references('users.id').onDelete('cascade'))
        .addColumn('id', text, (column) => column.notNull())
        .addColumn('step', 'integer', (column) => column.notNull())
        .addColumn('message', text, (column) => column.notNull())
        .addColumn('expires_at', 'bigint', (column) => column.notNull())
        .execute()
      await db.schema.createIndex('pairings_expiry').on('pairings').column('expires_at').execute()
    },
  }
}
