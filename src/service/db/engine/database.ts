import type { Kysely, RawBuilder, Transaction } from 'kysely'
import type { Schema } from '../schema.ts'

/** For queries that may run outside a transaction. */
export type Db = Kysely<Schema>
/** For queries that must be part of a transaction. */
export type Trx = Transaction<Schema>

export interface Database {
  db: Db
  /** For reading all of a user's records: apart from `db`, so that it neither delays others nor takes their cache. */
  bulk: Db
  /**
   * Runs `work` in a transaction that is on disk when the promise resolves. `work` may only run queries, because it holds the
   * database meanwhile, and may run again. If it throws, only its own writes are undone. Throws Overloaded if it has to wait for
   * too long.
   *
   * @param owner the user, or the login, whose rows it locks. Owners take turns. Without one, it is a write that the service makes
   *   for itself
   * @param isLarge it takes long, so on SQLite it shares no transaction
   */
  write<T>(work: (trx: Trx) => Promise<T>, owner?: string, isLarge?: boolean): Promise<T>
  /** A server, which other instances may be using, too; not a file of this process. */
  isServer: boolean
  /** Runs what may take as long as it takes, such as a migration, apart from what serves requests. */
  maintain<T>(work: (db: Db) => Promise<T>): Promise<T>
  /** Runs `work`, unless another instance is running what has the same name. */
  exclusively(name: string, work: () => Promise<void>): Promise<void>
  /** Writes something that nobody reads, apart from what waits for a connection. Resolves to the database's time (Unix ms). */
  probe(): Promise<number>
  /** The database's clock (Unix ms) as part of a query: all instances share it, even if their own clocks differ. */
  now: RawBuilder<number>
  /** Leaves nothing that was erased in SQLite's log. Does nothing while somebody else reads, or on Postgres. */
  emptyLog(): Promise<void>
  /** True if a query failed because the database is unreachable, not because of the query itself. */
  isUnavailable(error: unknown): boolean
  /** Connections in use and free, and what waits for one; on SQLite, the writes that wait for the current commit. */
  load(): Record<'busy' | 'idle' | 'waiting', number>
  queries(): Readonly<QueryTimes>
  close(): Promise<void>
}

/** How many queries the database has answered since the start, and how long they took together. */
export interface QueryTimes {
  count: number
  ms: number
}
