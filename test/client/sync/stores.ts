import 'fake-indexeddb/auto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import root, { type Test } from 'tap'
import { indexedDbStore, memoryStore, type Store } from '../../../src/client/index.ts'
import { fileStore } from '../../../src/client/node/file-store.ts'
import { isDeep } from '../../support/depth.ts'
import { bookmark, openPeople, send } from './device.ts'

/** All implementations of stores. Each call of the inner function opens the user's store again, as after a restart. */
export const disks: Record<string, () => (userId: string) => Store> = {
  'in memory': () => {
    const stores = new Map<string, Store>()
    return (userId) => {
      const store = stores.get(userId) ?? memoryStore()
      stores.set(userId, store)
      return store
    }
  },
  'in IndexedDB': () => (userId) => indexedDbStore(userId),
  'in a file': () => {
    const folder = mkdtempSync(join(tmpdir(), 'ebs-store-'))
    root.teardown(() => rmSync(folder, { recursive: true, force: true }))
    return (userId) => fileStore(join(folder, `${userId}.db`))
  },
}

/** The stores for tests of the engine. Quick runs use one, because `store.test.ts` checks that all are alike. */
export const quickDisks = isDeep ? disks : { 'in IndexedDB': disks['in IndexedDB'] as (typeof disks)[string] }

export const five = ['p', 'q', 'r', 's', 't'].map((id) => bookmark(id, `title of ${id}`))
export const titles = Object.fromEntries(five.map(({ id, title }) => [id, title]))

/** A store that is emptied after the first read that follows `arm`. */
export function emptiedInTheMiddle(userId: string) {
  const store = indexedDbStore(userId)
  let isArmed = false
  const read: Store['read'] = async (ids) => {
    const stored = await store.read(ids)
    if (isArmed) await empty(userId)
    isArmed = false
    return stored
  }
  return {
    store: { ...store, read },
    arm() {
      isArmed = true
    },
  }
}

/** A device that keeps five bookmarks in IndexedDB, and has sent them. */
export async function synced(t: Test) {
  const { person, a } = await (await openPeople()).open(t, { a: { disk: indexedDbStore } })
  await send(a, five)
  return { person, userId: person.user.userId, a }
}

export async function deleteDatabase(userId: string): Promise<void> {
  await once(indexedDB.deleteDatabase(`encrypted-bookmark-sync-${userId}`), 'success')
}

export async function openDatabase(userId: string, upgrade?: (database: IDBDatabase) => void): Promise<IDBDatabase> {
  const opening = indexedDB.open(`encrypted-bookmark-sync-${userId}`)
  opening.onupgradeneeded = () => upgrade?.(opening.result)
  await once(opening, 'success')
  return opening.result
}

/** Resolves when the request or transaction fires the event. */
export async function once(target: EventTarget, event: 'success' | 'complete' | 'error'): Promise<void> {
  await new Promise((resolve) => target.addEventListener(event, resolve))
}

/** Empties the store like a browser that clears site data: open connections remain. */
export async function empty(userId: string): Promise<void> {
  const database = await openDatabase(userId)
  const transaction = database.transaction(['rows', 'meta'], 'readwrite')
  for (const name of ['rows', 'meta']) transaction.objectStore(name).clear()
  await once(transaction, 'complete')
  database.close()
}
