import { StoreVersionError } from './errors.ts'

/** IndexedDB by promises. A transaction ends by itself once none of its requests is pending. */

interface DatabaseOptions {
  version?: number
  /** Makes or changes the object stores; requests of the transaction may be awaited. `before` is 0 for a new database. */
  upgrade(database: IDBDatabase, transaction: IDBTransaction, before: number): void | Promise<void>
  /**
   * Called when another tab or the browser has closed it, or when it could not be opened.
   *
   * @param isNewer true if another tab has taken it over with a newer version of this package
   */
  onClosed?(isNewer: boolean): void
}

/** @throws StoreVersionError it is of a newer version of this package */
export async function openDatabase(
  name: string,
  { version = 1, upgrade, onClosed = () => {} }: DatabaseOptions,
): Promise<IDBDatabase> {
  const opening = indexedDB.open(name, version)
  opening.onupgradeneeded = async ({ oldVersion }) => {
    const transaction = opening.transaction as IDBTransaction
    try {
      await upgrade(opening.result, transaction, oldVersion)
    } catch {
      // A request that fails has aborted the transaction, which rejects `opening`.
    }
  }
  try {
    const database = await resultOf(opening)
    // Another tab is deleting the database, or has a newer version of this package.
    database.onversionchange = ({ newVersion }) => {
      database.close()
      onClosed(newVersion !== null)
    }
    database.onclose = () => onClosed(false)
    return database
  } catch (cause) {
    onClosed(false)
    throw (cause as Error).name === 'VersionError' ? new StoreVersionError({ cause }) : cause
  }
}

/** Does not wait for a tab that still has the database open: it is deleted once that tab closes it. */
export async function deleteDatabase(name: string): Promise<void> {
  const deleting = indexedDB.deleteDatabase(name)
  await new Promise<void>((resolve, reject) => {
    deleting.onblocked = () => resolve()
    resultOf(deleting).then(() => resolve(), reject)
  })
}

export function resultOf<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
}

/** Resolves once everything is stored. @throws the error because of which nothing was */
export function endOf(transaction: IDBTransaction): Promise<void> {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve()
    transaction.onabort = () =>
      reject(transaction.error ?? new DOMException('The transaction was aborted', 'AbortError'))
  })
}
