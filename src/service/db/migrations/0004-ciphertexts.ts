import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import type { Text } from './0001-initial.ts'

/** Few enough that even the largest records are moved within the database's time limit. */
const pageLength = 500

/**
 * Moves the ciphertext to a table of its own, so that what concerns a record's small columns neither reads nor rewrites
 * it: SQLite rewrites a whole row, however little of it changes. Its size is kept with the record.
 */
export function ciphertexts(textType: Text): Migration {
  return {
    async up(db: Kysely<Tables>) {
      await addColumns(db, sql.raw(textType))
      await moveAll(db)
      // An index on many millions of records takes longer than a statement of the service may.
      if (textType !== 'text') await sql`set local statement_timeout = 0`.execute(db)
      await db.schema.alterTable('records').dropColumn('encrypted_data').execute()
      await db.schema.createIndex('records_device').on('records').columns(['user_id', 'device_id', 'stamp']).execute()
    },
  }
}

interface Tables {
  records: {
    user_id: string
    stamp: number
    encrypted_data: string | null
    bytes: number
    data_stamp: number | null
  }
  ciphertexts: { user_id: string; stamp: number; encrypted_data: string }
}

async function addColumns(db: Kysely<Tables>, text: RawBuilder<unknown>): Promise<void> {
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
async function moveAll(db: Kysely<Tables>): Promise<void> {
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

async function movePage(db: Kysely<Tables>, isInPage: RawBuilder<unknown>): Promise<void> {
  await sql`insert into ciphertexts (user_id, stamp, encrypted_data)
    select user_id, stamp, encrypted_data from records where ${isInPage} and encrypted_data is not null`.execute(db)
  await sql`update records set bytes = octet_length(encrypted_data), data_stamp = stamp, encrypted_data = null
    where ${isInPage} and encrypted_data is not null`.execute(db)
}

function key({ user_id, stamp }: { user_id: string; stamp: number }): RawBuilder<unknown> {
  return sql`(${user_id}, ${stamp})`
}
