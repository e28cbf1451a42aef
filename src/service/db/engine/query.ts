import { createHash } from 'node:crypto'
import { type Compilable, type Expression, type RawBuilder, type RootOperationNode, SqliteAdapter, sql } from 'kysely'
import type { Db, QueryTimes, Trx } from './database.ts'

/** Placeholders for a query's values while it is built. */
export type Placeholders<Values> = { readonly [Name in keyof Values]-?: RawBuilder<Values[Name]> }

/** SQLite answers synchronously. A promise for each query would be a tenth of a small request's cost. */
export type Answer<T> = T | Promise<T>

/** Continues with the answer, synchronously if it is not a promise. */
export function onceAnswered<T, Next>(answer: Answer<T>, next: (value: T) => Answer<Next>): Answer<Next> {
  return answer instanceof Promise ? answer.then(next) : next(answer)
}

export interface Query<Values, Row> {
  all(db: Db, values: Values): Answer<Row[]>
  first(db: Db, values: Values): Answer<Row | undefined>
  /** The first row of a query that always has one. */
  one(db: Db, values: Values): Answer<Row>
  /** The number of rows written. */
  run(db: Db, values: Values): Answer<number>
}

type Build<Values, Row> = (db: Db, values: Placeholders<Values>) => Compilable<Row> | RawBuilder<Row>
type Types<Values> = { [Name in keyof Values]-?: 'text' | 'bigint' }

/**
 * A query that is built and compiled once per database, and usually stays prepared. Building it for each request would
 * cost several times what the database needs. It names its columns: on Postgres, a prepared `select *` fails after a
 * newer version of the service has added a column.
 *
 * ```ts
 * const cursorOf = query((db, { userId, deviceId }: Placeholders<{ userId: string; deviceId: string }>) =>
 *   db.selectFrom('devices').select('cursor').where('user_id', '=', userId).where('device_id', '=', deviceId),
 * )
 * const device = await cursorOf.first(db, { userId, deviceId })
 * ```
 *
 * @param gathered the types of the values. If given, `first` and `one` combine the calls of one turn of the event loop
 * on Postgres. Only for a query of at most one row that nearly every request makes: a refused value fails all calls
 */
export function query<Values, Row>(build: Build<Values, Row>, gathered?: Types<Values>): Query<Values, Row> {
  /** Keyed by the adapter, which a database shares with its transactions. */
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

  function execute<T>(db: Db, values: Values, method: Method, take: (result: Result<Row>) => T): Answer<T> {
    const found = compile(db)
    const parameters = bind(found, values)
    const runner = db.getExecutor().plugins.length === 0 ? runnerOf(db) : undefined
    if (!runner) return db.executeQuery<Row>({ ...found, parameters }).then(take)
    return onceAnswered(runner.run<Row>(db, found, parameters, method), take)
  }

  const alone = (db: Db, values: Values) => execute(db, values, 'get', firstRow)
  const question = gathered && { build: build as Question<Values, Row>['build'], types: gathered, alone }
  const first = (db: Db, values: Values) =>
    (question && runnerOf(db)?.gather?.(db, question, values)) ?? alone(db, values)
  return {
    all: (db, values) => execute(db, values, 'all', allRows),
    first,
    one: (db, values) => onceAnswered(first(db, values), requireRow),
    run: (db, values) => execute(db, values, 'run', writtenRows),
  }
}

/** How a database's adapter runs these queries. If it cannot, as in tests, Kysely runs them. */
export interface Runner {
  run<Row>(db: Db, compiled: Compiled, parameters: readonly unknown[], method: Method): Answer<Result<Row>>
  /** Combines the query with its other calls of this turn of the event loop. Undefined if that is not possible. */
  gather?<Values, Row>(db: Db, question: Question<Values, Row>, values: Values): Promise<Row | undefined> | undefined
  /** True if a connection accepts queries before it has answered earlier ones. */
  pipelines: boolean
}

/** A query whose calls can be combined in one statement. */
export interface Question<Values, Row> {
  build: (db: Db, values: Placeholders<Values>) => Compilable<Row> & Expression<unknown>
  types: Types<Values>
  alone(db: Db, values: Values): Answer<Row | undefined>
}

export type Method = 'all' | 'get' | 'run'

export interface Compiled {
  isSqlite: boolean
  sql: string
  parameters: readonly unknown[]
  query: RootOperationNode
  queryId: { readonly queryId: string }
}

export interface Result<Row> {
  rows: Row[]
  numAffectedRows?: bigint | number | undefined
}

function runnerOf(db: Db): Runner | undefined {
  const adapter: object = db.getExecutor().adapter
  return 'pipelines' in adapter ? (adapter as Runner) : undefined
}

