import Sqlite from 'better-sqlite3'
import type { FastifyBaseLogger } from 'fastify'
import { Kysely } from 'kysely'
import { sqliteFile } from '../config/storage.ts'
import { ConfigError } from '../config/values.ts'
import type { Database, Db } from './engine/database.ts'
import { openPostgres } from './engine/postgres/open.ts'
import { memoized, ServiceDialect } from './engine/sqlite/connection.ts'
import { sqliteNow } from './engine/sqlite/open.ts'
import { appliedMigrations, knownMigrations } from './migrate.ts'
import type { Schema } from './schema.ts'

export type Beside = Pick<Database, 'db' | 'write' | 'isServer' | 'now' | 'close'>

/** Longer than the service waits: a command can afford to. */
const busyMs = 60_000

/** For a command that runs while the service does: ignores the service's lock, and refuses any schema but its own. */
export async function openBeside(url: string, log: FastifyBaseLogger): Promise<Beside> {
  return openChecked(url, log, checkSchema)
}

/** Refuses a database that no version of the service has made, such as an empty one. */
export async function demandOwn(url: string, log: FastifyBaseLogger): Promise<void> {
  const beside = await openChecked(url, log, ownMigrations)
  await beside.close()
}

async function openChecked(url: string, log: FastifyBaseLogger, check: (db: Db) => Promise<unknown>): Promise<Beside> {
  const file = sqliteFile(url)
  const beside = file === undefined ? openPostgres(url, log) : openSqliteBeside(file)
  try {
    await check(beside.db)
    return beside
  } catch (error) {
    await beside.close()
    if (error instanceof ConfigError) throw error
    throw new ConfigError(`DATABASE_URL: the database cannot be used (${(error as Error).message})`, { cause: error })
  }
}

function openSqliteBeside(path: string): Beside {
  const connection = memoized(openFile(path))
  const dialect = new ServiceDialect({ connection, reader: connection, times: { count: 0, ms: 0 } })
  const db = new Kysely<Schema>({ dialect })
  return {
    db,
    write: (work) => db.transaction().execute(work),
    isServer: false,
    now: sqliteNow,
    close: () => db.destroy(),
  }
}

function openFile(path: string): Sqlite.Database {
  try {
    const sqlite = new Sqlite(path, { fileMustExist: true, timeout: busyMs })
    sqlite.pragma('synchronous = FULL')
    sqlite.pragma('secure_delete = ON')
    return sqlite
  } catch (error) {
    throw new ConfigError(`DATABASE_URL: ${path} cannot be opened (${(error as Error).message})`)
  }
}

async function ownMigrations(db: Db) {
  const applied = await appliedMigrations(db)
  if (applied.required.length === 0) throw new ConfigError('DATABASE_URL: the database does not belong to this service')
  return applied
}

async function checkSchema(db: Db): Promise<void> {
  const { required, all } = await ownMigrations(db)
  const known = knownMigrations()
  if (known.some((name) => !all.has(name)) || required.some((name) => !known.includes(name))) {
    throw new ConfigError('DATABASE_URL: the database has another version; run the command of that version')
  }
}
