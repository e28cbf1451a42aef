import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import type { Text } from './until-2.0.0.ts'

/** The versions that were replaced or that lost, and what finds open conflicts and deleted bookmarks among them. */
export function history(textType: Text): Migration {
  const text = sql.raw(textType)
  return {
    async up(db: Kysely<unknown>) {
      // Before the table that refers to it: the other way round, writers could wait for each other.
      for (const name of ['version_bytes', 'trash_checked_at']) {
        await db.schema
          .alterTable('users')
          .addColumn(name, 'bigint', (column) => column.notNull().defaultTo(0))
          .execute()
      }
      await db.schema
        .createTable('versions')
        .addColumn('user_id', text, (column) => column.notNull().references('users.id').onDelete('cascade'))
        .addColumn('seq', 'bigint', (column) => column.notNull())
        .addColumn('entity_type', text, (column) => column.notNull())
        .addColumn('entity_id', text, (column) => column.notNull())
        .addColumn('version_id', text, (column) => column.notNull())
        .addColumn('operation', text, (column) => column.notNull())
        .addColumn('timestamp', 'bigint', (column) => column.notNull())
        .addColumn('device_id', text, (column) => column.notNull())
        .addColumn('data_hash', text)
        .addColumn('began', 'bigint')
        .addColumn('ended', 'bigint', (column) => column.notNull())
        .addColumn('reason', text, (column) => column.notNull())
        .addColumn('replaced_by', text, (column) => column.notNull())
        .addColumn('settled_at', 'bigint')
        .addColumn('was_deleted', 'integer', (column) => column.notNull())
        .addColumn('bytes', 'bigint', (column) => column.notNull())
        .addColumn('data_stamp', 'bigint')
        .addPrimaryKeyConstraint('versions_pkey', ['user_id', 'seq'])
        .execute()
      await db.schema
        .createIndex('versions_entity')
        .on('versions')
        .columns(['user_id', 'entity_type', 'entity_id', 'seq'])
        .execute()
      for (const columns of [['seq'], ['device_id', 'ended'], ['version_id']]) {
        await db.schema
          .createIndex(`versions_open_${columns[0]}`)
          .on('versions')
          .columns(['user_id', ...columns])
          .where(sql.ref('settled_at'), 'is', null)
          .where(sql.ref('reason'), '<>', sql.lit('superseded'))
          .execute()
      }
      await db.schema
        .createIndex('versions_deleted')
        .on('versions')
        .columns(['user_id', 'seq'])
        .where(sql.ref('was_deleted'), '=', sql.lit(1))
        .execute()
    },
  }
}
