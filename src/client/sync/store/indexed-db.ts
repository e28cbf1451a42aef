import type { EntityType } from '../../bookmark.ts'
import { Database, endOf, resultOf } from '../../database.ts'
import { StorageFullError, StoreVersionError } from '../../errors.ts'
import { requireFeature } from '../../feature.ts'
import { typeOf } from './key.ts'
import { isBlank } from './row.ts'
import { type Meta, type Row, type Store, type Stored, StoreEmptiedError } from './store.ts'

/** The version of the database. Version 1 stored each row by itself. */
const version = 2
/** Like version 2, with rows of other types than bookmarks. */
const versionWithTypes = 3
const metaKey = 'meta'

/**
 * Keeps the bookmarks in the browser's IndexedDB, in a separate database for each user, so that nobody else who signs
 * in with this browser opens it. They are stored in plaintext; `signOut` removes them. The browser clears its files only
 * later: until then, a program that can read these files finds what was deleted.
 *
 * @param userId the service's `user_id`
 */
export function indexedDbStore(userId: string): Store {
  let isWiped = false
  let notifyOutdated = () => {}
  const options = { version, newest: versionWithTypes, upgrade, onOutdated: () => notifyOutdated() }
  const database = new Database(`encrypted-bookmark-sync-${userId}`, options)
  /** The connection over which `log` was read. */
  let known: IDBDatabase | undefined
  const log = new RowLog()
  /** True if the store held something when it was last read or written. */
  let wasStored = false
  /** Begins a transaction. Forgets the rows if the connection is a new one, which may be to a new, empty database. */
  const begin = (connection: IDBDatabase, mode: IDBTransactionMode, options?: IDBTransactionOptions) => {
    if (known !== connection) log.reset()
    known = connection
    return connection.transaction(['rows', 'meta'], mode, options)
  }
  const use = async <T>(work: (connection: IDBDatabase) => Promise<T>): Promise<T> => {
    requireFeature(globalThis.indexedDB, 'IndexedDB')
    // Opening the database would create it again.
    if (isWiped) throw new DOMException('The store was wiped', 'InvalidStateError')
    try {
      return await database.use(work)
    } catch (cause) {
      throw isFull(cause) ? new StorageFullError({ cause }) : cause
    }
  }
  const read = (rowsOf: (rows: ReadonlyMap<string, Row>) => Row[]): Promise<Stored> =>
    use(async (connection) => {
      const transaction = begin(connection, 'readonly')
      const meta = await readMeta(transaction)
      await log.catchUp(transaction.objectStore('rows'))
      wasStored = meta !== undefined
      return { meta, rows: rowsOf(log.rows) }
    })

  return {
    shared: true,
    holdTypes() {
      options.version = versionWithTypes
    },
    onOutdated(listener) {
      notifyOutdated = listener
    },
    load: () => read((rows) => [...rows.values()]),
    read: (ids) => read((rows) => ids.flatMap((id) => rows.get(id) ?? [])),
    write: (rows, meta) =>
      use(async (connection) => {
        const transaction = begin(connection, 'readwrite', { durability: 'strict' })
        const store = transaction.objectStore('rows')
        const appended = await allOrNothing(transaction, async () => {
          const isEmptied = wasStored && (await readMeta(transaction)) === undefined
          wasStored = !isEmptied
          if (isEmptied) throw new StoreEmptiedError()
          await log.catchUp(store)
          const append = await log.append(store, rows, meta.types)
          await resultOf(transaction.objectStore('meta').put(meta, metaKey))
          return append
        })
        appended()
      }),
    async wipe() {
      await use(async (connection) => {
        const transaction = begin(connection, 'readwrite')
        for (const store of ['rows', 'meta']) transaction.objectStore(store).clear()
        await endOf(transaction)
      }).catch((error) => {
        if (!(error instanceof StoreVersionError)) throw error
      })
      isWiped = true
      log.reset()
      await database.delete()
    },
    close() {
      log.reset()
      database.close()
    },
  }
}

