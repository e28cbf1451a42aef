import { dirname } from 'node:path'
import Sqlite from 'better-sqlite3'
import { Kysely, sql } from 'kysely'
import { makeFolder } from '../../../config/folders.ts'
import { ConfigError } from '../../../config/values.ts'
import type { Schema } from '../../schema.ts'
import type { Database } from '../database.ts'
import { beat, faultOf } from '../probe.ts'
import { memoized, ServiceDialect } from './connection.ts'
import { maxLogBytes, openWriteAheadLog } from './log.ts'
import { findFault, makeReserve, releaseReserve } from './reserve.ts'
import { createSqliteWriter, isSqliteUnavailable } from './writer.ts'

const busyMs = 5000
/** Its clock is this machine's. */
export const sqliteNow = sql<number>`cast(unixepoch('subsec') * 1000 as integer)`

export async function openSqlite(path: string): Promise<Database> {
  const lock = await lockDatabase(path)
  const sqlite = openFile(path, lock)
  let isReserved = false
  const reader = memoized(openReader(path))
  const times = { count: 0, ms: 0 }
  const db = new Kysely<Schema>({ dialect: new ServiceDialect({ connection: memoized(sqlite), reader, times }) })
  const bulk = new Kysely<Schema>({ dialect: new ServiceDialect({ connection: reader, reader, times }) })
  const log = openWriteAheadLog(sqlite, path)
  const { load, write } = createSqliteWriter(db, log)

  /** A start may have taken it. As long as it does not fit, the disk is full, even if small writes still find a place. */
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
      return write((trx) => beat(trx, sqliteNow))
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
      // SQLite removes its log if the last to close is one that writes. On a full disk the log stays, and so does its index, for
      // which the next start may find no room.
      const isFull = makeReserve(path) !== undefined
      if (!isFull) await closeReader()
      await db.destroy()
      if (sqlite.open) sqlite.close()
      if (isFull) await closeReader()
      lock.close()
    },
  }
}

/** A second process on the same file would not get the first one's notices, so an operating-system lock keeps it out. */
export async function lockDatabase(path: string): Promise<Sqlite.Database> {
  try {
    await makeFolder(dirname(path))
    const lock = new Sqlite(`${path}.lock`, { timeout: 0 })
    lock.pragma('locking_mode = EXCLUSIVE')
    // Otherwise the lock would be written to a journal, for which a full disk has no room.
    lock.pragma('journal_mode = MEMORY')
    lock.exec('BEGIN EXCLUSIVE')
    return lock
  } catch (error) {
    if (error instanceof Sqlite.SqliteError && error.code === 'SQLITE_BUSY') {
      // SQLite says the same where the file system has no locks.
      throw new ConfigError(
        `DATABASE_URL: ${path} is in use by another process, or on a file system without locks, such as NFS`,
      )
    }
    throw new ConfigError(`DATABASE_URL: ${path} cannot be written (${describe(error, path)})`)
  }
}

function openFile(path: string, lock: Sqlite.Database): Sqlite.Database {
  try {
    return openWithLog(path)
  } catch (error) {
    const reasons = describe(error, path)
    lock.close()
    if (error instanceof ConfigError) throw error
    throw new ConfigError(`DATABASE_URL: ${path} cannot be opened (${reasons})`)
  }
}

function openWithLog(path: string): Sqlite.Database {
  try {
    return configure(new Sqlite(path, { timeout: busyMs }), path)
  } catch (error) {
    if (!(error instanceof Sqlite.SqliteError && /^SQLITE_(FULL|IOERR)/.test(error.code))) throw error
    releaseReserve(path)
    return configure(new Sqlite(path, { timeout: busyMs }), path)
  }
}

function describe(error: unknown, path: string): string {
  const { message } = error as Error
  const fault = error instanceof Sqlite.SqliteError ? findFault(path) : undefined
  return fault ? `${message}: ${fault.message}` : message
}

/** In this build, WAL alone means synchronous=NORMAL, which loses confirmed writes: so FULL is set, and read back. */
function configure(sqlite: Sqlite.Database, path: string): Sqlite.Database {
  try {
    sqlite.pragma('journal_mode = WAL')
    sqlite.pragma('synchronous = FULL')
    sqlite.pragma('foreign_keys = ON')
    // Erased content is overwritten.
    sqlite.pragma('secure_delete = ON')
    // A large transaction goes to the log bit by bit, instead of all at its commit. What is often read fits, and the rest
    // is in the system's cache.
    sqlite.pragma('cache_size = -8192')
    // A large transaction, of a migration for example, gives back the room that it needed.
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

/** Another process may be reading for a long time, for a backup: it is not waited for. Little is left to move. */
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

/** Its small cache is enough for what is read once, and for what is asked while the other connection writes. */
function openReader(path: string): Sqlite.Database {
  const sqlite = new Sqlite(path, { readonly: true, timeout: busyMs })
  sqlite.pragma('cache_size = -2048')
  return sqlite
}
