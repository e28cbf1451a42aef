/** Runs in a page of the service: the steps of a device that has many bookmarks in IndexedDB. */
import { type Client, createClient } from '../src/client/api/client.ts'
import type { PlaintextBookmark } from '../src/client/bookmark.ts'
import { deriveKeys, type Keys } from '../src/client/crypto/keys.ts'
import { indexedDbStore } from '../src/client/sync/store/indexed-db.ts'
import { createSync, type Sync } from '../src/client/sync/sync.ts'
import { type Alone, firstSync, makeBookmarks, pullAlone, sealAlone } from './device.ts'

export interface Step {
  name: string
  /** Until the call has resolved, in ms. */
  total: number
  /** The longest time in which the page could not respond, in ms. */
  stall: number
  /** The parts that it cannot do without, measured before and after it. */
  alone?: Alone
}

export interface Visit {
  kind: keyof typeof visits
  count: number
  userId: string
  masterKey: number[]
}

/** The steps from one load of the page to the next. */
const visits = {
  async import(sync: Sync, { count, keys }: Setting) {
    const list = makeBookmarks(count)
    const importing = () => measure('import, until it is stored', () => sync.importBookmarks(list))
    return [
      await besides(importing, async () => sealAlone(keys, list)),
      await measure('push of what was imported', () => sync.syncNow()),
    ]
  },
  async 'first sync'(sync: Sync, { client, keys }: Setting) {
    const syncing = () => measure('first sync of a second device', () => sync.syncNow())
    return [await besides(syncing, () => pullAlone(client, keys))]
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
      await measure('a folder gets another name', () => sync.update(bookmark.parentId ?? '', { title: 'Renamed' })),
      await measure('  the tree after it', async () => sync.tree()),
    ]
  },
}

interface Setting {
  count: number
  client: Client
  keys: Keys
}

/** Measures the step, and what it cannot do without before and after it. */
async function besides(step: () => Promise<Step>, alone: () => Promise<Alone>): Promise<Step> {
  const before = await alone()
  const measured = await step()
  const after = await alone()
  const mean = (part: keyof Alone) => (before[part] + after[part]) / 2
  return { ...measured, alone: { network: mean('network'), cipher: mean('cipher') } }
}

async function visit({ kind, count, userId, masterKey }: Visit): Promise<Step[]> {
  const deviceId = kind === 'import' ? 'first' : 'second'
  const client = createClient({ baseUrl: location.origin, deviceId })
  const keys = deriveKeys(Uint8Array.from(masterKey))
  const sync = createSync({ client, keys, userId, deviceId, store: indexedDbStore(userId) })
  const steps = await visits[kind](sync, { count, client, keys })
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

Object.assign(globalThis, {
  visit,
  firstSync: ({ masterKey, userId }: { masterKey: number[]; userId: string }) =>
    firstSync(createClient({ baseUrl: location.origin, deviceId: 'second' }), {
      keys: deriveKeys(Uint8Array.from(masterKey)),
      userId,
      store: indexedDbStore(userId),
    }),
})
