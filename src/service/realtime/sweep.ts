import { setTimeout as sleep } from 'node:timers/promises'
import { findLastStamps } from '../db/tables/users.ts'
import { type Audience, type DeliveryParts, keepAlive } from './delivery.ts'

/** Makes up for lost notices, and finds sessions that have ended. */
export const sweepEveryMs = 30_000
/** Users of a query: SQLite answers it in some milliseconds, in which it serves nobody else. */
const usersAtOnce = 1000

/** The regular sweep takes its time; after notices were lost, it does not. */
export type Pace = 'spaced' | 'at once'

/**
 * Finds the users who have changes that a socket of theirs was not sent, without reading any, so that the sockets of
 * users who have none cost two queries for a thousand of them.
 */
export async function sweep(
  parts: DeliveryParts,
  users: ReadonlyMap<string, Audience>,
  { pace, stop, announce }: { pace: Pace; stop: AbortSignal; announce: (userId: string) => void },
): Promise<void> {
  const userIds = [...users.keys()]
  const pauseMs = pace === 'spaced' ? sweepEveryMs / Math.ceil(userIds.length / usersAtOnce) : 0
  for (let start = 0; start < userIds.length; start += usersAtOnce) {
    if (start > 0) await sleep(pauseMs, undefined, { signal: stop }).catch(() => {})
    if (stop.aborted) return
    const batch = userIds.slice(start, start + usersAtOnce)
    const stamps = await findLastStamps(parts.database.db, batch)
    const audiences = batch.flatMap((userId) => users.get(userId) ?? [])
    await keepAlive(
      parts,
      audiences.flatMap(({ connections }) => [...connections]),
    )
    for (const [userId, stamp] of stamps) if (isBehind(users.get(userId), stamp)) announce(userId)
  }
}

/** A number may have been given to a change that left no record, so each is looked for once. */
function isBehind(audience: Audience | undefined, stamp: number): boolean {
  if (!audience || audience.swept === stamp) return false
  audience.swept = stamp
  return [...audience.connections].some(({ open, cursor = stamp }) => open && cursor < stamp)
}
