import { sql } from 'kysely'
import { pause } from '../../thread/loop.ts'
import type { Db } from '../engine/database.ts'
import { type Placeholders, query } from '../engine/query.ts'

/** A query looks at so many rows, which takes some milliseconds. */
const pageRows = 1000

/**
 * The greatest of a user's sequence numbers that was given no later than the time `to`, or `to` if that is greater: no number
 * is below the time at which it was given. Looks at the changes since then, newest first, because a clock that was ahead for
 * a while leaves later numbers with earlier times.
 */
export async function greatestNumberAt(db: Db, userId: string, to: number): Promise<number> {
  let best = to
  for (const page of [ofRecords, ofVersions]) {
    for (let before: number | null = Number.MAX_SAFE_INTEGER; before !== null; ) {
      await pause()
      const { lowest, found, rows }: Page = await page.one(db, { userId, to, above: best, before, rows: pageRows })
      best = found ?? best
      before = rows < pageRows ? null : lowest
    }
  }
  return best
}

/**
 * True if a write began right after the sequence number, and got the next one although the clock was behind that: then it is
 * the last one that a device could know before this write.
 */
export async function isEndOfWrite(db: Db, userId: string, number: number): Promise<boolean> {
  const [first, second] = await around.all(db, { userId, from: number, to: number + 1 })
  const next = second ?? first
  if (next?.number !== number + 1 || !next.ahead) return false
  return second === undefined || first?.ahead !== next.ahead - 1
}

interface Page {
  rows: number
  lowest: number | null
  found: number | null
}

interface Wanted {
  userId: string
  to: number
  above: number
  before: number
  rows: number
}

/** All numbers without a time were given before then, whatever they look like. */
const timesSince = sql<number>`(select times_since from heartbeat)`

/** Also the numbers with which they were first stored: nothing else may have these any more. */
const ofRecords = query(
  (_, { userId, to, above, before, rows }: Placeholders<Wanted>) => sql<Page>`
    select count(*) as rows, min(stamp) as lowest,
      max(case when coalesce(stamp - ahead, ${timesSince}) <= ${to} then stamp
        when first_stamp > ${above} and coalesce(first_stamp - first_ahead, ${timesSince}) <= ${to} then first_stamp
      end) as found
    from (
      select stamp, ahead, first_stamp, first_ahead from records where user_id = ${userId} and stamp > ${above} and stamp < ${before}
      order by stamp desc limit ${rows}
    ) as page`,
)

/** Also the numbers with which they began. */
const ofVersions = query(
  (_, { userId, to, above, before, rows }: Placeholders<Wanted>) => sql<Page>`
    select count(*) as rows, min(seq) as lowest,
      max(case when coalesce(seq - ahead, ${timesSince}) <= ${to} then seq
        when began > ${above} and coalesce(began - began_ahead, ${timesSince}) <= ${to} then began
      end) as found
    from (
      select seq, ahead, began, began_ahead from versions where user_id = ${userId} and seq > ${above} and seq < ${before}
      order by seq desc limit ${rows}
    ) as page`,
)

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
