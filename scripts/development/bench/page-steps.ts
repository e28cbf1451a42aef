/** What the bench runs in a page of the service: what a device does with many bookmarks in IndexedDB. */
import { createClient } from '../../../src/client/api.ts'
import type { PlaintextBookmark } from '../../../src/client/bookmark.ts'
import { deriveKeys } from '../../../src/client/keys.ts'
import { indexedDbStore } from '../../../src/client/sync/store/indexed-db.ts'
import { createSync, type Sync } from '../../../src/client/sync.ts'
import { makeBookmarks } from './make-bookmarks.ts'

export interface Step {
  name: string
  /** Until the call has resolved, in ms. */
  total: number
  /** The longest time in which the page could not respond, in ms. */
  stall: number
}

export interface Visit {
  kind: keyof typeof visits
  count: number
  userId: string
  masterKey: number[]
}

/** What happens from one load of the page to the next. */
const visits = {
  async import(sync: Sync, count: number) {
    const list = makeBookmarks(count)
    return [
      await measure('import, until it is stored', () => sync.importBookmarks(list)),
      await measure('push of what was imported', () => sync.syncNow()),
    ]
  },
  async 'first sync'(sync: Sync) {
    return [await measure('first sync of a second device', () => sync.syncNow())]
  },
  async reload(sync: Sync) {
    const steps = [
      await measure('reload, until bookmarks can be read', () => sync.start()),
      await measure('  their tree', async () => sync.tree()),
    ]
    await sync.syncNow()
    const bookmark = [...sync.bookmarks().values()].at(-1) as PlaintextBookmark
    return [
      ...steps,
      await measure('edit, until it is stored', () => sync.put({ ...bookmark, title: 'Edited' })),
      await measure('  the tree after it', async () => sync.tree()),
    ]
  },
}

async function visit({ kind, count, userId, masterKey }: Visit): Promise<Step[]> {
  const deviceId = kind === 'import' ? 'first' : 'second'
  const client = createClient({ baseUrl: location.origin, deviceId })
  const keys = deriveKeys(Uint8Array.from(masterKey))
  const sync = createSync({ client, keys, userId, deviceId, store: indexedDbStore(userId) })
  const steps = await visits[kind](sync, count)
  if (sync.bookmarks().size !== count) throw new Error(`${sync.bookmarks().size} of ${count} bookmarks are there`)
  await sync.stop()
  return steps
}

async function measure(name: string, work: () => Promise<unknown>): Promise<Step> {
  const start = performance.now()
  let [last, stall] = [start, 0]
  const look = () => {
    const now = performance.now()
    stall = Math.max(stall, now - last)
    last = now
  }
  const timer = setInterval(look)
  await work()
  look()
  clearInterval(timer)
  return { name, total: last - start, stall }
}

Object.assign(globalThis, { visit })
