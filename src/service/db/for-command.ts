import Sqlite from 'better-sqlite3'
import type { FastifyBaseLogger } from 'fastify'
import { Kysely } from 'kysely'
import { sqliteFile } from '../config/storage.ts'
import { ConfigError } from '../config/values.ts'
import type { Database, Db } from './engine/database.ts'
import { openPostgres } from './engine/postgres/open.ts'
import { memoized, ServiceDialect } from './engine/sqlite/connection.ts'
import { refuseForeignLog } from './engine/sqlite/foreign-log.ts'
import { sqliteNow } from './engine/sqlite/open.ts'
import { type SchemaState, schemaState, tooOld } from './migrate.ts'
import type { Schema } from './schema.ts'

export type CommandDatabase = Pick<Database, 'db' | 'write' | 'isServer' | 'now' | 'close'>

/** How long a command waits for SQLite's write lock: longer than the service, because no request waits for it. */
const busyMs = 60_000

/** Opens the database even while the service runs and has locked it. Refuses other schema versions. */
export async function openForCommand(url: string, log: FastifyBaseLogger): Promise<CommandDatabase> {
  return openChecked(url, log, ['current'])
}

/** Refuses a database that the service has not created, such as an empty one. */
export async function requireOwn(url: string, log: FastifyBaseLogger): Promise<void> {
  const database = await openChecked(url, log, ['current', 'earlier', 'newer'])
  await database.close()
}

async function openChecked(url: string, log: FastifyBaseLogger, allowed: SchemaState[]): Promise<CommandDatabase> {
  const file = sqliteFile(url)
  if (file !== undefined) refuseForeignLog(file)
  const database = file === undefined ? openPostgres(url, log) : openSqliteForCommand(file)
  try {
    await requireSchema(database.db, allowed)
    return database
  } catch (error) {
    await database.close()
    if (error instanceof ConfigError) throw error
    throw new ConfigError(`DATABASE_URL: the database cannot be used (${(error as Error).message})`, { cause: error })
  }
}

function openSqliteForCommand(path: string): CommandDatabase {
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

async function requireSchema(db: Db, allowed: SchemaState[]): Promise<void> {
  const state = await schemaState(db)
  if (allowed.includes(state)) return
  if (state === 'none') throw new ConfigError('DATABASE_URL: the database does not belong to this service')
  if (state === 'before 3') throw new ConfigError(`DATABASE_URL: the database ${tooOld}`)
  throw new ConfigError('DATABASE_URL: the database has another version; run the command of that version')
}
