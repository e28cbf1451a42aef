import { sql } from 'kysely'
import { pause } from '../../thread/loop.ts'
import type { Db } from '../engine/database.ts'
import { type Placeholders, query } from '../engine/query.ts'

/** A query looks at so many rows, which takes some milliseconds. */
const pageRows = 1000

/** Where a time or a cursor `to` stands among a user's sequence numbers. */
export interface Place {
  /** The greatest that was given no later than the time `to`, or `to` if that is greater: none is below its time. */
  greatest: number
  /**
   * True if a write began right after the number `to`, and got the next one although the clock was behind that: then it is
   * the last one that a device could know before this write.
   */
  isEndOfWrite: boolean
}

/**
 * Looks at the changes since `to`, newest first, because a clock that was ahead for a while leaves later numbers with earlier
 * times, and because only what replaced a record knows with which number that began.
 */
export async function findPlace(db: Db, userId: string, to: number): Promise<Place> {
  let greatest = to
  let [own, next] = await aheadOf(db, userId, to)
  for (const page of [ofRecords, ofVersions]) {
    for (let before: number | null = Number.MAX_SAFE_INTEGER; before !== null; ) {
      await pause()
      const read: Page = await page.one(db, { userId, to, next: to + 1, above: greatest, before, rows: pageRows })
      greatest = read.found ?? greatest
      own ??= read.own
      next ??= read.after
      before = read.rows < pageRows ? null : read.lowest
    }
  }
  return { greatest, isEndOfWrite: !!next && own !== next - 1 }
}

/** How far the number and the one after it were ahead, if they are those of a row now. */
async function aheadOf(db: Db, userId: string, to: number): Promise<[number | null, number | null]> {
  const rows = await around.all(db, { userId, from: to, to: to + 1 })
  const of = (wanted: number) => rows.find(({ number }) => number === wanted)?.ahead ?? null
  return [of(to), of(to + 1)]
}

interface Page {
  rows: number
  lowest: number | null
  found: number | null
  /** How far `to`, and the number after it, were ahead, if something began or was first stored with them. */
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

/** All numbers without a time were given before then, whatever they look like. */
const timesSince = sql<number>`(select times_since from heartbeat)`

/** Also the numbers with which they were first stored: nothing else may have these any more. */
const ofRecords = pagesOf('records', 'stamp', 'first_stamp', 'first_ahead')

/** Also the numbers with which they began. */
const ofVersions = pagesOf('versions', 'seq', 'began', 'began_ahead')

function pagesOf(table: string, ...columns: [number: string, first: string, firstAhead: string]) {
  const [number, first, firstAhead] = columns.map((column) => sql.ref(column))
  return query(
    (_, { userId, to, next, above, before, rows }: Placeholders<Wanted>) => sql<Page>`
    select count(*) as rows, min(${number}) as lowest,
      max(case when ${number} > ${above} and coalesce(${number} - ahead, ${timesSince}) <= ${to} then ${number}
        when ${first} > ${above} and coalesce(${first} - ${firstAhead}, ${timesSince}) <= ${to} then ${first}
      end) as found,
      max(case when ${first} = ${to} then ${firstAhead} end) as own,
      max(case when ${first} = ${next} then ${firstAhead} end) as after
    from (
      select ${number}, ahead, ${first}, ${firstAhead} from ${sql.table(table)}
      where user_id = ${userId} and ${number} > ${to} and ${number} < ${before} order by ${number} desc limit ${rows}
    ) as page`,
  )
}

interface Numbered {
  number: number
  ahead: number | null
}

const around = query(
  (_, { userId, from, to }: Placeholders<{ userId: string; from: number; to: number }>) => sql<Numbered>`
    select stamp as number, ahead from records where user_id = ${userId} and stamp between ${from} and ${to}
    union select seq as number, ahead from versions where user_id = ${userId} and seq between ${from} and ${to}
    order by number`,
)
