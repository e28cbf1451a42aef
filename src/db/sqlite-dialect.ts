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

  /** The driver is synchronous: whoever runs the statement at once has its connection to itself. */
  statement(db: Kysely<Schema>, sql: string): Sqlite.Statement {
    const isOpen = this.#connection.inTransaction
    if (db.isTransaction && !isOpen) throw new Error('the transaction has ended')
    return (isOpen && !db.isTransaction ? this.#reader : this.#connection).prepare(sql)
  }
}
