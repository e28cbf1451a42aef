import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import { type Migration, Migrator } from 'kysely/migration'
import { ConfigError } from '../config/values.ts'
import type { Database, Db } from './database.ts'
import { beginEpochOfCopy } from './epoch.ts'
import { migrationsWith } from './migrations/index.ts'
import { rememberTrouble } from './trouble.ts'

const retryMs = 1000

interface ServerOptions {
  /** Connections of the pool. */
  poolSize?: number
  /** How long to wait for a server that is not there yet, or still starting. */
  waitMs?: number
}

/** The only place where the dialect is chosen. Its driver alone is loaded. The options are for Postgres. */
export async function openDatabase(
  url: string,
  log: FastifyBaseLogger,
  { poolSize, waitMs = 0 }: ServerOptions = {},
): Promise<Database> {
  const isSqlite = url.startsWith('sqlite:')
  const database = isSqlite ? await openFile(url.slice('sqlite:'.length)) : await openServer(url, log, poolSize)
  try {
    await whenAvailable(database, log, isSqlite ? 0 : waitMs, async () => {
      await migrate(database.db, migrationsWith(isSqlite ? 'text' : 'text collate "C"'))
      await beginEpochOfCopy(database)
    })
  } catch (error) {
    await database.close()
    if (error instanceof ConfigError) throw error
    throw new ConfigError(`DATABASE_URL: the database cannot be used (${(error as Error).message})`, { cause: error })
  }
  return rememberTrouble(database)
}

/** Tries again while the database is not available. */
async function whenAvailable(
  { isUnavailable }: Database,
  log: FastifyBaseLogger,
  waitMs: number,
  work: () => Promise<void>,
): Promise<void> {
  for (const until = performance.now() + waitMs; ; await sleep(retryMs)) {
    try {
      return await work()
    } catch (err) {
      const { cause = err } = err as Error
      if (!isUnavailable(cause) || performance.now() > until) throw err
      log.warn({ err }, 'waiting for the database')
    }
  }
}

async function openFile(path: string): Promise<Database> {
  const { openSqlite } = await import('./sqlite.ts')
  return openSqlite(path)
}

async function openServer(url: string, log: FastifyBaseLogger, poolSize?: number): Promise<Database> {
  const { openPostgres } = await import('./postgres.ts')
  return openPostgres(url, log, poolSize)
}

async function migrate(db: Db, migrations: Record<string, Migration>): Promise<void> {
  const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } })
  const known = new Set(Object.keys(migrations))
  const newer = (await appliedMigrations(db)).filter((name) => !known.has(name))
  if (newer.length > 0) {
    throw new ConfigError(`DATABASE_URL: the database has a newer version (${newer.join(', ')}); start that version`)
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
