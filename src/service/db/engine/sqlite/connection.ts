import type Sqlite from 'better-sqlite3'
import { SqliteAdapter, type SqliteDatabase, SqliteDialect, SqliteQueryCompiler } from 'kysely'
import type { Db, QueryTimes } from '../database.ts'
import { type Compiled, countQuery, type Method, type Result, type Runner } from '../query.ts'
import type { RowWriter } from '../table.ts'
import { writeInParts } from './rows.ts'

/** A connection with a cache of prepared statements. */
interface Connection {
  readonly inTransaction: boolean
  prepare(sql: string): Sqlite.Statement
  close(): void
}

/** While a transaction is open, queries of engine/query.ts outside it use `reader`, which sees only committed data. */
interface Connections {
  connection: Connection
  reader: Connection
  times: QueryTimes
}

export class ServiceDialect extends SqliteDialect {
  readonly #parts: Connections

  constructor(parts: Connections) {
    super({ database: timed(parts) })
    this.#parts = parts
  }

  /** Begins and ends transactions with prepared statements. */
  override createDriver() {
    const { connection, times } = this.#parts
    const runs = (sql: string) => async () => void measured(times, () => connection.prepare(sql).run())
    const ends = { commitTransaction: runs('commit'), rollbackTransaction: runs('rollback') }
    return Object.assign(super.createDriver(), { beginTransaction: runs('begin'), ...ends })
  }

  override createQueryCompiler() {
    return new ServiceQueryCompiler()
  }

  override createAdapter() {
    return new SynchronousAdapter(this.#parts)
  }
}

class ServiceQueryCompiler extends SqliteQueryCompiler {
  /** SQLite has a single writer, so clauses that lock rows are left out. */
  protected override visitSelectModifier() {}

  /** A bare `?` would make SQLite plan a join again for each value, because another plan may suit it. */
  protected override getCurrentParameterPlaceholder() {
    return '+?'
  }
}

/** Runs the queries of engine/query.ts. The driver is synchronous, so no two statements use the connection at once. */
class SynchronousAdapter extends SqliteAdapter implements Runner, RowWriter {
  readonly pipelines = false
  readonly writeRows = writeInParts
  readonly #parts: Connections

  constructor(parts: Connections) {
    super()
    this.#parts = parts
  }

  run<Row>(db: Db, { sql }: Compiled, parameters: readonly unknown[], method: Method): Result<Row> {
    const { connection, reader, times } = this.#parts
    const isOpen = connection.inTransaction
    if (db.isTransaction && !isOpen) throw new Error('the transaction has ended')
    const statement = (isOpen && !db.isTransaction ? reader : connection).prepare(sql)
    return measured(times, () => runAtOnce<Row>(statement, method, parameters))
  }
}

/** Counts the query, even if it fails. */
function measured<T>(times: QueryTimes, run: () => T): T {
  const began = performance.now()
  try {
    return run()
  } finally {
    countQuery(times, began)
  }
}

function runAtOnce<Row>(statement: Sqlite.Statement, method: Method, parameters: readonly unknown[]): Result<Row> {
  if (method === 'all') return { rows: statement.all(...parameters) as Row[] }
  if (method === 'run') return { rows: [], numAffectedRows: statement.run(...parameters).changes }
  const row = statement.get(...parameters) as Row | undefined
  return { rows: row === undefined ? [] : [row] }
}

/** Counts the queries that Kysely's driver runs: those not made by `query` of engine/query.ts. */
function timed({ connection, times }: Omit<Connections, 'reader'>): SqliteDatabase {
  return {
    close: () => connection.close(),
    prepare(sql) {
      const statement = connection.prepare(sql)
      return {
        reader: statement.reader,
        all: (parameters) => measured(times, () => statement.all(parameters)),
        run: (parameters) => measured(times, () => statement.run(parameters)),
        iterate: (parameters) => statement.iterate(parameters) as IterableIterator<unknown>,
      }
    },
  }
}

const maxStatements = 200

/**
 * A connection with a statement cache, which is several times faster than preparing each query again. `begin` takes the
 * write lock at once: a deferred transaction that reads first may fail with SQLITE_BUSY when it writes. After a full
 * disk or an I/O error, SQLite may have rolled back already, and a second `rollback` would hide the first error.
 */
export function memoized(sqlite: Sqlite.Database): Connection {
  const statements = new Map<string, Sqlite.Statement>()
  const nothing = sqlite.prepare('select 1 where false')
  /** While this is false, SQLite need not be asked, which takes longer than some queries. */
  let mayBeInTransaction = false
  return {
    get inTransaction() {
      mayBeInTransaction &&= sqlite.inTransaction
      return mayBeInTransaction
    },
    close: () => sqlite.close(),
    prepare(sql: string): Sqlite.Statement {
      if (sql === 'rollback' && !sqlite.inTransaction) return nothing
      if (sql === 'begin') mayBeInTransaction = true
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
