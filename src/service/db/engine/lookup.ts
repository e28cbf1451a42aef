import { type Compilable, type Expression, PostgresAdapter, sql } from 'kysely'
import { isDistributed } from './citus.ts'
import type { Db } from './database.ts'
import { type Answer, demandRow, type Placeholders, type Query, query } from './query.ts'

/** A connection keeps the plan of a query with lists as long as this. */
const mostTogether = 100

type Lists<Values> = { [Name in keyof Values]: Values[Name][] }

interface Question<Values, Row> {
  values: Values
  resolve(row: Answer<Row | undefined>): void
  reject(error: unknown): void
}

/**
 * A query for at most one row, which nearly every request makes. Postgres gets those of one turn of the event loop as one:
 * most of what a short query costs is its way there and back. No value may be one that Postgres refuses, since the others
 * would fail with it.
 */
export function lookup<Values extends object, Row>(
  types: { [Name in keyof Values]-?: 'text' | 'bigint' },
  build: (db: Db, values: Placeholders<Values>) => Compilable<Row> & Expression<unknown>,
): Pick<Query<Values, Row>, 'first' | 'one'> {
  const names = Object.keys(types) as (keyof Values & string)[]
  const alone = query<Values, Row>(build)
  const together = query((db, lists: Placeholders<Lists<Values>>) => {
    const arrays = names.map((name) => sql`${lists[name]}::${sql.raw(types[name])}[]`)
    const asked = Object.fromEntries(names.map((name) => [name, sql.ref(`asked.${name}`)])) as Placeholders<Values>
    // The limit keeps Postgres from reading a whole table for all of them, as it may for a join.
    return sql<Row & { place: number }>`
      select place, found.* from unnest(${sql.join(arrays)}) with ordinality as asked (${sql.join(names.map(sql.ref))}, place)
      cross join lateral (select * from ${build(db, asked)} as each limit 1) as found`
  })
  /** What this turn has asked so far, by the adapter of the database. */
  const turns = new WeakMap<object, Question<Values, Row>[]>()

  function ask(db: Db, values: Values): Promise<Row | undefined> {
    const { adapter } = db.getExecutor()
    return new Promise((resolve, reject) => {
      const question = { values, resolve, reject }
      const turn = turns.get(adapter)
      if (turn && turn.length < mostTogether) turn.push(question)
      else begin(db, adapter, [question])
    })
  }

  function begin(db: Db, adapter: object, turn: Question<Values, Row>[]): void {
    turns.set(adapter, turn)
    setImmediate(() => {
      if (turns.get(adapter) === turn) turns.delete(adapter)
      void answer(db, turn)
    })
  }

  async function answer(db: Db, turn: Question<Values, Row>[]): Promise<void> {
    try {
      const isTogether = turn.length > 1 && !(await isDistributed(db))
      const rows = isTogether ? await findTogether(db, turn) : turn.map(({ values }) => alone.first(db, values))
      for (const [index, { resolve }] of turn.entries()) resolve(rows[index])
    } catch (error) {
      for (const { reject } of turn) reject(error)
    }
  }

  async function findTogether(db: Db, turn: Question<Values, Row>[]): Promise<(Row | undefined)[]> {
    const lists = Object.fromEntries(names.map((name) => [name, turn.map(({ values }) => values[name])]))
    const rows: (Row | undefined)[] = []
    for (const { place, ...row } of await together.all(db, lists as Lists<Values>)) rows[place - 1] = row as Row
    return rows
  }

  return {
    first: (db, values) => (gathers(db) ? ask(db, values) : alone.first(db, values)),
    one: (db, values) => (gathers(db) ? ask(db, values).then(demandRow) : alone.one(db, values)),
  }
}

/** A transaction has a connection of its own, and sees what it has written. */
function gathers(db: Db): boolean {
  return !db.isTransaction && db.getExecutor().adapter instanceof PostgresAdapter
}
