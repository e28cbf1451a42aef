import type { FastifyBaseLogger } from 'fastify'
import type { Kysely, RawBuilder, Transaction } from 'kysely'
import { type Migration, Migrator } from 'kysely/migration'
import { ConfigError } from '../config/values.ts'
import { migrationsWith } from './migrations/index.ts'
import { openPostgres } from './postgres.ts'
import type { EntityKey, Row, StoredVersion } from './records.ts'
import type { Rejection } from './rejections.ts'
import type { Schema } from './schema.ts'
import { openSqlite } from './sqlite.ts'

/** What a query outside of a transaction takes. */
export type Db = Kysely<Schema>
/** What a query that must be part of a transaction takes. */
export type Trx = Transaction<Schema>

export interface Database {
  db: Db
  /** For reading all of a user's records: apart from `db`, so that it neither delays others nor takes their cache. */
  bulk: Db
  /**
   * Runs `work` in a transaction that is on disk when the promise resolves. `work` may run only queries: it holds the
   * database while it waits. An error thrown by it undoes its writes alone.
   */
  write<T>(work: (trx: Trx) => Promise<T>): Promise<T>
  /** The database's own clock, Unix ms, as a part of a query: what instances agree on whose clocks differ. */
  now: RawBuilder<number>
  /** The stored versions of the given entities, in their order; undefined for an unknown one. */
  findVersions(trx: Trx, userId: string, keys: EntityKey[]): Promise<(StoredVersion | undefined)[]>
  /** Stores new versions, one an entity. One without data (a delete) keeps the stored data; `created_at` never moves. */
  saveVersions(trx: Trx, rows: Row[]): Promise<void>
  /** Stores open conflicts, one an entity. */
  saveRejections(trx: Trx, rejections: Rejection[]): Promise<void>
  /** A newer change of an entity settles its conflict. */
  settleEntities(trx: Trx, userId: string, keys: EntityKey[]): Promise<void>
  /** Whether an error of a query means that the database itself is out of reach, rather than a fault of the query. */
  isUnavailable(error: unknown): boolean
  /** Connections in use and free, and how much waits for one: on SQLite the writes after those that are being committed. */
  load(): Record<'busy' | 'idle' | 'waiting', number>
  close(): Promise<void>
}

/** The only place where the dialect is chosen. */
export async function openDatabase(url: string, log: FastifyBaseLogger): Promise<Database> {
  const isSqlite = url.startsWith('sqlite:')
  const database = isSqlite ? await openSqlite(url.slice('sqlite:'.length)) : openPostgres(url, log)
  try {
    await migrate(database.db, migrationsWith(isSqlite ? 'text' : 'text collate "C"'))
  } catch (error) {
    await database.close()
    if (error instanceof ConfigError) throw error
    throw new ConfigError(`DATABASE_URL: the database cannot be used (${(error as Error).message})`, { cause: error })
  }
  return database
}

async function migrate(db: Db, migrations: Record<string, Migration>): Promise<void> {
  const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } })
  const known = new Set(Object.keys(migrations))
  const newer = (await appliedMigrations(db)).filter((name) => !known.has(name))
  if (newer.length > 0) {
    throw new ConfigError(
      `DATABASE_URL: the database was made by a newer version (${newer.join(', ')}); start that one`,
    )
  }
  const { error } = await migrator.migrateToLatest()
  if (error) {
    throw new ConfigError(`DATABASE_URL: the database cannot be migrated (${(error as Error).message})`, {
      cause: error,
    })
  }
}

export async function appliedMigrations(db: Db): Promise<string[]> {
  const tables = await db.introspection.getTables({ withInternalKyselyTables: true })
  if (!tables.some((table) => table.name === 'kysely_migration')) return []
  const rows = await db
    .withTables<{ kysely_migration: { name: string } }>()
    .selectFrom('kysely_migration')
    .select('name')
    .execute()
  return rows.map((row) => row.name)
}
