import { setImmediate as eventLoopTurn } from 'node:timers/promises'
import type { Db } from '../db/engine/database.ts'
import { type ListKey, type ListStart, nthNewest } from '../db/tables/bookmarks.ts'
import type { LockedUser } from '../db/tables/users.ts'

/** A statement skips this many in less than a millisecond, because it reads only the index. */
const stepRows = 1000
/** A million bookmarks have a thousand keys: some hundred kB. */
const usersAtMost = 50

/** The owners who looked at deep pages last: every thousandth bookmark, as long as nothing is written. */
const places = new Map<string, Way>()

interface Way extends Pick<LockedUser, 'last_sequence' | 'epoch'> {
  keys: ListKey[]
}

/**
 * The place where the list begins after the newest `skip` bookmarks; undefined if there are no more. The way there is
 * in short steps, which the next page of the list need not take again.
 */
export async function startAfter(
  db: Db,
  { id, last_sequence, epoch }: Pick<LockedUser, 'id' | 'last_sequence' | 'epoch'>,
  skip: number,
): Promise<ListStart | undefined> {
  const steps = Math.floor(skip / stepRows)
  if (steps === 0) return { skip }
  const known = places.get(id)
  const { keys } = known?.last_sequence === last_sequence && known.epoch === epoch ? known : { keys: [] }
  remember(id, { last_sequence, epoch, keys })
  while (keys.length < steps) {
    await eventLoopTurn()
    const place = keys.length
    const key = await nthNewest(db, id, { after: keys.at(-1), skip: stepRows - 1 })
    if (!key) return undefined
    // Another page's way may have come as far meanwhile.
    keys[place] = key
  }
  return { after: keys[steps - 1], skip: skip % stepRows }
}

function remember(id: string, way: Way): void {
  places.delete(id)
  places.set(id, way)
  const [oldest] = places.keys()
  if (places.size > usersAtMost && oldest !== undefined) places.delete(oldest)
}
