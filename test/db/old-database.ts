import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { Kysely, PostgresDialect, SqliteDialect, sql } from 'kysely'
import { Migrator } from 'kysely/migration'
import pg from 'pg'
import type { Test } from 'tap'
import type { Trx } from '../../src/service/db/engine/database.ts'
import { migrationsWith } from '../../src/service/db/migrations/until-2.0.0.ts'
import type { Schema } from '../../src/service/db/schema.ts'
import type { RecordRow } from '../../src/service/db/tables/records.ts'
import { databaseUrl, isPostgres } from '../support/database-url.ts'

/** A database as left by the version whose last migration this is. */
export async function makeOldDatabase(t: Test, migration: string): Promise<{ url: string; db: Kysely<Schema> }> {
  const folder = await mkdtemp(join(tmpdir(), 'ebs-test-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const url = await databaseUrl(folder)
  const dialect = isPostgres
    ? new PostgresDialect({ pool: new pg.Pool({ connectionString: url }) })
    : new SqliteDialect({ database: new Sqlite(url.slice('sqlite:'.length)) })
  const db = new Kysely<Schema>({ dialect })
  const all = migrationsWith(isPostgres ? 'text collate "C"' : 'text')
  const migrator = new Migrator({ db, provider: { getMigrations: async () => all } })
  const { error } = await migrator.migrateTo(migration)
  if (error) throw error
  return { url, db }
}

/** A version without identities stores no more. */
export async function addOldUser(trx: Trx, id: string): Promise<void> {
  const profile = { email: '', name: '', avatar_url: '', email_verified: 0, export_key_sealed: '', created_at: 1 }
  await trx
    .insertInto('users')
    .values({ id, issuer: 'http://test', subject: id, ...profile })
    .execute()
}

/** A row of `records` while it held its own ciphertext. */
type Later = 'bytes' | 'data_stamp' | 'overwritten' | 'first_stamp' | 'versions' | 'ahead' | 'first_ahead'
export type OldRecord = Omit<RecordRow, Later>

export async function addOldRecord(trx: Trx, record: OldRecord): Promise<void> {
  const columns = Object.keys(record).map((column) => sql.ref(column))
  const values = Object.values(record)
  await sql`insert into records (${sql.join(columns)}) values (${sql.join(values)})`.execute(trx)
}

/** The first character of its id decides its sequence number. */
export function oldRecord(user_id: string, entity_id: string, fields: Partial<OldRecord>): OldRecord {
  return {
    user_id,
    entity_type: 'bookmark',
    entity_id,
    encrypted_data: null,
    data_hash: null,
    created_at: 1,
    updated_at: 2,
    deleted_at: null,
    stamp: entity_id.charCodeAt(0),
    event_id: entity_id,
    operation: 'create',
    timestamp: 3,
    device_id: 'd',
    conflict_resolved: 0,
    resolution_strategy: null,
    ...fields,
  }
}
