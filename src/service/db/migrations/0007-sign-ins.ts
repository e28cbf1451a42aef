import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import type { Text } from './0001-initial.ts'

/** When a login ends at the latest, and the sign-ins that were completed not long ago. */
export function signIns(textType: Text): Migration {
  return {
    async up(db: Kysely<unknown>) {
      await db.schema.alterTable('logins').addColumn('ends_at', 'bigint').execute()
      await db.schema
        .createTable('used_nonces')
        .addColumn('nonce', sql.raw(textType), (column) => column.primaryKey())
        .addColumn('expires_at', 'bigint', (column) => column.notNull())
        .execute()
      await db.schema.createIndex('used_nonces_expiry').on('used_nonces').column('expires_at').execute()
    },
  }
}
