import { sql } from 'kysely'
import type { Db } from '../database.ts'
import { type Answer, type Placeholders, type Question, query, type Runner } from '../query.ts'

/** The most queries combined into one. A connection keeps plans only for lists up to this length (`shortLength`). */
const mostTogether = 100

/**
 * Combines the calls of a short query in one turn of the event loop into one statement, because most of their cost is
 * the round trip. Leaves out calls in a transaction, which has its own connection and sees its own writes.
 */
export function createGather(): NonNullable<Runner['gather']> {
  const gathered = new Map<object, (db: Db, values: never) => Promise<unknown>>()
  return <Values, Row>(db: Db, question: Question<Values, Row>, values: Values) => {
    if (db.isTransaction) return undefined
    let ask = gathered.get(question) as ((db: Db, values: Values) => Promise<Row | undefined>) | undefined
    if (!ask) {
      ask = gather(question)
      gathered.set(question, ask)
    }
    return ask(db, values)
  }
}

interface Waiting<Values, Row> {
  values: Values
  resolve(row: Answer<Row | undefined>): void
  reject(error: unknown): void
}

type Lists<Values> = { [Name in keyof Values]: Values[Name][] }

function gather<Values, Row>({ build, types, alone }: Question<Values, Row>) {
  const names = Object.keys(types) as (keyof Values & string)[]
  const together = query((db, lists: Placeholders<Lists<Values>>) => {
    const arrays = names.map((name) => sql`${lists[name]}::${sql.raw(types[name])}[]`)
    const asked = Object.fromEntries(names.map((name) => [name, sql.ref(`asked.${name}`)])) as Placeholders<Values>
    // The limit keeps Postgres from scanning the whole table, as it may for a join.
    return sql<Row & { place: number }>`
      select place, found.* from unnest(${sql.join(arrays)}) with ordinality as asked (${sql.join(names.map(sql.ref))}, place)
      cross join lateral (select * from ${build(db, asked)} as each limit 1) as found`
  })
  /** The calls of this turn of the event loop that the next statement will contain. */
  let asking: Waiting<Values, Row>[] | undefined

  function ask(db: Db, values: Values): Promise<Row | undefined> {
    return new Promise((resolve, reject) => {
      const waiting = { values, resolve, reject }
      if (asking && asking.length < mostTogether) asking.push(waiting)
      else begin(db, [waiting])
    })
  }

  function begin(db: Db, turn: Waiting<Values, Row>[]): void {
    asking = turn
    setImmediate(() => {
      if (asking === turn) asking = undefined
      void answer(db, turn)
    })
  }

  async function answer(db: Db, turn: Waiting<Values, Row>[]): Promise<void> {
    try {
      const isTogether = turn.length > 1 && !(await isDistributed(db))
      const rows = isTogether ? await findTogether(db, turn) : turn.map(({ values }) => alone(db, values))
      for (const [index, { resolve }] of turn.entries()) resolve(rows[index])
    } catch (error) {
      for (const { reject } of turn) reject(error)
    }
  }

  async function findTogether(db: Db, turn: Waiting<Values, Row>[]): Promise<(Row | undefined)[]> {
    const lists = Object.fromEntries(names.map((name) => [name, turn.map(({ values }) => values[name])]))
    const rows: (Row | undefined)[] = []
    for (const { place, ...row } of await together.all(db, lists as Lists<Values>)) rows[place - 1] = row as Row
    return rows
  }

  return ask
}

/** The answers of `isDistributed`, by the database's adapter. */
const answers = new WeakMap<object, Promise<boolean>>()

/** True for Citus, where users are on many servers and a query for several users goes to all of them. */
export function isDistributed(db: Db): Promise<boolean> {
  const { adapter } = db.getExecutor()
  const known = answers.get(adapter)
  if (known) return known
  const answer = hasCitus(db)
  answers.set(adapter, answer)
  answer.catch(() => answers.delete(adapter))
  return answer
}

async function hasCitus(db: Db): Promise<boolean> {
  const { rows } = await sql<{ found: boolean }>`select to_regclass('pg_dist_partition') is not null as found`.execute(
    db,
  )
  return rows[0]?.found === true
}
