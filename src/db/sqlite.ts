import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import Sqlite from 'better-sqlite3'
import { Kysely, SqliteDialect, sql } from 'kysely'
import { ConfigError } from '../config/values.ts'
import { sqliteBatches } from './batches-sqlite.ts'
import type { Database } from './database.ts'
import { openThreads } from './database-thread.ts'
import { groupCommit } from './group-commit.ts'
import { beat } from './heartbeat.ts'
import { createQueryTimes } from './query-times.ts'
import type { Schema } from './schema.ts'
import { busyMs, configure, memoized } from './sqlite-connection.ts'
import { ServiceDialect, timed } from './sqlite-dialect.ts'
import { ThreadDialect } from './thread-dialect.ts'
import { openWriteAheadLog } from './write-ahead-log.ts'

/** A write waits for one of each other user. With a disk that lets it wait for longer, nobody gets anything written. */
const maxProbeMs = 30_000

export async function openSqlite(path: string): Promise<Database> {
  const lock = lockDatabase(path)
  const sqlite = openFile(path, lock)
  const reader = memoized(openReader(path))
  const times = createQueryTimes()
  const db = new Kysely<Schema>({ dialect: new ServiceDialect(memoized(sqlite), reader, times) })
  const bulk = new Kysely<Schema>({ dialect: new SqliteDialect({ database: timed(reader, times) }) })
  const now = sql<number>`cast(unixepoch('subsec') * 1000 as integer)`
  const threads = openThreads(path)
  const log = openWriteAheadLog(sqlite, path, threads)
  const large = new Kysely<Schema>({ dialect: new ThreadDialect(threads, times) })
  const commits = groupCommit(db, large, log)
  return {
    db,
    bulk,
    ...commits,
    queries: () => times,
    probe: () => inTime(commits.write((trx) => beat(trx, now))),
    isServer: false,
    maintain: (work) => work(db),
    exclusively: (_, work) => work(),
    now,
    ...sqliteBatches,
    emptyLog: async () => {
      await log.move()
      await emptyLog(db)
    },
    isUnavailable: (error) =>
      error instanceof Sqlite.SqliteError &&
      /^SQLITE_(BUSY|LOCKED|INTERRUPT|FULL|IOERR|CANTOPEN|READONLY|CORRUPT|NOTADB)/.test(error.code),
    async close() {
      await log.close()
      await threads.close()
      await bulk.destroy()
      await db.destroy()
      reader.close()
      if (sqlite.open) sqlite.close()
      lock.close()
    },
  }
}

/** A second process on the same file would not get the first one's pulses, so an operating-system lock keeps it out. */
export function lockDatabase(path: string): Sqlite.Database {
  try {
    mkdirSync(dirname(path), { recursive: true })
    const lock = new Sqlite(`${path}.lock`, { timeout: 0 })
    lock.pragma('locking_mode = EXCLUSIVE')
    lock.exec('BEGIN EXCLUSIVE')
    return lock
  } catch (error) {
    if (error instanceof Sqlite.SqliteError && error.code === 'SQLITE_BUSY') {
      throw new ConfigError(`DATABASE_URL: ${path} is in use by another process`)
    }
    throw new ConfigError(`DATABASE_URL: ${path} cannot be written (${(error as Error).message})`)
  }
}

function openFile(path: string, lock: Sqlite.Database): Sqlite.Database {
  try {
    return configure(new Sqlite(path, { timeout: busyMs }), path)
  } catch (error) {
    lock.close()
    if (error instanceof ConfigError) throw error
    throw new ConfigError(`DATABASE_URL: ${path} cannot be opened (${(error as Error).message})`)
  }
}

async function inTime<T>(answer: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error('no write came to its end in time')), maxProbeMs)
  try {
    return await Promise.race([answer, late.promise])
  } finally {
    clearTimeout(timer)
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
