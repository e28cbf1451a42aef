import { type DBSchema, deleteDB, type IDBPDatabase, openDB } from 'idb'
import { StorageFullError } from '../errors.ts'
import { isBlank } from './row.ts'
import type { Meta, Row, Store } from './store.ts'

interface Schema extends DBSchema {
  rows: { key: string; value: Row }
  meta: { key: string; value: Meta }
}

type Database = IDBPDatabase<Schema>

const metaKey = 'meta'

/**
 * Keeps the bookmarks in the browser's IndexedDB, in a database of the user's own, so that nobody else who signs in on
 * this browser opens it. They are in the clear there: `signOut` removes them.
 *
 * @param userId the service's `user_id`
 */
export function indexedDbStore(userId: string): Store {
  const name = `encrypted-bookmark-sync-${userId}`
  let opened: Promise<Database> | undefined
  const open = () => (opened ??= openDatabase(name, () => (opened = undefined)))

  return {
    shared: true,
    load: () =>
      translated(async () => {
        const transaction = (await open()).transaction(['rows', 'meta'])
        const [rows, meta] = await Promise.all([
          transaction.objectStore('rows').getAll(),
          transaction.objectStore('meta').get(metaKey),
        ])
        return { rows, meta }
      }),
    read: (ids) =>
      translated(async () => {
        const transaction = (await open()).transaction(['rows', 'meta'])
        const store = transaction.objectStore('rows')
        const [meta, ...rows] = await Promise.all([
          transaction.objectStore('meta').get(metaKey),
          ...ids.map((id) => store.get(id)),
        ])
        return { meta, rows: rows.filter((row) => row !== undefined) }
      }),
    write: (rows, meta) =>
      translated(async () => {
        const transaction = (await open()).transaction(['rows', 'meta'], 'readwrite', { durability: 'strict' })
        const [store, metaStore] = [transaction.objectStore('rows'), transaction.objectStore('meta')]
        const writes = rows.map(async (row) => (isBlank(row) ? store.delete(row.id) : store.put(row)))
        const metaWrite = async () => metaStore.put(meta, metaKey)
        await allOrNothing(transaction, [...writes, metaWrite()])
      }),
    async wipe() {
      const database = await open()
      const transaction = database.transaction(['rows', 'meta'], 'readwrite')
      await Promise.all([
        transaction.objectStore('rows').clear(),
        transaction.objectStore('meta').clear(),
        transaction.done,
      ])
      database.close()
      opened = undefined
      await deleteDatabase(name)
    },
    close() {
      opened?.then((database) => database.close()).catch(() => {})
      opened = undefined
    },
  }
}

function openDatabase(name: string, forget: () => void): Promise<Database> {
  const opening = openDB<Schema>(name, 1, {
    upgrade(database) {
      database.createObjectStore('rows', { keyPath: 'id' })
      database.createObjectStore('meta')
    },
    // Another tab removes it, or has a newer version of this package.
    blocking: () => opening.then((database) => database.close()),
    terminated: forget,
  })
  opening.catch(forget)
  return opening
}

/** It is empty by now: a tab that still has it open only delays its end. */
async function deleteDatabase(name: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    deleteDB(name, { blocked: () => resolve() }).then(resolve, reject)
  })
}

/** Without room a transaction may end with any of its requests, or only when all of them have gone well. */
async function allOrNothing(transaction: { done: Promise<void>; abort(): void }, writes: Promise<unknown>[]) {
  const outcomes = await Promise.allSettled([...writes.map((write) => write.catch(giveUp)), transaction.done])
  const failures = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []))
  if (failures.length > 0) throw failures.find(isFull) ?? failures[0]

  function giveUp(error: unknown): never {
    try {
      transaction.abort()
    } catch {
      // It has ended by itself.
    }
    throw error
  }
}

async function translated<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    throw isFull(cause) ? new StorageFullError({ cause }) : cause
  }
}

function isFull(error: unknown): boolean {
  return error instanceof Error && error.name === 'QuotaExceededError'
}
