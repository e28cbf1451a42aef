import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import type { Text } from './until-2.0.0.ts'

/**
 * The keyrings that were replaced, of which instances of before keep none; and whether an export key is its user's own, which
 * is not known of those that are there.
 */
export function keyringVersions(textType: Text): Migration {
  const text = sql.raw(textType)
  return {
    async up(db: Kysely<unknown>) {
      await db.schema.alterTable('users').addColumn('export_key_set_at', 'bigint').execute()
      await db.schema
        .createTable('keyring_versions')
        .addColumn('id', text, (column) => column.notNull())
        .addColumn('user_id', text, (column) => column.notNull().references('users.id').onDelete('cascade'))
        .addColumn('revision', 'bigint', (column) => column.notNull())
        .addColumn('keyring_sealed', text, (column) => column.notNull())
        .addColumn('replaced_at', 'bigint', (column) => column.notNull())
        .addPrimaryKeyConstraint('keyring_versions_pkey', ['user_id', 'id'])
        .execute()
      // The sweep looks for the oldest, and `npm run reseal` goes through all by their ids.
      for (const column of ['replaced_at', 'id'])
        await db.schema.createIndex(`keyring_versions_${column}`).on('keyring_versions').column(column).execute()
    },
  }
}
