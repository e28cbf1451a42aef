import { deleteDatabase, endOf, openDatabase, resultOf } from '../../database.ts'
import { StorageFullError } from '../../errors.ts'
import { isBlank } from './row.ts'
import { type Meta, type Row, type Store, StoreEmptiedError } from './store.ts'

const metaKey = 'meta'
const sliceRows = 250

/**
 * Keeps the bookmarks in the browser's IndexedDB, in a separate database for each user, so that nobody else who signs in
 * with this browser opens it. They are stored in plaintext; `signOut` removes them.
 *
 * @param userId the service's `user_id`
 */
export function indexedDbStore(userId: string): Store {
  const name = `encrypted-bookmark-sync-${userId}`
  let opened: Promise<IDBDatabase> | undefined
  let isWiped = false
  /** The database that was read last. */
  let known: IDBDatabase | undefined
  /** Whether it held something when it was last read or written. */
  let wasStored = false
  const open = async () => {
    // Opening it would create it again.
    if (isWiped) throw new DOMException('The store was wiped', 'InvalidStateError')
    opened ??= openDatabase(name, createStores, () => (opened = undefined))
    return opened
  }

  return {
    shared: true,
    load: () =>
      translated(async () => {
        known = await open()
        const transaction = known.transaction(['rows', 'meta'])
        const meta = await readMeta(transaction)
        const store = transaction.objectStore('rows')
        const rows: Row[] = await resultOf(store.getAll(undefined, sliceRows))
        for (let last = rows.at(-1); last; ) {
          const more: Row[] = await resultOf(store.getAll(IDBKeyRange.lowerBound(last.id, true), sliceRows))
          rows.push(...more)
          last = more.at(-1)
        }
        wasStored = meta !== undefined
        return { rows, meta }
      }),
    read: (ids) =>
      translated(async () => {
        known = await open()
        const transaction = known.transaction(['rows', 'meta'])
        const meta = await readMeta(transaction)
        const store = transaction.objectStore('rows')
        const rows: Row[] = []
        await inSlices(ids, async (id) => {
          const row: Row | undefined = await resultOf(store.get(id))
          if (row) rows.push(row)
        })
        wasStored = meta !== undefined
        return { meta, rows }
      }),
    write: (rows, meta) =>
      translated(async () => {
        const database = await open()
        // It was closed meanwhile, and may be another one that holds nothing: what was read must be read again.
        if (known && known !== database)
          throw new DOMException('The browser closed the store meanwhile', 'InvalidStateError')
        const transaction = database.transaction(['rows', 'meta'], 'readwrite', { durability: 'strict' })
        const store = transaction.objectStore('rows')
        await allOrNothing(transaction, async () => {
          const isEmptied = wasStored && (await readMeta(transaction)) === undefined
          wasStored = !isEmptied
          if (isEmptied) throw new StoreEmptiedError()
          await inSlices(rows, async (row) => {
            await (isBlank(row) ? resultOf(store.delete(row.id)) : resultOf(store.put(row)))
          })
          await resultOf(transaction.objectStore('meta').put(meta, metaKey))
        })
      }),
    async wipe() {
      const database = await open()
      isWiped = true
      const transaction = database.transaction(['rows', 'meta'], 'readwrite')
      for (const store of ['rows', 'meta']) transaction.objectStore(store).clear()
      await endOf(transaction)
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

function createStores(database: IDBDatabase): void {
  database.createObjectStore('rows', { keyPath: 'id' })
  database.createObjectStore('meta')
}

function readMeta(transaction: IDBTransaction): Promise<Meta | undefined> {
  return resultOf(transaction.objectStore('meta').get(metaKey))
}

/** Works in slices within one transaction, so that thousands of rows at once never block the page. */
async function inSlices<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  for (let start = 0; start < items.length; start += sliceRows) {
    await Promise.all(items.slice(start, start + sliceRows).map(work))
  }
}

/** If the storage is full, a transaction may fail at any of its requests, or only after all of them have succeeded. */
async function allOrNothing(transaction: IDBTransaction, work: () => Promise<void>) {
  const failure = endOf(transaction).then(
    () => undefined,
    (error: unknown) => error,
  )
  try {
    await work()
  } catch (error) {
    abort(transaction)
    const cause = await failure
    throw isFull(cause) ? cause : error
  }
  const error = await failure
  if (error) throw error
}

/** The transaction may already have aborted by itself. */
function abort(transaction: IDBTransaction): void {
  try {
    transaction.abort()
  } catch {}
}

async function translated<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    if (cause instanceof Error && cause.name === 'VersionError') {
      throw new Error('A tab with a newer version of the app uses this store: reload the page', { cause })
    }
    throw isFull(cause) ? new StorageFullError({ cause }) : cause
  }
}

function isFull(error: unknown): boolean {
  return error instanceof Error && error.name === 'QuotaExceededError'
}
