import Sqlite from 'better-sqlite3'
import pg from 'pg'

export interface Statement {
  sql: string
  ms: number
}

const statements: Statement[] = []

/** Starts collecting the prepared statements of SQLite and the statements of Postgres, for `takeStatements`. */
export function watchStatements(): void {
  const sqlite = new Sqlite(':memory:')
  const prototype = Object.getPrototypeOf(sqlite.prepare('select 1')) as Sqlite.Statement
  sqlite.close()
  for (const method of ['run', 'get', 'all'] as const) {
    const run = prototype[method] as (...values: unknown[]) => never
    prototype[method] = function (this: Sqlite.Statement, ...values: unknown[]) {
      const began = performance.now()
      try {
        return run.apply(this, values)
      } finally {
        keep(this.source, began)
      }
    }
  }
  const query = pg.Client.prototype.query as (...values: unknown[]) => unknown
  const watched = function (this: pg.Client, ...values: unknown[]) {
    const began = performance.now()
    const result = query.apply(this, values)
    const [text] = values as [string | { text: string }]
    if (result instanceof Promise)
      void result.finally(() => keep(typeof text === 'string' ? text : text.text, began)).catch(() => {})
    return result
  }
  pg.Client.prototype.query = watched as typeof pg.Client.prototype.query
}

/** The statements since the last call. */
export function takeStatements(): Statement[] {
  return statements.splice(0)
}

function keep(sql: string, began: number): void {
  statements.push({ sql: sql.replaceAll(/\s+/g, ' '), ms: performance.now() - began })
}
