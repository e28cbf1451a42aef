import type { Db } from '../db/engine/database.ts'
import { findPlace, type InTurn } from '../db/tables/numbers.ts'
import type { Counters } from '../db/tables/users.ts'

/**
 * Sequence numbers only define the order. For times, use the stored times: a recovery puts numbers a day ahead of the
 * clock (db/tables/epoch.ts), a large import some seconds. Records and versions have both.
 */

/** The numbers and time of a write that has locked the user's row. Its changes share the time, but not the number. */
export interface Commit {
  /** The service's time (Unix ms). */
  readonly at: number
  /** How far the clock is behind the database's last use (ms); 0 if it is not. */
  readonly behind: number
  /** Returns the next sequence number, which is at least `at`. */
  next(): number
  /** The last number given; the user's last number if none was given. */
  last(): number
}

export interface CommitParts {
  clock: () => number
  clockGuard: { behindMs(at: number): number }
}

/** Reads the clock after the user's row is locked: later numbers have later times, unless the clock goes back. */
export function beginCommit(
  { last_sequence }: Pick<Counters, 'last_sequence'>,
  { clock, clockGuard }: CommitParts,
): Commit {
  const at = clock()
  let number = last_sequence
  return {
    at,
    behind: clockGuard.behindMs(at),
    next() {
      // Increases even if the clock goes back.
      number = Math.max(at, number + 1)
      return number
    },
    last: () => number,
  }
}

/**
 * The number to continue from. A cursor above the user's last number comes from before a recovery: new changes may
 * have smaller numbers, so such a device starts from the beginning.
 */
export function continueFrom(since: number, lastStamp: number): number {
  return since > lastStamp ? 0 : since
}

/**
 * The last sequence number that was given up to the time `to`. `to` may also be a cursor: the number that a device had
 * before a write may look like a later time, but means the point before that write.
 *
 * @param now the service's time: everything stored was stored by now
 */
export async function numberAt(db: Db, userId: string, to: number, now: number, inTurn: InTurn): Promise<number> {
  const { greatest, isEndOfWrite } = await findPlace(db, userId, to, inTurn)
  if (isEndOfWrite) return to
  return to >= now ? Number.MAX_SAFE_INTEGER : greatest
}
