import { sql } from 'kysely'
import type { Db } from '../engine/database.ts'
import { type Answer, type Placeholders, query } from '../engine/query.ts'

/** Rows per query, so that it takes only a few milliseconds. */
const pageRows = 1000

/** The position of a time or cursor `to` among a user's sequence numbers. */
export interface Place {
  /** The greatest number given up to the time `to`. It is at least `to`, because no number is less than its time. */
  greatest: number
  /**
   * True if a write began with the number `to + 1` before its clock had reached that time. Then `to` can be a cursor,
   * namely the last number that a device knew before this write.
   */
  isEndOfWrite: boolean
}

/** Runs the query of a page when the user gets a slot (`heavy` of load/gate.ts). */
export type InTurn = <T>(read: () => Answer<T>) => Answer<T>

/**
 * Searches all rows with numbers above `to`, newest first: after a clock was ahead, greater numbers may have earlier
 * times. Only later rows still have the numbers of first changes and of replaced versions (`first_sequence`, `began`).
 */
export async function findPlace(db: Db, userId: string, to: number, inTurn: InTurn): Promise<Place> {
  let greatest = to
  let [own, next] = await timesAround(db, userId, to)
  for (const page of [ofRecords, ofVersions]) {
    for (let before: number | null = Number.MAX_SAFE_INTEGER; before !== null; ) {
      const wanted = { userId, to, next: to + 1, above: greatest, before, rows: pageRows }
      const read: Page = await inTurn(() => page.one(db, wanted))
      greatest = read.found ?? greatest
      own ??= read.own
      next ??= read.after
      before = read.rows < pageRows ? null : read.lowest
    }
  }
  return { greatest, isEndOfWrite: next !== null && next <= to && next !== own }
}

/** When the number `to` and the one after it were given, if a row still has them. */
async function timesAround(db: Db, userId: string, to: number): Promise<[number | null, number | null]> {
  const rows = await around.all(db, { userId, from: to, to: to + 1 })
  const of = (wanted: number) => rows.find(({ sequence }) => sequence === wanted)?.stored_at ?? null
  return [of(to), of(to + 1)]
}

interface Page {
  rows: number
  lowest: number | null
  found: number | null
  /** When `to` and the number after it were given, if an entity, or a version that is now replaced, began with them. */
  own: number | null
  after: number | null
}

interface Wanted {
  userId: string
  to: number
  next: number
  above: number
  before: number
  rows: number
}

/** Also searches the number of each entity's first change, which no other row may still have. */
const ofRecords = pagesOf('records', 'first_sequence', 'first_stored_at')

/** Also searches the numbers with which the versions became current. */
const ofVersions = pagesOf('versions', 'began', 'began_at')

function pagesOf(table: string, ...columns: [first: string, firstAt: string]) {
  const [first, firstAt] = columns.map((column) => sql.ref(column))
  return query(
    (_, { userId, to, next, above, before, rows }: Placeholders<Wanted>) => sql<Page>`
    select count(*) as rows, min(sequence) as lowest,
      max(case when sequence > ${above} and stored_at <= ${to} then sequence
        when ${first} > ${above} and ${firstAt} <= ${to} then ${first}
      end) as found,
      max(case when ${first} = ${to} then ${firstAt} end) as own,
      max(case when ${first} = ${next} then ${firstAt} end) as after
    from (
      select sequence, stored_at, ${first}, ${firstAt} from ${sql.table(table)}
      where user_id = ${userId} and sequence > ${to} and sequence < ${before} order by sequence desc limit ${rows}
    ) as page`,
  )
}

interface Given {
  sequence: number
  stored_at: number
}

const around = query(
  (_, { userId, from, to }: Placeholders<{ userId: string; from: number; to: number }>) => sql<Given>`
    select sequence, stored_at from records where user_id = ${userId} and sequence between ${from} and ${to}
    union select sequence, stored_at from versions where user_id = ${userId} and sequence between ${from} and ${to}
    order by sequence`,
)
