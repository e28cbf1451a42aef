import Sqlite from 'better-sqlite3'
import pg from 'pg'
import type { Test } from 'tap'

export interface Looked {
  sql: string
  /** Rows that it has read in tables and indexes, and written; or the values in its lists, if those are more. */
  rows: number
  /** The functions that ran the statement. Must be called while `see` runs. */
  askedBy(): string
}

/** Calls `see` for each statement that a database of either kind runs, until the end of the test. */
export function watchRows(t: Pick<Test, 'teardown'>, see: (looked: Looked) => void): void {
  t.teardown(watchSqlite(see))
  t.teardown(watchPostgres(see))
}

/**
 * SQLite does not report how many rows it has read, so tables are read through a condition that counts and is always
 * true. Throws if that changes the query plan.
 */
function watchSqlite(see: (looked: Looked) => void): () => void {
  const { prepare } = Sqlite.prototype
  const counters = new WeakMap<Sqlite.Database, Counter>()
  const counted = new WeakMap<Sqlite.Statement, { sql: string; counter: Counter }>()
  const counterOf = (db: Sqlite.Database) => {
    const counter = counters.get(db) ?? createCounter(db, (sql) => prepare.call(db, sql))
    counters.set(db, counter)
    return counter
  }
  Sqlite.prototype.prepare = function (this: Sqlite.Database, sql: string) {
    if (!isCounted.test(sql)) return prepare.call(this, sql)
    const counter = counterOf(this)
    const statement = prepare.call(this, counter.counting(sql))
    counted.set(statement, { sql, counter })
    return statement
  } as typeof prepare

  const statements: Sqlite.Statement = Object.getPrototypeOf(new Sqlite(':memory:').prepare('select 1'))
  const { run, get, all } = statements
  const watched = (method: (...values: unknown[]) => unknown) =>
    function (this: Sqlite.Statement, ...values: unknown[]) {
      const own = counted.get(this)
      if (!own) return method.apply(this, values)
      const before = own.counter.read()
      const result = method.apply(this, values)
      const { looked, written } = own.counter.read()
      const rows = Math.max(looked - before.looked, lengthOfLists(values)) + written - before.written
      see({ sql: own.sql, rows, askedBy })
      return result
    }
  Object.assign(statements, { run: watched(run), get: watched(get), all: watched(all) })
  return () => {
    Object.assign(statements, { run, get, all })
    Sqlite.prototype.prepare = prepare
  }
}

const isCounted = /^\s*(select|with|insert|update|delete)\b/i
const reads = /\b(from|join)\s+"?(\w+)"?(?:\s+as\s+"?(\w+)"?)?/gi
const writes = /^\s*(?:delete\s+from|update)\s+"(\w+)"/i

interface Counter {
  counting(sql: string): string
  read(): { looked: number; written: number }
}

function createCounter(db: Sqlite.Database, prepare: (sql: string) => Sqlite.Statement): Counter {
  let looked = 0
  db.function('is_counted', { deterministic: true }, (_rowid: unknown) => {
    looked++
    return 1
  })
  const namesOf = (condition: string) =>
    new Set(prepare(`select name from sqlite_schema where ${condition}`).pluck().all([]) as string[])
  const [tables, partial] = [namesOf("type = 'table'"), namesOf("type = 'index' and sql like '% where %'")]
  const total = prepare('select total_changes()').pluck()
  /** The query plan. Two indexes that cover all rows and begin with the same columns count as the same. */
  const planOf = (sql: string) => {
    const values = Array.from(sql.matchAll(/\?/g), () => null)
    const steps = prepare(`explain query plan ${sql}`).all(values) as { detail: string }[]
    return steps.flatMap(({ detail }) => {
      const [, index = '', condition] = /^(?:SEARCH|SCAN) \w+ .*?(\w+) (\(.*\))/.exec(detail) ?? []
      return condition === undefined ? [] : [partial.has(index) ? index + condition : condition]
    })
  }
  const known = new Map<string, string>()
  return {
    read: () => ({ looked, written: total.get([]) as number }),
    counting(sql) {
      const counting = known.get(sql) ?? countingIn(sql, tables)
      if (!known.has(sql) && planOf(sql).join() !== planOf(counting).join())
        throw new Error(`${counting} has another plan than ${sql}`)
      known.set(sql, counting)
      return counting
    },
  }
}

