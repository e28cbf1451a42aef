import Sqlite from 'better-sqlite3'
import type { FastifyBaseLogger } from 'fastify'
import { Kysely } from 'kysely'
import { sqliteFile } from '../config/storage.ts'
import { ConfigError } from '../config/values.ts'
import type { Database, Db } from './engine/database.ts'
import { openPostgres } from './engine/postgres/open.ts'
import { memoized, ServiceDialect } from './engine/sqlite/connection.ts'
import { sqliteNow } from './engine/sqlite/open.ts'
import { beforeThree, type SchemaState, schemaState } from './migrate.ts'
import type { Schema } from './schema.ts'

export type Beside = Pick<Database, 'db' | 'write' | 'isServer' | 'now' | 'close'>

/** Longer than the service waits: a command can afford to. */
const busyMs = 60_000

/** For a command that runs while the service does: ignores the service's lock, and refuses any schema but its own. */
export async function openBeside(url: string, log: FastifyBaseLogger): Promise<Beside> {
  return openChecked(url, log, ['current'])
}

/** Refuses a database that no version of the service has made, such as an empty one. */
export async function demandOwn(url: string, log: FastifyBaseLogger): Promise<void> {
  const beside = await openChecked(url, log, ['current', 'earlier', 'newer'])
  await beside.close()
}

async function openChecked(url: string, log: FastifyBaseLogger, allowed: SchemaState[]): Promise<Beside> {
  const file = sqliteFile(url)
  const beside = file === undefined ? openPostgres(url, log) : openSqliteBeside(file)
  try {
    await demandSchema(beside.db, allowed)
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

async function demandSchema(db: Db, allowed: SchemaState[]): Promise<void> {
  const state = await schemaState(db)
  if (allowed.includes(state)) return
  if (state === 'none') throw new ConfigError('DATABASE_URL: the database does not belong to this service')
  if (state === 'before 3') throw new ConfigError(`DATABASE_URL: the database ${beforeThree}`)
  throw new ConfigError('DATABASE_URL: the database has another version; run the command of that version')
}
