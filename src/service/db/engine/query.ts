import { createHash } from 'node:crypto'
import { type Compilable, type Expression, type RawBuilder, type RootOperationNode, SqliteAdapter, sql } from 'kysely'
import type { Db, QueryTimes, Trx } from './database.ts'

/** Stands for a query's values while it is built. */
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
}

type Build<Values, Row> = (db: Db, values: Placeholders<Values>) => Compilable<Row> | RawBuilder<Row>
type Types<Values> = { [Name in keyof Values]-?: 'text' | 'bigint' }

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
 *
 * @param gathered the types of its values, if it is one for at most one row which nearly every request makes: Postgres gets
 *   those of one turn of the event loop as one. No value may be one that Postgres refuses, since the others would fail with it
 */
export function query<Values, Row>(build: Build<Values, Row>, gathered?: Types<Values>): Query<Values, Row> {
  /** Keyed by the adapter, which a database and its transactions share. */
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

/** How a database runs these queries: its adapter does. With another adapter, such as a test's, Kysely runs them. */
export interface Runner {
  run<Row>(db: Db, compiled: Compiled, parameters: readonly unknown[], method: Method): Answer<Result<Row>>
  /** Asks together with others of this turn of the event loop, if that is possible here. */
  gather?<Values, Row>(db: Db, question: Question<Values, Row>, values: Values): Promise<Row | undefined> | undefined
  /** True if a connection takes queries before it has answered those before. */
  pipelines: boolean
}

/** A query that may be asked together with others. */
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

/** Give the results of some steps, in their order. */
type Steps<Results extends unknown[]> = { [Index in keyof Results]: () => Answer<Results[Index]> }

/**
 * Takes steps of a transaction that do not depend on each other's results, in this order. Each does what it does by queries of
 * this file: Postgres gets all of these before it has answered the first.
 */
export async function inOrder<Results extends unknown[] | []>(trx: Trx, steps: Steps<Results>): Promise<Results> {
  if (runnerOf(trx)?.pipelines) return atOnce(steps)
  const results: unknown[] = []
  for (const step of steps) results.push(await step())
  return results as Results
}

/** Page after page of a list that goes by a key, until one is empty. `read` gets the last row of the page before. */
export async function* pages<Row>(read: (last: Row | undefined) => Answer<Row[]>): AsyncGenerator<Row[]> {
  for (let page = await read(undefined); page.length > 0; page = await read(page.at(-1))) yield page
}

/** How Postgres refuses what comes after a statement that failed: in_failed_sql_transaction. */
const refused = '25P02'

/** All have ended when it throws the error that the others followed from. */
async function atOnce<Results extends unknown[] | []>(steps: Steps<Results>): Promise<Results> {
  const outcomes = await Promise.allSettled(steps.map(async (step) => step()))
  const errors = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []))
  if (errors.length > 0) throw errors.find(({ code }) => code !== refused) ?? errors[0]
  return outcomes.map((outcome) => outcome.status === 'fulfilled' && outcome.value) as Results
}

/** True if a column has one of the values of a list, of any length. SQLite gets lists as JSON. */
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

/** The texts of a list as rows of `listed`, each as `value`. */
export function listed(db: Db, list: RawBuilder<string[]>): RawBuilder<unknown> {
  return isSqlite(db) ? sql`json_each(${list}) as listed` : sql`unnest(${list}::text[]) as listed (value)`
}

/** The elements of a list, given as JSON, as rows of `listed`, each as `value`. Those of a list in it are `value ->> 0` and so on. */
export function listedJson(db: Db, json: RawBuilder<string>): RawBuilder<unknown> {
  return isSqlite(db)
    ? sql`json_each(${json}) as listed`
    : sql`jsonb_array_elements(cast(${json} as jsonb)) as listed (value)`
}

function isSqlite(db: Db): boolean {
  return db.getExecutor().adapter instanceof SqliteAdapter
}

/** Under which a connection to Postgres keeps the query prepared. Undefined for those that are built for a request. */
export function preparedName(text: string): string | undefined {
  return names.get(text)
}

/** The same everywhere for the same query, so that no pooler in between can mistake one for another. */
const names = new Map<string, string>()

/** @param began when it began, by `performance.now()` */
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

/** A list of values is in the order in which the statement has them. */
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