function countingIn(sql: string, tables: ReadonlySet<string>): string {
  const [target = '', written = ''] = writes.exec(sql) ?? []
  const counting = sql.replace(reads, (all, word: string, name: string, alias: string | undefined, place: number) =>
    place < target.length || !tables.has(name)
      ? all
      : `${word} (select * from "${name}" where is_counted(rowid)) as "${alias ?? name}"`,
  )
  return tables.has(written)
    ? counting.replace(/\bwhere\b(?![^(]*\))/i, `where is_counted("${written}".rowid) and`)
    : counting
}

/** The total length of the lists among the values, which SQLite gets as JSON. */
function lengthOfLists(values: unknown[]): number {
  const lists = values.flat().filter((value) => typeof value === 'string' && /^\[(\d|")/.test(value)) as string[]
  return lists.reduce((sum, list) => sum + (JSON.parse(list) as unknown[]).length, 0)
}

/** The two innermost functions of the service in the stack, outside of its database engine. */
function askedBy(): string {
  const lines = new Error().stack?.split('\n') ?? []
  const own = lines.filter((line) => line.includes('/src/service/') && !line.includes('/db/engine/'))
  const names = own.map((line) =>
    line.replace(/^\s*at (?:async )?(?:(\S+) \()?.*\/src\/service\/(.*):\d+\)?$/, '$2 $1'),
  )
  return names.slice(0, 2).join(' < ')
}

/** Makes Postgres report the read rows of this database to all clients that connect from now on. */
export async function reportRows(databaseUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  const settings = {
    session_preload_libraries: 'auto_explain',
    'auto_explain.log_min_duration': '0',
    'auto_explain.log_analyze': 'on',
    'auto_explain.log_timing': 'off',
    'auto_explain.log_nested_statements': 'on',
    'auto_explain.log_format': 'json',
    client_min_messages: 'log',
    // With few rows, the planner would read all of a user's rows instead of using an index.
    enable_seqscan: 'off',
    enable_hashjoin: 'off',
    enable_mergejoin: 'off',
    // A sample of 3,000 rows is enough here; by default, "analyze" sorts ten times as many.
    default_statistics_target: '10',
  }
  for (const [name, value] of Object.entries(settings))
    await client.query(`ALTER DATABASE "${client.database}" SET ${name} = '${value}'`)
  await client.end()
}

function watchPostgres(see: (looked: Looked) => void): () => void {
  const { query } = pg.Client.prototype
  const watched = new WeakSet<pg.Client>()
  pg.Client.prototype.query = function (this: pg.Client, ...values: unknown[]) {
    if (!watched.has(this)) this.on('notice', ({ message }) => tell(message ?? ''))
    watched.add(this)
    return (query as (...values: unknown[]) => unknown).apply(this, values)
  } as typeof query
  const tell = (message: string) => {
    const [, json] = /^duration: \S+ ms\s+plan:\s*(\{[\s\S]*\})\s*$/.exec(message) ?? []
    if (json === undefined) return
    const { Plan, 'Query Text': sql } = JSON.parse(json) as { 'Query Text': string; Plan: Plan }
    const rows = { looked: 0, listed: 0 }
    addRows(Plan, rows)
    see({ sql, rows: Math.max(rows.looked, rows.listed), askedBy: () => '' })
  }
  return () => {
    pg.Client.prototype.query = query
  }
}

interface Plan {
  'Node Type': string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  'Rows Removed by Index Recheck'?: number
  Plans?: Plan[]
}

function addRows(plan: Plan, rows: { looked: number; listed: number }): void {
  for (const part of plan.Plans ?? []) addRows(part, rows)
  const type = plan['Node Type']
  const removed = (plan['Rows Removed by Filter'] ?? 0) + (plan['Rows Removed by Index Recheck'] ?? 0)
  const all = Math.round((plan['Actual Rows'] + removed) * plan['Actual Loops'])
  if (type === 'Function Scan') rows.listed += all
  else if (/^(Seq|Index|Index Only|Bitmap Heap) Scan$/.test(type)) rows.looked += all
}
