import { type Kysely, type RawBuilder, sql } from 'kysely'
import { v7 as uuidv7 } from 'uuid'
import { type Changes, migrationsOf, ofUser, type Text } from './changes.ts'

/** These made the schema until 2.0.0, while no instance ran. None is added, and none changes. */
export function migrationsWith(text: Text) {
  return migrationsOf(text, {
    '0001-initial': initial,
    '0002-quota': quota,
    /** The versions of a record that were replaced by devices that had not seen them. */
    '0003-overwritten': ({ db }) => db.schema.alterTable('records').addColumn('overwritten', 'text').execute(),
    '0004-ciphertexts': ciphertexts,
    /** A pull looks for its own device's rejections among all of the user's. */
    '0005-rejections': ({ addIndex }) =>
      addIndex('rejections_device', 'rejections', ['user_id', 'device_id', 'winner_stamp']),
    '0006-sweeps': sweeps,
    '0007-sign-ins': signIns,
    '0008-epoch': epoch,
    '0009-heartbeat': heartbeat,
  })
}

/** Keys begin with user_id wherever a row belongs to a user, so that the data can be split by user. */
async function initial({ addTable, addIndex }: Changes): Promise<void> {
  await addTable(
    'users',
    [
      ['text primary key', 'id'],
      ['text not null', 'issuer', 'subject', 'email', 'name', 'avatar_url'],
      ['integer not null', 'email_verified'],
      ['text not null', 'export_key_sealed'],
      ['bigint default 0 not null', 'last_stamp', 'live_bookmarks'],
      ['bigint not null', 'created_at'],
    ],
    'constraint "users_identity" unique ("issuer", "subject")',
  )
  await addTable('logins', [
    ['text primary key', 'id'],
    [`text not null ${ofUser}`, 'user_id'],
    ['text', 'provider_token_sealed'],
    ['bigint not null', 'checked_at'],
    ['bigint default 0 not null', 'asking_until'],
    ['integer default 0 not null', 'unanswered'],
    ['bigint not null', 'created_at'],
  ])
  await addIndex('logins_user', 'logins', ['user_id'])
  await addTable('tokens', [
    ['text primary key', 'hash'],
    ['text not null', 'kind'],
    ['text not null references "logins" ("id") on delete cascade', 'login_id'],
    ['bigint not null', 'issued_at', 'expires_at'],
  ])
  await addIndex('tokens_login', 'tokens', ['login_id'])
  await addIndex('tokens_expiry', 'tokens', ['expires_at'])
  await addTable(
    'records',
    [
      [`text not null ${ofUser}`, 'user_id'],
      ['text not null', 'entity_type', 'entity_id'],
      ['text', 'encrypted_data', 'data_hash'],
      ['bigint not null', 'created_at', 'updated_at'],
      ['bigint', 'deleted_at'],
      ['bigint not null', 'stamp'],
      ['text not null', 'event_id', 'operation'],
      ['bigint not null', 'timestamp'],
      ['text not null', 'device_id'],
      ['integer not null', 'conflict_resolved'],
      ['text', 'resolution_strategy'],
    ],
    'constraint "records_pkey" primary key ("user_id", "entity_type", "entity_id")',
    'constraint "records_stamp" unique ("user_id", "stamp")',
  )
  const isListed = `"deleted_at" is null and "entity_type" = 'bookmark'`
  await addIndex('records_newest', 'records', ['user_id', 'created_at', 'entity_id'], isListed)
  await addTable(
    'devices',
    [
      [`text not null ${ofUser}`, 'user_id'],
      ['text not null', 'device_id'],
      ['bigint not null', 'cursor', 'last_sync'],
    ],
    'constraint "devices_pkey" primary key ("user_id", "device_id")',
  )
  await addTable(
    'rejections',
    [
      [`text not null ${ofUser}`, 'user_id'],
      ['text not null', 'entity_type', 'entity_id', 'device_id'],
      ['bigint not null', 'winner_stamp', 'created_at'],
    ],
    'constraint "rejections_pkey" primary key ("user_id", "entity_type", "entity_id")',
  )
  await addTable('exports', [
    ['text primary key', 'id'],
    [`text not null ${ofUser}`, 'user_id'],
    ['text not null', 'status'],
    ['bigint not null', 'created_at'],
    ['bigint', 'size_bytes', 'bookmark_count', 'expires_at'],
    ['integer default 0 not null', 'attempts', 'fence'],
    ['bigint default 0 not null', 'lease_until'],
    ['text', 'object_key'],
    ['text not null', 'key_sealed'],
  ])
  await addIndex('exports_user', 'exports', ['user_id', 'created_at'])
  await addIndex('exports_status', 'exports', ['status', 'lease_until'])
  await addTable('keyrings', [
    [`text primary key ${ofUser}`, 'user_id'],
    ['text not null', 'keyring'],
    ['bigint not null', 'revision'],
  ])
}

