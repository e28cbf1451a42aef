import { deleteDatabase, endOf, openDatabase, resultOf } from '../client/database.ts'
import { StorageFullError } from '../client/errors.ts'
import type { AgreedRow, AgreedStore } from './agreed.ts'

/**
 * Keeps the agreed tree in the extension's IndexedDB, in plaintext; `wipe` removes it.
 *
 * @param userId the service's `user_id`
 */
export function indexedDbAgreedStore(userId: string): AgreedStore {
  const name = `encrypted-bookmark-sync-browser-${userId}`
  let opened: Promise<IDBDatabase> | undefined
  const open = () => {
    opened ??= openDatabase(name, {
      upgrade(database) {
        database.createObjectStore('rows')
        database.createObjectStore('orders')
      },
      onClosed: () => (opened = undefined),
    })
    return opened
  }
  return {
    async load() {
      const transaction = (await open()).transaction(['rows', 'orders'])
      const orders = transaction.objectStore('orders')
      const [rows, keys, lists] = await Promise.all([
        resultOf<AgreedRow[]>(transaction.objectStore('rows').getAll()),
        resultOf(orders.getAllKeys()),
        resultOf<string[][]>(orders.getAll()),
      ])
      return {
        rows: new Map(rows.map((row) => [row.id, row])),
        orders: new Map(keys.map((key, index) => [key as string, lists[index] as string[]])),
      }
    },
    async write(change) {
      const transaction = (await open()).transaction(['rows', 'orders'], 'readwrite', { durability: 'strict' })
      for (const [name, values] of Object.entries(change)) {
        const store = transaction.objectStore(name)
        for (const [key, value] of values) {
          if (value === null) store.delete(key)
          else store.put(value, key)
        }
      }
      await endOf(transaction).catch((cause) => {
        throw cause?.name === 'QuotaExceededError' ? new StorageFullError({ cause }) : cause
      })
    },
    async wipe() {
      const database = await open()
      database.close()
      opened = undefined
      await deleteDatabase(name)
    },
  }
}
