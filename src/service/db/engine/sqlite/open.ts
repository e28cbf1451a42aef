import { dirname } from 'node:path'
import Sqlite from 'better-sqlite3'
import { Kysely, sql } from 'kysely'
import { makeFolder } from '../../../config/folders.ts'
import { ConfigError } from '../../../config/values.ts'
import type { Schema } from '../../schema.ts'
import type { Database } from '../database.ts'
import { faultOf, writeHeartbeat } from '../probe.ts'
import { memoized, ServiceDialect } from './connection.ts'
import { refuseForeignLog } from './foreign-log.ts'
import { maxLogBytes, openWriteAheadLog } from './log.ts'
import { findFault, makeReserve, releaseReserve } from './reserve.ts'
import { createSqliteWriter, isSqliteUnavailable } from './writer.ts'

const busyMs = 5000
/** The machine's clock (Unix ms) as an SQL expression. */
export const sqliteNow = sql<number>`cast(unixepoch('subsec') * 1000 as integer)`

/** `examine` may throw to refuse the database before anything, such as its journal mode, is written. */
export async function openSqlite(path: string, examine: Examine): Promise<Database> {
  const lock = await lockDatabase(path)
  const sqlite = openFile(path, lock, examine)
  let isReserved = false
  const reader = memoized(openReader(path))
  const times = { count: 0, ms: 0 }
  const db = new Kysely<Schema>({ dialect: new ServiceDialect({ connection: memoized(sqlite), reader, times }) })
  const bulk = new Kysely<Schema>({ dialect: new ServiceDialect({ connection: reader, reader, times }) })
  const log = openWriteAheadLog(sqlite, path)
  const { load, write } = createSqliteWriter(db, log)

  /** Makes the reserve (reserve.ts), which a start may have used. If there is no room, the disk counts as full. */
  function reserve(): void {
    if (isReserved) return
    const fault = makeReserve(path)
    if (faultOf(fault) !== undefined) throw fault
    isReserved = true
  }

  return {
    db,
    bulk,
    write,
    queries: () => times,
    async probe() {
      reserve()
      return write((trx) => writeHeartbeat(trx, sqliteNow))
    },
    isServer: false,
    maintain: (work) => work(db),
    exclusively: (_, work) => work(),
    now: sqliteNow,
    emptyLog: async () => {
      await log.move()
      await emptyLog(db)
    },
    isUnavailable: isSqliteUnavailable,
    load() {
      const { open, waiting } = load()
      return { busy: open, idle: 1 - open, waiting }
    },
    async close() {
      await log.close()
      const closeReader = async () => {
        await bulk.destroy()
        reader.close()
      }
      // If the last connection to close is a writer, SQLite removes the log. On a full disk, the log and its index must
      // stay, because the next start may have no room for a new index.
      const isFull = makeReserve(path) !== undefined
      if (!isFull) await closeReader()
      await db.destroy()
      if (sqlite.open) sqlite.close()
      if (isFull) await closeReader()
      lock.close()
    },
  }
}

/** An operating-system lock keeps out a second process, which would not get the first one's notifications. */
export async function lockDatabase(path: string): Promise<Sqlite.Database> {
  try {
    await makeFolder(dirname(path))
    const lock = new Sqlite(`${path}.lock`, { timeout: 0 })
    lock.pragma('locking_mode = EXCLUSIVE')
    // Otherwise the lock would need a journal file, for which a full disk has no room.
    lock.pragma('journal_mode = MEMORY')
    lock.exec('BEGIN EXCLUSIVE')
    return lock
  } catch (error) {
    if (error instanceof Sqlite.SqliteError && error.code === 'SQLITE_BUSY') {
      // SQLite reports the same error if the file system has no locks.
      throw new ConfigError(
        `DATABASE_URL: ${path} is in use by another process, or on a file system without locks, such as NFS`,
      )
    }
    throw new ConfigError(`DATABASE_URL: ${path} cannot be written (${describe(error, path)})`)
  }
}

type Examine = (sqlite: Sqlite.Database) => void

function openFile(path: string, lock: Sqlite.Database, examine: Examine): Sqlite.Database {
  try {
    refuseForeignLog(path)
    return openWithLog(path, examine)
  } catch (error) {
    const reasons = describe(error, path)
    lock.close()
    if (error instanceof ConfigError) throw error
    throw new ConfigError(`DATABASE_URL: ${path} cannot be opened (${reasons})`)
  }
}

function openWithLog(path: string, examine: Examine): Sqlite.Database {
  try {
    return configure(new Sqlite(path, { timeout: busyMs }), path, examine)
  } catch (error) {
    if (!(error instanceof Sqlite.SqliteError && /^SQLITE_(FULL|IOERR)/.test(error.code))) throw error
    releaseReserve(path)
    return configure(new Sqlite(path, { timeout: busyMs }), path, examine)
  }
}

function describe(error: unknown, path: string): string {
  const { message } = error as Error
  const fault = error instanceof Sqlite.SqliteError ? findFault(path) : undefined
  return fault ? `${message}: ${fault.message}` : message
}

/** In better-sqlite3, WAL implies synchronous=NORMAL, which can lose confirmed writes. So FULL is set and checked. */
function configure(sqlite: Sqlite.Database, path: string, examine: Examine): Sqlite.Database {
  try {
    examine(sqlite)
    sqlite.pragma('journal_mode = WAL')
    sqlite.pragma('synchronous = FULL')
    sqlite.pragma('foreign_keys = ON')
    // Overwrites erased content with zeros.
    sqlite.pragma('secure_delete = ON')
    // This cache is small, so that large transactions go to the log in parts instead of all at the commit. Frequently
    // read pages fit into it, the rest into the system's cache.
    sqlite.pragma('cache_size = -8192')
    // Shrinks the log again after a large transaction, such as a migration.
    sqlite.pragma(`journal_size_limit = ${maxLogBytes}`)
    const full = 2
    if (
      sqlite.pragma('synchronous', { simple: true }) !== full ||
      sqlite.pragma('journal_mode', { simple: true }) !== 'wal'
    ) {
      throw new ConfigError(`DATABASE_URL: ${path} does not support journal_mode=WAL with synchronous=FULL`)
    }
    return sqlite
  } catch (error) {
    sqlite.close()
    throw error
  }
}

/** Moves the rest of the log and truncates it. Gives up if another process is reading, such as a backup. */
async function emptyLog(db: Kysely<Schema>): Promise<void> {
  await db.connection().execute(async (connection) => {
    await sql`pragma busy_timeout = 0`.execute(connection)
    try {
      await sql`pragma wal_checkpoint(truncate)`.execute(connection)
    } finally {
      await sql`pragma busy_timeout = ${sql.lit(busyMs)}`.execute(connection)
    }
  })
}

/** A second connection for reading. Its small cache suffices for single reads, and for queries during a write. */
function openReader(path: string): Sqlite.Database {
  const sqlite = new Sqlite(path, { readonly: true, timeout: busyMs })
  sqlite.pragma('cache_size = -2048')
  return sqlite
}
