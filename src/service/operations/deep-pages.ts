import { setImmediate as eventLoopTurn } from 'node:timers/promises'
import type { Db } from '../db/engine/database.ts'
import { type ListKey, type ListStart, nthNewest } from '../db/tables/bookmarks.ts'
import type { LockedUser } from '../db/tables/users.ts'

/** Bookmarks per statement, which takes less than a millisecond because it only reads the index. */
const stepRows = 1000
/** Users in the cache. A million bookmarks have a thousand keys: about 100 kB. */
const usersAtMost = 50

/** Every thousandth bookmark in the lists of users who opened deep pages, until a user's records change. */
const places = new Map<string, Cached>()

interface Cached extends Pick<LockedUser, 'last_sequence' | 'epoch'> {
  keys: ListKey[]
}

/** The position after the newest `skip` bookmarks; far beyond the end undefined. Caches the steps for the next page. */
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
    // Another request may have stored the same key meanwhile.
    keys[place] = key
  }
  return { after: keys[steps - 1], skip: skip % stepRows }
}

function remember(id: string, cached: Cached): void {
  places.delete(id)
  places.set(id, cached)
  const [oldest] = places.keys()
  if (places.size > usersAtMost && oldest !== undefined) places.delete(oldest)
}
