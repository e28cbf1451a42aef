import type { Db } from '../db/engine/database.ts'
import { findPlace, type InTurn } from '../db/tables/numbers.ts'
import type { Counters } from '../db/tables/users.ts'

/**
 * Sequence numbers are for order alone, times for everything else: after a recovery, numbers are ahead of the clock for a
 * day, after a large import for some seconds. Whatever has a number is stored with its time, too.
 */

/** The numbers and the time of a write that holds the user's row: all its changes get the same time, each a number of its own. */
export interface Commit {
  /** The service's time (Unix ms). */
  readonly at: number
  /** How far the clock is behind the time at which the database was last in use (ms); 0 if it is not. */
  readonly behind: number
  /** Gives the next sequence number. It is never below `at`. */
  next(): number
  /** The last one that was given; without any, the user's last one. */
  last(): number
}

export interface CommitParts {
  clock: () => number
  clockGuard: { behindMs(at: number): number }
}

/** Nothing else reads a clock in a write: once the row is locked, so that times grow as numbers do. */
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
      // It grows even if the clock goes back.
      number = Math.max(at, number + 1)
      return number
    },
    last: () => number,
  }
}

/**
 * The number to continue from. A cursor above the user's last sequence number is from a database that was recovered since: what
 * is written now gets smaller numbers, so such a device starts from the beginning.
 */
export function continueFrom(since: number, lastStamp: number): number {
  return since > lastStamp ? 0 : since
}

/**
 * The sequence number up to which a user's changes were stored at the time `to`. A number that a device has got as its
 * cursor before something was written may look like a later time: it is the place between the two.
 *
 * @param now the service's time: whatever is stored was stored by now
 */
export async function numberAt(db: Db, userId: string, to: number, now: number, inTurn: InTurn): Promise<number> {
  const { greatest, isEndOfWrite } = await findPlace(db, userId, to, inTurn)
  if (isEndOfWrite) return to
  return to >= now ? Number.MAX_SAFE_INTEGER : greatest
}
