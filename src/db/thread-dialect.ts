import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type Kysely,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
} from 'kysely'
import type { DatabaseThread, DatabaseThreads } from './database-thread.ts'
import { addQueries, type QueryTimes } from './query-times.ts'
import { ServiceQueryCompiler } from './sqlite-dialect.ts'

/** So many rows are on their way at once, instead of copies of all. */
const maxRowsSent = 1000

/** For transactions, one at a time, whose statements run in a thread of their own. */
export class ThreadDialect implements Dialect {
  readonly #threads: DatabaseThreads
  readonly #times: QueryTimes

  constructor(threads: DatabaseThreads, times: QueryTimes) {
    this.#threads = threads
    this.#times = times
  }

  createAdapter() {
    return new SqliteAdapter()
  }

  createQueryCompiler() {
    return new ServiceQueryCompiler()
  }

  createIntrospector<Schema>(db: Kysely<Schema>) {
    return new SqliteIntrospector(db)
  }

  createDriver(): Driver {
    return {
      init: async () => {},
      acquireConnection: async () => new ThreadConnection(this.#threads.current(), this.#times),
      beginTransaction: (connection) => execute(connection, 'begin'),
      commitTransaction: (connection) => execute(connection, 'commit'),
      rollbackTransaction: (connection) => execute(connection, 'rollback'),
      releaseConnection: async () => {},
      destroy: async () => {},
    }
  }
}

async function execute(connection: DatabaseConnection, statement: string): Promise<void> {
  await connection.executeQuery({ sql: statement, parameters: [] } as unknown as CompiledQuery)
}

export class ThreadConnection implements DatabaseConnection {
  readonly #thread: DatabaseThread
  readonly #times: QueryTimes

  constructor(thread: DatabaseThread, times: QueryTimes) {
    this.#thread = thread
    this.#times = times
  }

  async executeQuery<Row>({ sql, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
    const began = performance.now()
    const { rows, changes } = await this.#thread.run({ sql, parameters })
    addQueries(this.#times, 1, began)
    return { rows: rows as Row[], numAffectedRows: BigInt(changes) }
  }

  /** The first row for each of the parameters, if the statement has any. */
  async executeEach<T>(sql: string, list: T[], toParameters: (values: T) => unknown[]): Promise<unknown[]> {
    const found: unknown[] = []
    for (let from = 0; from < list.length; from += maxRowsSent) {
      const each = list.slice(from, from + maxRowsSent).map(toParameters)
      const began = performance.now()
      const { rows } = await this.#thread.run({ sql, each })
      addQueries(this.#times, each.length, began)
      for (const row of rows) found.push(row)
    }
    return found
  }

  // biome-ignore lint/correctness/useYield: it has nothing to stream.
  async *streamQuery(): AsyncIterableIterator<never> {
    throw new Error('a transaction in a thread streams nothing')
  }
}