type Steps<Results extends unknown[]> = { [Index in keyof Results]: () => Answer<Results[Index]> }

/** Runs independent steps of a transaction in order. Without a pooler, Postgres pipelines those that use `query`. */
export async function inOrder<Results extends unknown[] | []>(trx: Trx, steps: Steps<Results>): Promise<Results> {
  if (runnerOf(trx)?.pipelines) return atOnce(steps)
  const results: unknown[] = []
  for (const step of steps) results.push(await step())
  return results as Results
}

/** Yields the pages of a list ordered by a key, until one is empty. `read` gets the last row before the page. */
export async function* pages<Row>(read: (last: Row | undefined) => Answer<Row[]>): AsyncGenerator<Row[]> {
  for (let page = await read(undefined); page.length > 0; page = await read(page.at(-1))) yield page
}

/** Postgres' code for statements after a failed one: in_failed_sql_transaction. */
const refused = '25P02'

/** Starts all steps at once and waits for all. If some fail, throws the error that made the others fail. */
async function atOnce<Results extends unknown[] | []>(steps: Steps<Results>): Promise<Results> {
  const outcomes = await Promise.allSettled(steps.map(async (step) => step()))
  const errors = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []))
  if (errors.length > 0) throw errors.find(({ code }) => code !== refused) ?? errors[0]
  return outcomes.map((outcome) => outcome.status === 'fulfilled' && outcome.value) as Results
}

/** True if a column has one of the values of a list of any length. SQLite gets lists as JSON. */
export function isOneOf(
  db: Db,
  column: string,
  list: RawBuilder<string[]> | RawBuilder<number[]>,
  type: 'text' | 'bigint' = 'text',
): RawBuilder<boolean> {
  return isSqlite(db)
    ? sql`${sql.ref(column)} in (select value from json_each(${list}))`
    : sql`${sql.ref(column)} = any(${list}::${sql.raw(type)}[])`
}

/**
 * True if two columns have the values of one of these pairs, a JSON list of lists. With a list for each column, the
 * pairs of 1,000 users would cause 1,000 x 1,000 searches.
 */
export function isOneOfPairs(db: Db, columns: [string, string], pairs: RawBuilder<string>): RawBuilder<boolean> {
  const [first, second] = columns.map((column) => sql.ref(column))
  return sql`(${first}, ${second}) in (select value ->> 0, value ->> 1 from ${listedJson(db, pairs)})`
}

/** The texts of a list as rows of `listed`, each as `value`. */
export function listed(db: Db, list: RawBuilder<string[]>): RawBuilder<unknown> {
  return isSqlite(db) ? sql`json_each(${list}) as listed` : sql`unnest(${list}::text[]) as listed (value)`
}

/** The elements of a JSON list as rows of `listed`, each as `value`; elements of inner lists are `value ->> 0` etc. */
export function listedJson(db: Db, json: RawBuilder<string>): RawBuilder<unknown> {
  return isSqlite(db)
    ? sql`json_each(${json}) as listed`
    : sql`jsonb_array_elements(cast(${json} as jsonb)) as listed (value)`
}

export function isSqlite(db: Db): boolean {
  return db.getExecutor().adapter instanceof SqliteAdapter
}

/** The name under which Postgres prepares a query. Undefined for queries that are not made by `query`. */
export function preparedName(text: string): string | undefined {
  return names.get(text)
}

/** Hashes of the queries: every process gives a query the same name, so that a pooler cannot mix them up. */
const names = new Map<string, string>()

/** @param began the start, by `performance.now()` */
export function countQuery(times: QueryTimes, began: number): void {
  times.count += 1
  times.ms += performance.now() - began
}

function allRows<Row>({ rows }: Result<Row>): Row[] {
  return rows
}

function firstRow<Row>({ rows }: Result<Row>): Row | undefined {
  return rows[0]
}

function requireRow<Row>(row: Row | undefined): Row {
  if (row === undefined) throw new Error('a query found no row where there always is one')
  return row
}

function writtenRows<Row>({ numAffectedRows }: Result<Row>): number {
  return Number(numAffectedRows)
}

/** Returns the values in the order of the statement's parameters. */
function bind<Values>({ parameters, isSqlite }: Compiled, values: Values): readonly unknown[] {
  if (Array.isArray(values)) return values
  return parameters.map((parameter) => {
    if (!(parameter instanceof Placeholder)) return parameter
    const value: unknown = values[parameter.name as keyof Values]
    return isSqlite && Array.isArray(value) ? JSON.stringify(value) : value
  })
}

class Placeholder {
  readonly name: PropertyKey
  constructor(name: PropertyKey) {
    this.name = name
  }
}

const placeholders = new Proxy({}, { get: (_, name) => sql.val(new Placeholder(name)) })
