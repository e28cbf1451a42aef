import type Sqlite from 'better-sqlite3'
import { type Kysely, SqliteAdapter, SqliteDialect, SqliteQueryCompiler } from 'kysely'
import type { Schema } from './schema.ts'

/** Keeps what it has prepared. */
export interface Connection {
  readonly inTransaction: boolean
  prepare(sql: string): Sqlite.Statement
  close(): void
}

export class ServiceDialect extends SqliteDialect {
  readonly #connection: Connection
  readonly #reader: Connection

  /** Reads that are not part of the transaction in progress go to `reader`, which sees what is committed. */
  constructor(connection: Connection, reader: Connection) {
    super({ database: connection })
    this.#connection = connection
    this.#reader = reader
  }

  override createQueryCompiler() {
    return new (class extends SqliteQueryCompiler {
      /** SQLite has one writer, whose transaction is the lock: the clauses that lock rows on Postgres are left out. */
      protected override visitSelectModifier() {}

      /** For a bare `?`, SQLite prepares a join again whenever it runs, in case another plan suits the value. */
      protected override getCurrentParameterPlaceholder() {
        return '+?'
      }
    })()
  }

  override createAdapter() {
    return new SynchronousAdapter(this.#connection, this.#reader)
  }
}

export class SynchronousAdapter extends SqliteAdapter {
  readonly #connection: Connection
  readonly #reader: Connection

  constructor(connection: Connection, reader: Connection) {
    super()
    this.#connection = connection
    this.#reader = reader
  }

  /** A start that is interrupted in a migration leaves nothing of it behind. */
  override get supportsTransactionalDdl() {
    return true
  }

  /** Runs a statement at once: the driver is synchronous, so a transaction has the connection to itself meanwhile. */
  execute<Row>(db: Kysely<Schema>, method: 'all' | 'get' | 'run', sql: string, parameters: unknown[]) {
    const isOpen = this.#connection.inTransaction
    if (db.isTransaction && !isOpen) throw new Error('the transaction has ended')
    const statement = (isOpen && !db.isTransaction ? this.#reader : this.#connection).prepare(sql)
    if (method === 'all') return { rows: statement.all(parameters) as Row[] }
    if (method === 'run' && !statement.reader) return { rows: [], numAffectedRows: statement.run(parameters).changes }
    const row = statement.get(parameters) as Row | undefined
    return { rows: row === undefined ? [] : [row], numAffectedRows: 0 }
  }
}
