import { StorageFullError } from '../../errors.ts'
import { deleteDatabase, endOf, openDatabase, resultOf } from './database.ts'
import { RowLog, sliceRows } from './row-log.ts'
import { type Meta, type Row, type Store, type Stored, StoreEmptiedError } from './store.ts'

/** Version 1 stored each row by itself. */
const version = 2
const metaKey = 'meta'

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
  /** The database that was read last, and its rows. */
  let known: IDBDatabase | undefined
  const log = new RowLog()
  /** Whether it held something when it was last read or written. */
  let wasStored = false
  const open = async () => {
    // Opening it would create it again.
    if (isWiped) throw new DOMException('The store was wiped', 'InvalidStateError')
    opened ??= openDatabase(name, { version, upgrade, onClosed: () => (opened = undefined) })
    return opened
  }
  const read = (rowsOf: (rows: ReadonlyMap<string, Row>) => Row[]): Promise<Stored> =>
    translated(async () => {
      const database = await open()
      if (known !== database) log.reset()
      known = database
      const transaction = database.transaction(['rows', 'meta'])
      const meta = await readMeta(transaction)
      await log.catchUp(transaction.objectStore('rows'))
      wasStored = meta !== undefined
      return { meta, rows: rowsOf(log.rows) }
    })

  return {
    shared: true,
    load: () => read((rows) => [...rows.values()]),
    read: (ids) => read((rows) => ids.flatMap((id) => rows.get(id) ?? [])),
    write: (rows, meta) =>
      translated(async () => {
        const database = await open()
        // It was closed meanwhile, and may be another one that holds nothing: what was read must be read again.
        if (known && known !== database)
          throw new DOMException('The browser closed the store meanwhile', 'InvalidStateError')
        known = database
        const transaction = database.transaction(['rows', 'meta'], 'readwrite', { durability: 'strict' })
        const store = transaction.objectStore('rows')
        const appended = await allOrNothing(transaction, async () => {
          const isEmptied = wasStored && (await readMeta(transaction)) === undefined
          wasStored = !isEmptied
          if (isEmptied) throw new StoreEmptiedError()
          await log.catchUp(store)
          const append = await log.append(store, rows)
          await resultOf(transaction.objectStore('meta').put(meta, metaKey))
          return append
        })
        appended()
      }),
    async wipe() {
      const database = await open()
      isWiped = true
      log.reset()
      const transaction = database.transaction(['rows', 'meta'], 'readwrite')
      for (const store of ['rows', 'meta']) transaction.objectStore(store).clear()
      await endOf(transaction)
      database.close()
      opened = undefined
      await deleteDatabase(name)
    },
    close() {
      log.reset()
      opened?.then((database) => database.close()).catch(() => {})
      opened = undefined
    },
  }
}

async function upgrade(database: IDBDatabase, transaction: IDBTransaction, before: number): Promise<void> {
  const old = new RowLog()
  if (before === 0) database.createObjectStore('meta')
  else {
    await old.catchUp(transaction.objectStore('rows'), sliceRows)
    database.deleteObjectStore('rows')
  }
  await new RowLog().append(database.createObjectStore('rows', { autoIncrement: true }), [...old.rows.values()])
}

function readMeta(transaction: IDBTransaction): Promise<Meta | undefined> {
  return resultOf(transaction.objectStore('meta').get(metaKey))
}

/** If the storage is full, a transaction may fail at any of its requests, or only after all of them have succeeded. */
async function allOrNothing<T>(transaction: IDBTransaction, work: () => Promise<T>): Promise<T> {
  const failure = endOf(transaction).then(
    () => undefined,
    (error: unknown) => error,
  )
  let result: T
  try {
    result = await work()
  } catch (error) {
    abort(transaction)
    const cause = await failure
    throw isFull(cause) ? cause : error
  }
  const error = await failure
  if (error) throw error
  return result
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