/** Counts what each user stores, so that writes can check a limit without reading the records. */
async function quota({ db, addColumns }: Changes): Promise<void> {
  await addColumns('users', 'bigint default 0 not null', 'stored_bytes', 'stored_records')
  await count(db as Kysely<QuotaTables>)
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

/** Few enough that even the largest records are moved within the database's time limit. */
const pageLength = 500

/**
 * Moves the ciphertext to a table of its own, so that what concerns a record's small columns neither reads nor rewrites
 * it: SQLite rewrites a whole row, however little of it changes. Its size is kept with the record.
 */
async function ciphertexts({ db, isServer, addTable, addColumns, addIndex }: Changes): Promise<void> {
  await addTable(
    'ciphertexts',
    [
      [`text not null ${ofUser}`, 'user_id'],
      ['bigint not null', 'stamp'],
      ['text not null', 'encrypted_data'],
    ],
    'constraint "ciphertexts_pkey" primary key ("user_id", "stamp")',
  )
  await addColumns('records', 'bigint default 0 not null', 'bytes')
  await addColumns('records', 'bigint', 'data_stamp')
  await moveAll(db as Kysely<{ records: { user_id: string; stamp: number } }>)
  // An index on many millions of records takes longer than a statement of the service may.
  if (isServer) await sql`set local statement_timeout = 0`.execute(db)
  await db.schema.alterTable('records').dropColumn('encrypted_data').execute()
  await addIndex('records_device', 'records', ['user_id', 'device_id', 'stamp'])
}

/** A page at a time, so that SQLite uses the room of what has moved, and the file does not double. */
async function moveAll(db: Kysely<{ records: { user_id: string; stamp: number } }>): Promise<void> {
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
    const isMoved = sql`(user_id, stamp) > ${key(after)} and (user_id, stamp) <= ${key(last)} and encrypted_data is not null`
    await sql`insert into ciphertexts (user_id, stamp, encrypted_data)
    select user_id, stamp, encrypted_data from records where ${isMoved}`.execute(db)
    await sql`update records set bytes = octet_length(encrypted_data), data_stamp = stamp, encrypted_data = null
    where ${isMoved}`.execute(db)
    after = last
  }
}

function key({ user_id, stamp }: { user_id: string; stamp: number }): RawBuilder<unknown> {
  return sql`(${user_id}, ${stamp})`
}

/** Rows that the sweeps remove are found by their age. */
async function sweeps({ addIndex }: Changes): Promise<void> {
  await addIndex('devices_last_sync', 'devices', ['last_sync'])
  await addIndex('rejections_age', 'rejections', ['created_at'])
  await addIndex('exports_expiry', 'exports', ['expires_at'])
}

/** When a login ends at the latest, and the sign-ins that were completed not long ago. */
async function signIns({ addColumns, addTable, addIndex }: Changes): Promise<void> {
  await addColumns('logins', 'bigint', 'ends_at')
  await addTable('used_nonces', [
    ['text primary key', 'nonce'],
    ['bigint not null', 'expires_at'],
  ])
  await addIndex('used_nonces_expiry', 'used_nonces', ['expires_at'])
}

/** One row: the epoch that all cursors belong to. */
async function epoch({ db, addTable }: Changes): Promise<void> {
  await addTable('epoch', [
    ['text primary key', 'id'],
    ['integer default 0 not null', 'restored'],
  ])
  await sql`insert into "epoch" ("id") values (${uuidv7()})`.execute(db)
}

/** One row that health probes write: that a database can be read does not show that it can be written. */
async function heartbeat({ db, addTable }: Changes): Promise<void> {
  await addTable('heartbeat', [['bigint not null', 'at']])
  await sql`insert into "heartbeat" ("at") values (${0})`.execute(db)
}