async function upgrade(database: IDBDatabase, transaction: IDBTransaction, before: number): Promise<void> {
  if (before === version) return
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

/** Rejects unless everything was stored: on a full disk, a transaction may fail after all of its requests have succeeded. */
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

function isFull(error: unknown): boolean {
  return error instanceof Error && error.name === 'QuotaExceededError'
}

/**
 * Rows that were written together, and the ids of removed ones. A later pack overrides those before it. Version 1
 * stored each row by itself, by its id.
 */
type Pack = (Row | string)[] | Row

/** Rows per pack: their content takes about as long to read or write as the request itself. */
const packRows = 50
/** Packs read or written before the event loop gets a turn. */
const slicePacks = 10
/** Rows of version 1, stored one by one, that are read before the event loop gets a turn. */
const sliceRows = 500
/** All rows are written again once the store has this many packs more than twice those that its rows need. */
const sparePacks = 200

/**
 * A log of packs of rows: a request for each of thousands of rows would take ten times as long. `append` sometimes writes
 * all of them again. The rows stay in memory, so that a read only fetches what other tabs have written since.
 */
class RowLog {
  readonly rows = new Map<string, Row>()
  /** The key of the last pack that was read or written; 0 if none was. */
  #last = 0
  #packs = 0

  /** Reads what was written since the last read. */
  async catchUp(store: IDBObjectStore, slice = slicePacks): Promise<void> {
    // If the last pack is gone, so are all that were read: another tab has written all rows again, or the browser removed them.
    if (this.#last > 0 && (await resultOf(store.getKey(this.#last))) === undefined) this.reset()
    for (;;) {
      const range = IDBKeyRange.lowerBound(this.#last, true)
      const [keys, packs] = await Promise.all([
        resultOf(store.getAllKeys(range, slice)),
        resultOf<Pack[]>(store.getAll(range, slice)),
      ])
      this.#take(packs, keys.at(-1) as number | undefined)
      if (keys.length < slice) return
    }
  }

  /** Writes the rows. The log must be up to date. Call the returned function once the transaction has succeeded. */
  async append(store: IDBObjectStore, rows: readonly Row[], types?: readonly EntityType[]): Promise<() => void> {
    const isWasteful = this.#packs > sparePacks + (2 * this.rows.size) / packRows
    const isRewritten = isWasteful || this.#endsType(rows, types)
    const packs = toPacks(isRewritten ? this.#with(rows) : rows)
    // Waits here, because making the packs of all rows and writing the first slice both block the page for a while.
    if (isRewritten) await resultOf(store.clear())
    let last: number | undefined
    for (let start = 0; start < packs.length; start += slicePacks) {
      const requests = packs.slice(start, start + slicePacks).map((pack) => resultOf(store.put(pack)))
      last = (await Promise.all(requests)).at(-1) as number
    }
    return () => {
      if (isRewritten) this.reset()
      this.#take(packs, last)
    }
  }

  reset(): void {
    this.rows.clear()
    this.#last = 0
    this.#packs = 0
  }

  /**
   * True if these rows clear the last content of a type (bookmarks excepted), or override content of a type that is not
   * stored any more. All rows are then written again, because overridden packs would keep the deleted content.
   */
  #endsType(rows: readonly Row[], stored: readonly EntityType[] = ['bookmark']): boolean {
    const isLeft = ({ id }: Row) => !stored.includes(typeOf(id)) && hasContent(this.rows.get(id))
    if (rows.some(isLeft)) return true
    const cleared = rows.filter((row) => !hasContent(row) && hasContent(this.rows.get(row.id)))
    const types = new Set(cleared.map(({ id }) => typeOf(id)))
    types.delete('bookmark')
    if (types.size > 0) for (const row of this.#with(rows)) if (hasContent(row)) types.delete(typeOf(row.id))
    return types.size > 0
  }

  #with(rows: readonly Row[]): Row[] {
    const all = new Map([...this.rows.values(), ...rows].map((row) => [row.id, row]))
    return [...all.values()].filter((row) => !isBlank(row))
  }

  #take(packs: readonly Pack[], last: number | undefined): void {
    for (const row of packs.flat()) {
      if (typeof row === 'string') this.rows.delete(row)
      else this.rows.set(row.id, row)
    }
    this.#packs += packs.length
    this.#last = last ?? this.#last
  }
}

/** False for the row of a deleted record, for example, which is kept for its version. */
function hasContent(row: Row | undefined): boolean {
  if (!row) return false
  const { version, waiting, held, conflicts } = row
  return Boolean(version?.bookmark || held || conflicts.length > 0 || waiting.some(({ bookmark }) => bookmark))
}

function toPacks(rows: readonly Row[]): Pack[] {
  const packs: Pack[] = []
  for (let start = 0; start < rows.length; start += packRows) {
    packs.push(rows.slice(start, start + packRows).map((row) => (isBlank(row) ? row.id : row)))
  }
  return packs
}
