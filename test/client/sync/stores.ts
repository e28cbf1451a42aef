import 'fake-indexeddb/auto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import root from 'tap'
import { fileStore } from '../../../src/client/node/file-store.ts'
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
  'in a file': () => {
    const folder = mkdtempSync(join(tmpdir(), 'ebs-store-'))
    root.teardown(() => rmSync(folder, { recursive: true, force: true }))
    return (userId) => fileStore(join(folder, `${userId}.db`))
  },
}
