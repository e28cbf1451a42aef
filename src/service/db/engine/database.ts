import type { Kysely, RawBuilder, Transaction } from 'kysely'
import type { Schema } from '../schema.ts'

/** For queries that may run outside a transaction. */
export type Db = Kysely<Schema>
/** For queries that must be part of a transaction. */
export type Trx = Transaction<Schema>

export interface Database {
  db: Db
  /** For reading all records of a user. On SQLite, a second connection: `db` keeps its cache and need not wait. */
  bulk: Db
  /**
   * Runs `work` in a transaction. Resolves once it is on disk. `work` may run again after a deadlock. It must do
   * nothing but queries, because it occupies the database. If it throws, its writes are undone, but not those of others
   * in the same transaction. Throws Overloaded if the transaction had to wait too long.
   *
   * @param owner the user or login whose rows are locked; undefined for the service's own writes. Owners take turns
   * @param isLarge the work takes long, so on SQLite it does not share a transaction
   */
  write<T>(work: (trx: Trx) => Promise<T>, owner?: string, isLarge?: boolean): Promise<T>
  /** True for a server that other instances may share, false for a file of this process. */
  isServer: boolean
  /** Runs long work, such as a migration, over a connection without time limits that serves no requests. */
  maintain<T>(work: (db: Db) => Promise<T>): Promise<T>
  /** Runs `work`, unless another instance runs work with the same name. */
  exclusively(name: string, work: () => Promise<void>): Promise<void>
  /** Writes a row that nothing reads, without waiting behind queries. Resolves to the database's time (Unix ms). */
  probe(): Promise<number>
  /** The database's clock (Unix ms) as an SQL expression. All instances share it, even if their own clocks differ. */
  now: RawBuilder<number>
  /** Removes erased data from SQLite's write-ahead log. Does nothing on Postgres, or while another process reads. */
  emptyLog(): Promise<void>
  /** True if a query failed because of the database (unreachable, full, damaged), not because of the query itself. */
  isUnavailable(error: unknown): boolean
  /** Connections in use and free, and waiting queries. On SQLite, only those of the writer. */
  load(): Record<'busy' | 'idle' | 'waiting', number>
  queries(): Readonly<QueryTimes>
  close(): Promise<void>
}

/** The number of queries answered since the start, and their total time. */
export interface QueryTimes {
  count: number
  ms: number
}
