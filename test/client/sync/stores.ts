import 'fake-indexeddb/auto'
import { indexedDbStore } from '../../../src/client/sync/store/indexed-db.ts'
import { memoryStore } from '../../../src/client/sync/store/memory.ts'
import type { Store } from '../../../src/client/sync/store/store.ts'

/** One suite, every implementation: what a device keeps over its restarts; each call opens it anew. */
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
}
