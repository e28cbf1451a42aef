import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

import { v7 as uuidv7 } from 'uuid'

/** A column type that compares by bytes. */
export type Text = 'text' | 'text collate "C"'

/** These made the schema until 2.0.0, while no instance ran. None is added, and none changes. */
export function migrationsWith(text: Text): Record<string, Migration> {
  return {
    '0001-initial': initial(text),
    '0002-quota': quota,
    '0003-overwritten': overwritten,
    '0004-ciphertexts': ciphertexts(text),
    '0005-rejections': rejections,
    '0006-sweeps': sweeps,
    '0007-sign-ins': signIns(text),
    '0008-epoch': epoch(text),
    '0009-heartbeat': heartbeat,
  }
}

function initial(textType: Text): Migration {
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

/** Counts what each user stores, so that writes can check a limit without reading the records. */
const quota: Migration = {
  async up(db: Kysely<QuotaTables>) {
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

interface QuotaTables {
  users: { id: string; stored_bytes: number; stored_records: number }
  records: { user_id: string; encrypted_data: string | null }
}

/** Counts a few users at a time: however many there are, no statement reaches the database's time limit. */
async function count(db: Kysely<QuotaTables>): Promise<void> {
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

/** The versions of a record that were replaced by devices that had not seen them. */
const overwritten: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema.alterTable('records').addColumn('overwritten', 'text').execute()
  },
}

/** Few enough that even the largest records are moved within the database's time limit. */
const pageLength = 500

/**
 * Moves the ciphertext to a table of its own, so that what concerns a record's small columns neither reads nor rewrites
 * it: SQLite rewrites a whole row, however little of it changes. Its size is kept with the record.
 */
function ciphertexts(textType: Text): Migration {
  return {
    async up(db: Kysely<CiphertextTables>) {
      await addColumns(db, sql.raw(textType))
      await moveAll(db)
      // An index on many millions of records takes longer than a statement of the service may.
      if (textType !== 'text') await sql`set local statement_timeout = 0`.execute(db)
      await db.schema.alterTable('records').dropColumn('encrypted_data').execute()
      await db.schema.createIndex('records_device').on('records').columns(['user_id', 'device_id', 'stamp']).execute()
    },
  }
}

interface CiphertextTables {
  records: {
    user_id: string
    stamp: number
    encrypted_data: string | null
    bytes: number
    data_stamp: number | null
  }
  ciphertexts: { user_id: string; stamp: number; encrypted_data: string }
}

async function addColumns(db: Kysely<CiphertextTables>, text: RawBuilder<unknown>): Promise<void> {
  await db.schema
    .createTable('ciphertexts')
    .addColumn('user_id', text, (column) => column.notNull().references('users.id').onDelete('cascade'))
    .addColumn('stamp', 'bigint', (column) => column.notNull())
    .addColumn('encrypted_data', text, (column) => column.notNull())
    .addPrimaryKeyConstraint('ciphertexts_pkey', ['user_id', 'stamp'])
    .execute()
  await db.schema
    .alterTable('records')
    .addColumn('bytes', 'bigint', (column) => column.notNull().defaultTo(0))
    .execute()
  await db.schema.alterTable('records').addColumn('data_stamp', 'bigint').execute()
}

/** A page at a time, so that SQLite uses the room of what has moved, and the file does not double. */
async function moveAll(db: Kysely<CiphertextTables>): Promise<void> {
  for (let after = { user_id: '', stamp: 0 }; ; ) {
    const page = await db
      .selectFrom('records')
      .select(['user_id', 'stamp'])
      .where(sql<boolean>`(user_id, stamp) > ${key(after)}`)
      .orderBy('user_id')
      .orderBy('stamp')
      .limit(pageLength)
      .execute()
    const last = page.at(-1)
    if (!last) return
    await movePage(db, sql`(user_id, stamp) > ${key(after)} and (user_id, stamp) <= ${key(last)}`)
    after = last
  }
}

async function movePage(db: Kysely<CiphertextTables>, isInPage: RawBuilder<unknown>): Promise<void> {
  await sql`insert into ciphertexts (user_id, stamp, encrypted_data)
    select user_id, stamp, encrypted_data from records where ${isInPage} and encrypted_data is not null`.execute(db)
  await sql`update records set bytes = octet_length(encrypted_data), data_stamp = stamp, encrypted_data = null
    where ${isInPage} and encrypted_data is not null`.execute(db)
}

function key({ user_id, stamp }: { user_id: string; stamp: number }): RawBuilder<unknown> {
  return sql`(${user_id}, ${stamp})`
}

/** A pull looks for its own device's rejections among all of the user's. */
const rejections: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema
      .createIndex('rejections_device')
      .on('rejections')
      .columns(['user_id', 'device_id', 'winner_stamp'])
      .execute()
  },
}

/** Rows that the sweeps remove are found by their age. */
const sweeps: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema.createIndex('devices_last_sync').on('devices').column('last_sync').execute()
    await db.schema.createIndex('rejections_age').on('rejections').column('created_at').execute()
    await db.schema.createIndex('exports_expiry').on('exports').column('expires_at').execute()
  },
}

/** When a login ends at the latest, and the sign-ins that were completed not long ago. */
function signIns(textType: Text): Migration {
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

/** One row: the epoch that all cursors belong to. */
function epoch(textType: Text): Migration {
  return {
    async up(db: Kysely<{ epoch: { id: string } }>) {
      await db.schema
        .createTable('epoch')
        .addColumn('id', sql.raw(textType), (column) => column.primaryKey())
        .addColumn('restored', 'integer', (column) => column.notNull().defaultTo(0))
        .execute()
      await db.insertInto('epoch').values({ id: uuidv7() }).execute()
    },
  }
}

/** One row that health probes write: that a database can be read does not show that it can be written. */
const heartbeat: Migration = {
  async up(db: Kysely<{ heartbeat: { at: number } }>) {
    await db.schema
      .createTable('heartbeat')
      .addColumn('at', 'bigint', (column) => column.notNull())
      .execute()
    await db.insertInto('heartbeat').values({ at: 0 }).execute()
  },
}
