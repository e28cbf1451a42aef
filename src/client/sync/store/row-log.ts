import { resultOf } from './database.ts'
import { isBlank } from './row.ts'
import type { Row } from './store.ts'

/**
 * Rows that were written together; of removed ones, the ids. A later pack overrides those before it. Version 1 stored each
 * row by itself, by its id.
 */
type Pack = (Row | string)[] | Row

/** A request takes about as long as the content of this many rows. */
const packRows = 50
/** As much as is read or written without a turn of the page in between. */
const slicePacks = 10
/** As many rows that are stored by themselves. */
export const sliceRows = 500
/** Room for overridden packs, beside as many as hold the rows, before all are written anew. */
const sparePacks = 200

/**
 * The rows of an IndexedDB object store that is only appended to: thousands of requests, one for each row, would take ten
 * times as long. What was read or written remains here, so that a read costs only what other tabs have added since.
 */
export class RowLog {
  readonly rows = new Map<string, Row>()
  /** The key of the last pack. */
  #last = 0
  #packs = 0

  /** Reads what was written since. */
  async catchUp(store: IDBObjectStore, slice = slicePacks): Promise<void> {
    // If it is gone, so are all that were read: written anew by another tab, or removed by the browser.
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

  /** Writes the rows. The log must be up to date; call what this returns once the transaction has succeeded. */
  async append(store: IDBObjectStore, rows: readonly Row[]): Promise<() => void> {
    const isWasteful = this.#packs > sparePacks + (2 * this.rows.size) / packRows
    const packs = toPacks(isWasteful ? this.#with(rows) : rows)
    // Waits for it, because both the packs of all rows and their first slice take the page a while.
    if (isWasteful) await resultOf(store.clear())
    let last: number | undefined
    for (let start = 0; start < packs.length; start += slicePacks) {
      const requests = packs.slice(start, start + slicePacks).map((pack) => resultOf(store.put(pack)))
      last = (await Promise.all(requests)).at(-1) as number
    }
    return () => {
      if (isWasteful) this.reset()
      this.#take(packs, last)
    }
  }

  reset(): void {
    this.rows.clear()
    this.#last = 0
    this.#packs = 0
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

function toPacks(rows: readonly Row[]): Pack[] {
  const packs: Pack[] = []
  for (let start = 0; start < rows.length; start += packRows) {
    packs.push(rows.slice(start, start + packRows).map((row) => (isBlank(row) ? row.id : row)))
  }
  return packs
}
