import { createHash } from 'node:crypto'
import type { Statement } from 'better-sqlite3'
import {
  type Compilable,
  type Kysely,
  type RawBuilder,
  type RootOperationNode,
  SqliteAdapter,
  sql,
  type Transaction,
} from 'kysely'
import { pause } from '../../thread/loop.ts'
import type { Schema } from '../schema.ts'
import { pipelineOf } from './pipeline.ts'
import { addQueries } from './query-times.ts'
import { SynchronousAdapter } from './sqlite-dialect.ts'

type Db = Kysely<Schema>
type Trx = Transaction<Schema>

/** What stands for a query's values while it is built. */
export type Placeholders<Values> = { readonly [Name in keyof Values]-?: RawBuilder<Values[Name]> }

/** SQLite has answered when the query returns: a promise for each would be a tenth of a small request. */
export type Answer<T> = T | Promise<T>

/** Goes on with the answer: at once, if it is there. */
export function onceAnswered<T, Next>(answer: Answer<T>, next: (value: T) => Answer<Next>): Answer<Next> {
  return answer instanceof Promise ? answer.then(next) : next(answer)
}

export interface Query<Values, Row> {
  all(db: Db, values: Values): Answer<Row[]>
  first(db: Db, values: Values): Answer<Row | undefined>
  /** The first row, which there always is. */
  one(db: Db, values: Values): Answer<Row>
  /** The number of rows that it has written. */
  run(db: Db, values: Values): Answer<number>
  /** Once for each of the values, which are taken as they are needed. For SQLite, which needs no promise for each. */
  runEach(trx: Trx, list: Iterable<Values>): Promise<void>
}

/**
 * A query that every database builds and compiles once, and keeps prepared. Building one for a request costs several times
 * what the database itself needs.
 *
 * It names its columns instead of selecting all: a prepared `select *` fails on Postgres once a newer version adds one.
 *
 * ```ts
 * const cursorOf = query((db, { userId, deviceId }: Placeholders<{ userId: string; deviceId: string }>) =>
 *   db.selectFrom('devices').select('cursor').where('user_id', '=', userId).where('device_id', '=', deviceId),
 * )
 * const device = await cursorOf.first(db, { userId, deviceId })
 * ```
 */
export function query<Values, Row>(
  build: (db: Db, values: Placeholders<Values>) => Compilable<Row> | RawBuilder<Row>,
): Query<Values, Row> {
  /** By the adapter, which a database and its transactions share. */
  const compiled = new WeakMap<object, Compiled>()

  function compile(db: Db): Compiled {
    const { adapter } = db.getExecutor()
    let found = compiled.get(adapter)
    if (!found) {
      const isSqlite = adapter instanceof SqliteAdapter
      found = { ...build(db, placeholders as Placeholders<Values>).compile(db), isSqlite }
      names.set(found.sql, createHash('sha256').update(found.sql).digest('base64url'))
      compiled.set(adapter, found)
    }
    return found
  }

  function execute<T>(
    db: Db,
    values: Values,
    method: 'all' | 'get' | 'run',
    take: (result: Result<Row>) => T,
  ): Answer<T> {
    const { adapter, plugins } = db.getExecutor()
    const found = compile(db)
    const parameters = bind(found, values)
    const isDirect = adapter instanceof SynchronousAdapter && plugins.length === 0
    if (!isDirect) return (pipelineOf(db) ?? db).executeQuery<Row>({ ...found, parameters }).then(take)
    const statement = adapter.statement(db, found.sql)
    const began = performance.now()
    const result = runAtOnce<Row>(statement, method, parameters)
    addQueries(adapter.times, 1, began)
    return take(result)
  }

  async function runEach(trx: Trx, list: Iterable<Values>): Promise<void> {
    const { adapter } = trx.getExecutor()
    if (!(adapter instanceof SynchronousAdapter)) throw new Error('only SQLite runs statements one by one')
    let statement: Statement | undefined
    for (const values of list) {
      const turn = pause()
      if (turn) await turn
      const found = compile(trx)
      statement ??= adapter.statement(trx, found.sql)
      const parameters = bind(found, values)
      const began = performance.now()
      statement.run(...parameters)
      addQueries(adapter.times, 1, began)
    }
  }

  return {
    all: (db, values) => execute(db, values, 'all', allRows),
    first: (db, values) => execute(db, values, 'get', firstRow),
    one: (db, values) => execute(db, values, 'get', onlyRow),
    run: (db, values) => execute(db, values, 'run', writtenRows),
    runEach,
  }
}

function allRows<Row>({ rows }: Result<Row>): Row[] {
  return rows
}

function firstRow<Row>({ rows }: Result<Row>): Row | undefined {
  return rows[0]
}

function onlyRow<Row>({ rows }: Result<Row>): Row {
  return demandRow(rows[0])
}

export function demandRow<Row>(row: Row | undefined): Row {
  if (row === undefined) throw new Error('a query found no row where there always is one')
  return row
}

function writtenRows<Row>({ numAffectedRows }: Result<Row>): number {
  return Number(numAffectedRows)
}

/** A list of values is in the order in which the statement has them. */
function bind<Values>({ parameters, isSqlite }: Compiled, values: Values): readonly unknown[] {
  if (Array.isArray(values)) return values
  return parameters.map((parameter) => {
    if (!(parameter instanceof Placeholder)) return parameter
    const value: unknown = values[parameter.name as keyof Values]
    return isSqlite && Array.isArray(value) ? JSON.stringify(value) : value
  })
}

function runAtOnce<Row>(
  statement: Statement,
  method: 'all' | 'get' | 'run',
  parameters: readonly unknown[],
): Result<Row> {
  if (method === 'all') return { rows: statement.all(...parameters) as Row[] }
  if (method === 'run') return { rows: [], numAffectedRows: statement.run(...parameters).changes }
  const row = statement.get(...parameters) as Row | undefined
  return { rows: row === undefined ? [] : [row] }
}

/** Whether a column has one of the values of a list, of any length. SQLite gets lists as JSON. */
export function isOneOf(
  db: Db,
  column: string,
  list: RawBuilder<string[]> | RawBuilder<number[]>,
  type: 'text' | 'bigint' = 'text',
): RawBuilder<boolean> {
  return db.getExecutor().adapter instanceof SqliteAdapter
    ? sql`${sql.ref(column)} in (select value from json_each(${list}))`
    : sql`${sql.ref(column)} = any(${list}::${sql.raw(type)}[])`
}

/** Under which a connection to Postgres keeps the query prepared. Undefined for those that are built for a request. */
export function preparedName(text: string): string | undefined {
  return names.get(text)
}

/** The same everywhere for the same query, so that no pooler in between can mistake one for another. */
const names = new Map<string, string>()

interface Compiled {
  isSqlite: boolean
  sql: string
  parameters: readonly unknown[]
  query: RootOperationNode
  queryId: { readonly queryId: string }
}

interface Result<Row> {
  rows: Row[]
  numAffectedRows?: bigint | number | undefined
}

class Placeholder {
  readonly name: PropertyKey
  constructor(name: PropertyKey) {
    this.name = name
  }
}

const placeholders = new Proxy({}, { get: (_, name) => sql.val(new Placeholder(name)) })
