import type Sqlite from 'better-sqlite3'
import { type Kysely, SqliteAdapter, type SqliteDatabase, SqliteDialect, SqliteQueryCompiler } from 'kysely'
import type { Schema } from '../schema.ts'
import { addQueries, type QueryTimes } from './query-times.ts'

/** Keeps what it has prepared. */
export interface Connection {
  readonly inTransaction: boolean
  prepare(sql: string): Sqlite.Statement
  close(): void
}

export class ServiceDialect extends SqliteDialect {
  readonly #connection: Connection
  readonly #reader: Connection
  readonly #times: QueryTimes

  /** Reads that are not part of the transaction in progress go to `reader`, which sees what is committed. */
  constructor(connection: Connection, reader: Connection, times: QueryTimes) {
    super({ database: timed(connection, times) })
    this.#connection = connection
    this.#reader = reader
    this.#times = times
  }

  override createQueryCompiler() {
    return new ServiceQueryCompiler()
  }

  override createAdapter() {
    return new SynchronousAdapter(this.#connection, this.#reader, this.#times)
  }
}

export class ServiceQueryCompiler extends SqliteQueryCompiler {
  /** SQLite has one writer, whose transaction is the lock: the clauses that lock rows on Postgres are left out. */
  protected override visitSelectModifier() {}

  /** For a bare `?`, SQLite prepares a join again whenever it runs, in case another plan suits the value. */
  protected override getCurrentParameterPlaceholder() {
    return '+?'
  }
}

export class SynchronousAdapter extends SqliteAdapter {
  readonly #connection: Connection
  readonly #reader: Connection
  /** For whoever runs a statement. */
  readonly times: QueryTimes

  constructor(connection: Connection, reader: Connection, times: QueryTimes) {
    super()
    this.#connection = connection
    this.#reader = reader
    this.times = times
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

/** For Kysely's driver, which runs what it prepares at once. */
function timed(connection: Connection, times: QueryTimes): SqliteDatabase {
  return {
    close: () => connection.close(),
    prepare(sql) {
      const statement = connection.prepare(sql)
      const measured = <T>(run: () => T): T => {
        const began = performance.now()
        const result = run()
        addQueries(times, 1, began)
        return result
      }
      return {
        reader: statement.reader,
        all: (parameters) => measured(() => statement.all(parameters)),
        run: (parameters) => measured(() => statement.run(parameters)),
        iterate: (parameters) => statement.iterate(parameters) as IterableIterator<unknown>,
      }
    },
  }
}
