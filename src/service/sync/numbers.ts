import type { Db } from '../db/engine/database.ts'
import { findPlace } from '../db/tables/numbers.ts'
import type { Counters } from '../db/tables/users.ts'

/**
 * Sequence numbers are for order alone, times for everything else: after a recovery, numbers are ahead of the clock for a
 * day, after a large import for some seconds. Each number is stored with how far it was ahead when it was given.
 */

/** The numbers and the time of a write that holds the user's row: all its changes get the same time, each a number of its own. */
export interface Commit {
  /** The service's time (Unix ms). */
  readonly at: number
  /** How far the clock is behind the time at which the database was last in use (ms); null if it is not. */
  readonly behind: number | null
  /** Gives the next sequence number. */
  next(): Numbered
  /** The last one that was given; without any, the user's last one. */
  last(): number
}

interface Numbered {
  stamp: number
  /** How far `stamp` is ahead of the commit's time (ms). Never negative. */
  ahead: number
}

export interface CommitParts {
  clock: () => number
  clockGuard: { behindMs(at: number): number }
}

/** Nothing else reads a clock in a write: once the row is locked, so that times grow as numbers do. */
export function beginCommit({ last_stamp }: Pick<Counters, 'last_stamp'>, { clock, clockGuard }: CommitParts): Commit {
  const at = clock()
  let number = last_stamp
  return {
    at,
    behind: clockGuard.behindMs(at) || null,
    next() {
      // It grows even if the clock goes back.
      number = Math.max(at, number + 1)
      return { stamp: number, ahead: number - at }
    },
    last: () => number,
  }
}

/**
 * The sequence number up to which a user's changes were stored at the time `to`. A number that a device has got as its
 * cursor before something was written may look like a later time: it is the place between the two.
 *
 * @param now the service's time: whatever is stored was stored by now
 */
export async function numberAt(db: Db, userId: string, to: number, now: number): Promise<number> {
  const { greatest, isEndOfWrite } = await findPlace(db, userId, to)
  if (isEndOfWrite) return to
  return to >= now ? Number.MAX_SAFE_INTEGER : greatest
}
