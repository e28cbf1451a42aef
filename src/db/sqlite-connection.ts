import type Sqlite from 'better-sqlite3'
import { ConfigError } from '../config/values.ts'
import type { Connection } from './sqlite-dialect.ts'

/** How long a transaction waits for one of another process. */
export const busyMs = 5000
/** At this length of the log the next transaction waits, so that it ends there and begins anew. */
export const maxLogBytes = 64 * 1024 * 1024
const maxStatements = 200

/** In this build, WAL alone means synchronous=NORMAL, which loses confirmed writes: so FULL is set, and read back. */
export function configure(sqlite: Sqlite.Database, path: string): Sqlite.Database {
  sqlite.pragma('journal_mode = WAL')
  sqlite.pragma('synchronous = FULL')
  sqlite.pragma('foreign_keys = ON')
  // What is erased is overwritten.
  sqlite.pragma('secure_delete = ON')
  // A large transaction goes to the log bit by bit, instead of all at its commit. What is often read fits, and the rest
  // is in the system's cache.
  sqlite.pragma('cache_size = -8192')
  // What a large transaction needed, a migration for example, is given back.
  sqlite.pragma(`journal_size_limit = ${maxLogBytes}`)
  // By then, the checkpoints that no commit waits for have failed for long.
  const pageBytes = sqlite.pragma('page_size', { simple: true }) as number
  sqlite.pragma(`wal_autocheckpoint = ${(4 * maxLogBytes) / pageBytes}`)
  const full = 2
  if (
    sqlite.pragma('synchronous', { simple: true }) !== full ||
    sqlite.pragma('journal_mode', { simple: true }) !== 'wal'
  ) {
    throw new ConfigError(`DATABASE_URL: ${path} does not support journal_mode=WAL with synchronous=FULL`)
  }
  return sqlite
}

/**
 * Kysely prepares each query again; a kept statement is several times faster. `begin` takes the write lock at once: a
 * deferred one fails with SQLITE_BUSY if it reads before it writes. After a full disk or an I/O error, SQLite may have
 * rolled back by itself; a second `rollback` would only hide that error behind its own.
 */
export function memoized(sqlite: Sqlite.Database): Connection {
  const statements = new Map<string, Sqlite.Statement>()
  const nothing = sqlite.prepare('select 1 where false')
  return {
    get inTransaction() {
      return sqlite.inTransaction
    },
    close: () => sqlite.close(),
    prepare(sql: string): Sqlite.Statement {
      if (sql === 'rollback' && !sqlite.inTransaction) return nothing
      let statement = statements.get(sql)
      if (!statement) {
        if (statements.size >= maxStatements) statements.clear()
        statement = sqlite.prepare(sql === 'begin' ? 'begin immediate' : sql)
        statements.set(sql, statement)
      }
      return statement
    },
  }
}
