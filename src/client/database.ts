/** IndexedDB by promises. A transaction ends by itself once none of its requests is pending. */

/**
 * Opens a database of version 1.
 *
 * @param create makes the object stores of a new one
 * @param onClosed called when another tab or the browser has closed it, or when it could not be opened
 */
export async function openDatabase(
  name: string,
  create: (database: IDBDatabase) => void,
  onClosed: () => void = () => {},
): Promise<IDBDatabase> {
  const opening = indexedDB.open(name, 1)
  opening.onupgradeneeded = () => create(opening.result)
  try {
    const database = await resultOf(opening)
    // Another tab is deleting the database, or has a newer version of this package.
    database.onversionchange = () => {
      onClosed()
      database.close()
    }
    database.onclose = onClosed
    return database
  } catch (error) {
    onClosed()
    throw error
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
