import type { Kysely, RawBuilder, Transaction } from 'kysely'
import type { EntityKey, StoredVersion } from './rows.ts'
import type { Schema } from './schema.ts'
import type { Table } from './upsert.ts'

/** What a query outside of a transaction takes. */
export type Db = Kysely<Schema>
/** What a query that must be part of a transaction takes. */
export type Trx = Transaction<Schema>

export interface Database {
  db: Db
  /** For reading all of a user's records: apart from `db`, so that it neither delays others nor takes their cache. */
  bulk: Db
  /**
   * Runs `work` in a transaction that is on disk when the promise resolves. `work` may run only queries: it holds the
   * database while it waits. An error thrown by it undoes its writes alone.
   */
  write<T>(work: (trx: Trx) => Promise<T>): Promise<T>
  /** The database's own clock, Unix ms, as a part of a query: what instances agree on whose clocks differ. */
  now: RawBuilder<number>
  /** The stored versions of the given entities, in their order; undefined for an unknown one. */
  findVersions(trx: Trx, userId: string, keys: EntityKey[]): Promise<(StoredVersion | undefined)[]>
  /** Writes the rows, each in place of the one that has its key; no two of them have the same key. */
  upsert<Row>(trx: Trx, table: Table<Row>, rows: Row[]): Promise<void>
  /** A newer change of an entity settles its conflict. */
  settleEntities(trx: Trx, userId: string, keys: EntityKey[]): Promise<void>
  /** Whether an error of a query means that the database itself is out of reach, rather than a fault of the query. */
  isUnavailable(error: unknown): boolean
  /** Connections in use and free, and how much waits for one: on SQLite the writes after those that are being committed. */
  load(): Record<'busy' | 'idle' | 'waiting', number>
  close(): Promise<void>
}
