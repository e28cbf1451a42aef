/** `encrypted-bookmark-sync-client/testing`: for tests of stores and of extensions, with any test runner. */
import type { AgreedStore } from './agreed.ts'

export { memoryStore, type OpenStore, type StoreCase, storeCases } from '../client/testing.ts'

/** Keeps the agreed tree in memory, for tests. Copies what is written. */
export function memoryAgreedStore(): AgreedStore {
  const rows = new Map()
  const orders = new Map()
  return {
    load: async () => structuredClone({ rows, orders }),
    async write(change) {
      for (const [values, into] of [
        [change.rows, rows],
        [change.orders, orders],
      ] as const) {
        for (const [key, value] of values) {
          if (value === null) into.delete(key)
          else into.set(key, structuredClone(value))
        }
      }
    },
    async wipe() {
      rows.clear()
      orders.clear()
    },
  }
}
