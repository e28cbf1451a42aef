import type { Kysely, RawBuilder, Transaction } from 'kysely'
import type { Schema } from '../schema.ts'

/** For queries that may run outside a transaction. */
export type Db = Kysely<Schema>
/** For queries that must be part of a transaction. */
export type Trx = Transaction<Schema>

export interface Database {
  db: Db
  /** For reading all records of a user. On SQLite, another connection: the pages read do not fill the cache of `db`. */
  bulk: Db
  /**
   * Runs `work` in a transaction. Resolves once it is on disk. `work` must do nothing but queries, because others wait for it,
   * and runs again after a deadlock (Postgres). If it throws, its writes are undone, but not always if Postgres is lost in the
   * commit, nor others' in the transaction (SQLite). Throws Overloaded after waiting 10 s, or if its owner has too many waiting.
   *
   * @param owner whose writes take turns with others': a user, or `ownerOfLogins`; undefined for the service's own
   * @param isLarge true if the work takes long: on SQLite, it then does not share a transaction
   */
  write<T>(work: (trx: Trx) => Promise<T>, owner?: string, isLarge?: boolean): Promise<T>
  /** True for Postgres, which other instances may share; false for SQLite, whose file only this process serves. */
  isServer: boolean
  /** Runs long work, such as a migration. On Postgres, over its own connection, without time limits per statement. */
  maintain<T>(work: (db: Db) => Promise<T>): Promise<T>
  /** Runs `work`, unless another instance is running work with this name. */
  exclusively(name: string, work: () => Promise<void>): Promise<void>
  /** Tests whether it takes writes, on Postgres over a connection of its own. Resolves to its time (Unix ms). */
  probe(): Promise<number>
  /** The database's clock (Unix ms) as an SQL expression. All instances share it, even if their own clocks differ. */
  now: RawBuilder<number>
  /** Removes erased data from SQLite's write-ahead log, unless another process is reading. Does nothing on Postgres. */
  emptyLog(): Promise<void>
  /** True if a query failed because of the database (unreachable, full, damaged), not because of the query itself. */
  isUnavailable(error: unknown): boolean
  /** Connections in use and free, and waiting queries and writes. On SQLite, only the writer counts. */
  load(): Record<'busy' | 'idle' | 'waiting', number>
  queries(): Readonly<QueryTimes>
  close(): Promise<void>
}

/** The number of queries answered since the start, and their total time. */
export interface QueryTimes {
  count: number
  ms: number
}
