import { StorageFullError } from '../../../src/client/errors.ts'
import { isBlank } from '../../../src/client/sync/store/row.ts'
import { type Meta, type Row, type Store, StoreEmptiedError } from '../../../src/client/sync/store/store.ts'
import { counted, turns } from '../sync/turns.ts'
import type { Dice } from './dice.ts'

/** A browser's storage for one person, which all of its tabs share and which the browser may empty at any time. */
export class Disk {
  readonly rows = new Map<string, Row>()
  meta: Meta | undefined
  isFull = false
  readonly #dice: Dice
  /** How many operations remain until the browser empties it. */
  #untilEvicted = Number.POSITIVE_INFINITY
  /** Whether it was emptied, and no tab has filled it again yet. */
  isEvicted = false

  constructor(dice: Dice) {
    this.#dice = dice
  }

  get isEmpty(): boolean {
    return this.meta === undefined && this.rows.size === 0
  }

  evict(afterOperations: number): void {
    this.#untilEvicted = afterOperations
    if (afterOperations === 0) this.#empty()
  }

  /** An eviction that is still to come comes now. */
  hurryEviction(): void {
    if (this.#untilEvicted < Number.POSITIVE_INFINITY) this.#empty()
  }

  /** The store as a tab has it, until the tab is killed: then nothing is answered any more. */
  open({ shared }: { shared: boolean }): { store: Store; kill(): void } {
    let isDead = false
    let wasStored = false
    const operation = async <T>(work: () => T): Promise<T> => {
      if (this.#dice.happens(0.1)) await counted(() => turns(1))
      if (isDead) return new Promise<T>(() => {})
      const result = work()
      if (--this.#untilEvicted < 0) this.#empty()
      return result
    }
    const read = (rows: Row[]) => {
      wasStored = this.meta !== undefined
      return { meta: this.meta, rows }
    }
    const write = (rows: readonly Row[], meta: Meta) => {
      const isEmptied = wasStored && !this.meta
      wasStored = !isEmptied
      if (isEmptied) throw new StoreEmptiedError()
      this.#write(rows, meta)
    }
    const store: Store = {
      shared,
      load: () => operation(() => read([...this.rows.values()])),
      read: (ids) => operation(() => read(ids.flatMap((id) => this.rows.get(id) ?? []))),
      write: (rows, meta) => operation(() => write(rows, meta)),
      wipe: () => operation(() => this.#empty({ isEvicted: false })),
      close() {},
    }
    return {
      store,
      kill() {
        isDead = true
      },
    }
  }

  #write(rows: readonly Row[], meta: Meta): void {
    if (this.isFull) throw new StorageFullError()
    for (const row of rows) {
      if (isBlank(row)) this.rows.delete(row.id)
      else this.rows.set(row.id, row)
    }
    this.meta = { ...meta }
    this.isEvicted = false
  }

  #empty({ isEvicted = !this.isEmpty || this.isEvicted } = {}): void {
    this.rows.clear()
    this.meta = undefined
    this.isEvicted = isEvicted
    this.#untilEvicted = Number.POSITIVE_INFINITY
  }
}
