import Sqlite from 'better-sqlite3'
import pg from 'pg'
import type { Statement } from './replay.ts'

/** Notes every statement that this process sends to a database, with its answer, until it is taken. */
export function watchStatements(database: 'sqlite' | 'postgres'): { take(): Statement[] } {
  const seen: Statement[] = []
  if (database === 'postgres') watchPostgres(seen)
  else watchSqlite(seen)
  return { take: () => seen.splice(0) }
}

function watchSqlite(seen: Statement[]): void {
  const { prepare } = Sqlite.prototype
  Sqlite.prototype.prepare = function (this: Sqlite.Database, sql: string) {
    const statement = prepare.call(this, sql)
    for (const method of ['all', 'get', 'run'] as const) {
      const run = statement[method].bind(statement) as (...parameters: unknown[]) => unknown
      statement[method] = ((...given: unknown[]) => {
        const result = run(...given)
        const rows = method === 'all' ? (result as unknown[]) : method === 'get' && result ? [result] : []
        seen.push({ connection: 0, sql, parameters: given.flat(), rows: copy(rows) })
        return result
      }) as never
    }
    return statement
  } as typeof prepare
}

function watchPostgres(seen: Statement[]): void {
  const query = pg.Client.prototype.query as (...args: unknown[]) => unknown
  const connections = new Map<unknown, number>()
  pg.Client.prototype.query = async function (this: pg.Client, ...args: unknown[]) {
    const [text, values] = args as [string | { text: string; values?: unknown[] }, unknown[] | undefined]
    const sql = typeof text === 'string' ? text : text.text
    const parameters = (typeof text === 'string' ? values : (text.values ?? values)) ?? []
    if (!connections.has(this)) connections.set(this, connections.size)
    const statement: Statement = { connection: connections.get(this) ?? 0, sql, parameters: copy(parameters), rows: [] }
    seen.push(statement)
    const result = (await query.apply(this, args)) as pg.QueryResult | undefined
    statement.rows = copy(result?.rows ?? [])
    return result
  } as never
}

function copy<T>(value: T): T {
  return JSON.parse(JSON.stringify(value))
}
