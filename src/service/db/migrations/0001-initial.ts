import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

export type Text = 'text' | 'text collate "C"'

export function initial(textType: Text): Migration {
  const text = sql.raw(textType)
  return { up: (db) => up(db, text) }
}

/** Keys begin with user_id wherever a row belongs to a user, so that the data can be split by user. */
async function up(db: Kysely<unknown>, text: RawBuilder<unknown>): Promise<void> {
  await db.schema
    .createTable('users')
    .addColumn('id', text, (column) => column.primaryKey())
    .addColumn('issuer', text, (column) => column.notNull())
    .addColumn('subject', text, (column) => column.notNull())
    .addColumn('email', text, (column) => column.notNull())
    .addColumn('name', text, (column) => column.notNull())
    .addColumn('avatar_url', text, (column) => column.notNull())
    .addColumn('email_verified', 'integer', (column) => column.notNull())
    .addColumn('export_key_sealed', text, (column) => column.notNull())
    .addColumn('last_stamp', 'bigint', (column) => column.notNull().defaultTo(0))
    .addColumn('live_bookmarks', 'bigint', (column) => column.notNull().defaultTo(0))
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addUniqueConstraint('users_identity', ['issuer', 'subject'])
    .execute()

  await db.schema
    .createTable('logins')
    .addColumn('id', text, (column) => column.primaryKey())
    .addColumn('user_id', text, (column) => column.notNull().references('users.id').onDelete('cascade'))
    .addColumn('provider_token_sealed', text)
    .addColumn('checked_at', 'bigint', (column) => column.notNull())
    .addColumn('asking_until', 'bigint', (column) => column.notNull().defaultTo(0))
    .addColumn('unanswered', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .execute()
  await db.schema.createIndex('logins_user').on('logins').column('user_id').execute()

  await db.schema
    .createTable('tokens')
    .addColumn('hash', text, (column) => column.primaryKey())
    .addColumn('kind', text, (column) => column.notNull())
    .addColumn('login_id', text, (column) => column.notNull().references('logins.id').onDelete('cascade'))
    .addColumn('issued_at', 'bigint', (column) => column.notNull())
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .execute()
  await db.schema.createIndex('tokens_login').on('tokens').column('login_id').execute()
  await db.schema.createIndex('tokens_expiry').on('tokens').column('expires_at').execute()

  await db.schema
    .createTable('records')
    .addColumn('user_id', text, (column) => column.notNull().references('users.id').onDelete('cascade'))
    .addColumn('entity_type', text, (column) => column.notNull())
    .addColumn('entity_id', text, (column) => column.notNull())
    .addColumn('encrypted_data', text)
    .addColumn('data_hash', text)
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('updated_at', 'bigint', (column) => column.notNull())
    .addColumn('deleted_at', 'bigint')
    .addColumn('stamp', 'bigint', (column) => column.notNull())
    .addColumn('event_id', text, (column) => column.notNull())
    .addColumn('operation', text, (column) => column.notNull())
    .addColumn('timestamp', 'bigint', (column) => column.notNull())
    .addColumn('device_id', text, (column) => column.notNull())
    .addColumn('conflict_resolved', 'integer', (column) => column.notNull())
    .addColumn('resolution_strategy', text)
    .addPrimaryKeyConstraint('records_pkey', ['user_id', 'entity_type', 'entity_id'])
    .addUniqueConstraint('records_stamp', ['user_id', 'stamp'])
    .execute()
  await db.schema
    .createIndex('records_newest')
    .on('records')
    .columns(['user_id', 'created_at', 'entity_id'])
    .where(sql.ref('deleted_at'), 'is', null)
    .where(sql.ref('entity_type'), '=', sql.lit('bookmark'))
    .execute()

  await db.schema
    .createTable('devices')
    .addColumn('user_id', text, (column) => column.notNull().references('users.id').onDelete('cascade'))
    .addColumn('device_id', text, (column) => column.notNull())
    .addColumn('cursor', 'bigint', (column) => column.notNull())
    .addColumn('last_sync', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('devices_pkey', ['user_id', 'device_id'])
    .execute()

  await db.schema
    .createTable('rejections')
    .addColumn('user_id', text, (column) => column.notNull().references('users.id').onDelete('cascade'))
    .addColumn('entity_type', text, (column) => column.notNull())
    .addColumn('entity_id', text, (column) => column.notNull())
    .addColumn('device_id', text, (column) => column.notNull())
    .addColumn('winner_stamp', 'bigint', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('rejections_pkey', ['user_id', 'entity_type', 'entity_id'])
    .execute()

  await db.schema
    .createTable('exports')
    .addColumn('id', text, (column) => column.primaryKey())
    .addColumn('user_id', text, (column) => column.notNull().references('users.id').onDelete('cascade'))
    .addColumn('status', text, (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('size_bytes', 'bigint')
    .addColumn('bookmark_count', 'bigint')
    .addColumn('expires_at', 'bigint')
    .addColumn('attempts', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('fence', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('lease_until', 'bigint', (column) => column.notNull().defaultTo(0))
    .addColumn('object_key', text)
    .addColumn('key_sealed', text, (column) => column.notNull())
    .execute()
  await db.schema.createIndex('exports_user').on('exports').columns(['user_id', 'created_at']).execute()
  await db.schema.createIndex('exports_status').on('exports').columns(['status', 'lease_until']).execute()

  await db.schema
    .createTable('keyrings')
    .addColumn('user_id', text, (column) => column.primaryKey().references('users.id').onDelete('cascade'))
    .addColumn('keyring', text, (column) => column.notNull())
    .addColumn('revision', 'bigint', (column) => column.notNull())
    .execute()
}
