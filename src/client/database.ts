import { StoreBlockedError, StoreVersionError } from './errors.ts'

/** IndexedDB with promises. A transaction ends automatically once none of its requests is pending. */

/** Opening fails after this many ms without an event: a request behind a blocked one gets none, and Safari has lost requests. */
const silentMs = 5000

interface DatabaseOptions {
  version?: number
  /** The newest version that can be read, if not `version`. A database of that version keeps it; a new one gets `version`. */
  newest?: number
  /** Creates or changes object stores. May await requests of the transaction. `before` is the old version, 0 for a new database. */
  upgrade(database: IDBDatabase, transaction: IDBTransaction, before: number): Promise<void>
  /** Called when another tab upgrades the database for a newer version of this package. */
  onOutdated?(): void
}

/** An IndexedDB database, opened on demand, and again after its connection was lost. */
export class Database {
  readonly #name: string
  readonly #options: DatabaseOptions
  /** Null after `close`. */
  #opened: Promise<IDBDatabase> | undefined | null

  constructor(name: string, options: DatabaseOptions) {
    this.#name = name
    this.#options = options
  }

  /**
   * Runs `work`. If the connection was lost, which browsers do not always report, runs `work` again on a new connection.
   *
   * @throws StoreVersionError a newer version of this package has changed the database
   * @throws StoreBlockedError another tab keeps the database from being opened
   */
  async use<T>(work: (database: IDBDatabase) => Promise<T>): Promise<T> {
    const opened = this.#open()
    const database = await opened
    try {
      return await work(database)
    } catch (error) {
      if (this.#opened === null || !/InvalidState|Unknown|Abort/.test((error as Error).name)) throw error
      database.close()
      this.#forget(opened)
      return work(await this.#open())
    }
  }

  close(): void {
    this.#opened?.then((database) => database.close()).catch(() => {})
    this.#opened = null
  }

  /** Does not wait for other tabs: the browser deletes the database once they close it. */
  async delete(): Promise<void> {
    this.close()
    const deleting = indexedDB.deleteDatabase(this.#name)
    const blocked = new Promise((resolve) => {
      deleting.onblocked = resolve
    })
    await Promise.race([resultOf(deleting), blocked])
  }

  #open(): Promise<IDBDatabase> {
    if (this.#opened) return this.#opened
    const forget = () => this.#forget(opened)
    const opened = this.#connect(forget)
    opened.catch(forget)
    this.#opened = opened
    return opened
  }

  #forget(opened: Promise<IDBDatabase>): void {
    if (this.#opened === opened) this.#opened = undefined
  }

  async #connect(onClosed: () => void, version = this.#options.version ?? 1): Promise<IDBDatabase> {
    const { newest = version, upgrade, onOutdated } = this.#options
    const opening = indexedDB.open(this.#name, version)
    const opened = resultOf(opening)
    const { promise: blocked, reject } = Promise.withResolvers<never>()
    const block = () => reject(new StoreBlockedError())
    const timer = setTimeout(block, silentMs)
    opening.onblocked = block
    opening.onupgradeneeded = ({ oldVersion }) => {
      clearTimeout(timer)
      // A request that fails has aborted the transaction, which rejects `opened`.
      upgrade(opening.result, opening.transaction as IDBTransaction, oldVersion).catch(() => {})
    }
    try {
      const database = await Promise.race([opened, blocked])
      // Another tab is deleting the database, or has a newer version of this package.
      database.onversionchange = ({ newVersion }) => {
        database.close()
        onClosed()
        if (newVersion !== null && newVersion > newest) onOutdated?.()
      }
      database.onclose = onClosed
      return database
    } catch (cause) {
      // The request may still succeed later, and its connection would block other tabs.
      opened.then((database) => database.close()).catch(() => {})
      if ((cause as Error).name !== 'VersionError') throw cause
      if (version < newest) return this.#connect(onClosed, newest)
      throw new StoreVersionError({ cause })
    } finally {
      clearTimeout(timer)
    }
  }
}

export function resultOf<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
}

/**
 * Resolves once everything is stored.
 *
 * @throws the reason why nothing was stored
 */
export function endOf(transaction: IDBTransaction): Promise<void> {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve()
    transaction.onabort = () =>
      reject(transaction.error ?? new DOMException('The transaction was aborted', 'AbortError'))
  })
}
