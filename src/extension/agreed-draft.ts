import type { Agreed, AgreedRow, AgreedStore } from './agreed.ts'
import type { Restart } from './restart.ts'
import { Settling, withoutBefore } from './settling.ts'

/** A browser loses in a crash what it has not written down. Chrome does that every 2.5 s. */
export const settlingMs = 10_000

/**
 * The agreed tree in memory, and what of it is not stored yet. What was agreed on shortly before a crash of the browser, only
 * the service has afterwards, and it must not look as if the user had undone it: so what was agreed on before is kept, too,
 * and the next worker goes back to that where the browser has.
 */
export class AgreedDraft {
  readonly #rows: Settling<AgreedRow>
  readonly #orders: Settling<readonly string[]>
  #turned = 0

  /** @param restart if the browser was closed since: it may have lost what is not settled */
  constructor({ rows, orders }: Agreed, restart?: Restart) {
    const readRow = ({ isNone, ...row }: AgreedRow, id: string) => (isNone ? null : { ...row, id })
    const writeRow = (id: string, row: AgreedRow | null) => ({ ...(row ?? { isNone: true }), id }) as AgreedRow
    this.#rows = new Settling(rows, readRow, writeRow, restart?.row.bind(restart))
    this.#orders = new Settling(
      orders,
      (order) => (order.length > 0 ? order : null),
      (_key, order) => order ?? [],
      restart?.order.bind(restart),
    )
  }

  get rows(): ReadonlyMap<string, AgreedRow> {
    return this.#rows.values
  }

  get orders(): ReadonlyMap<string, readonly string[]> {
    return this.#orders.values
  }

  get isSettled(): boolean {
    return this.#rows.isSettled && this.#orders.isSettled
  }

  set(row: AgreedRow): void {
    this.#rows.set(row.id, row)
  }

  drop(id: string): void {
    if (this.rows.has(id)) this.#rows.set(id, null)
  }

  setOrder(key: string, ids: readonly string[]): void {
    const known = this.orders.get(key) ?? []
    if (known.length === ids.length && known.every((id, index) => id === ids[index])) return
    this.#orders.set(key, ids.length === 0 ? null : ids)
  }

  /** Stores what has changed. */
  async flush(store: AgreedStore): Promise<void> {
    await write(store, this.#rows.takeChanged(), this.#orders.takeChanged())
  }

  /** Stores rows that hold even after a crash: what is about to be done, and what the user has decided. */
  async announce(store: AgreedStore, rows: ReadonlyMap<string, AgreedRow | null>): Promise<void> {
    await write(store, withoutBefore(rows))
    this.#rows.announce(rows)
  }

  /** Stores what the browser has written down by now. */
  async settle(store: AgreedStore, now: number): Promise<void> {
    if (Math.abs(now - this.#turned) < settlingMs) return
    this.#turned = now
    await write(store, this.#rows.turn(), this.#orders.turn())
  }

  /** What holds now holds even after a crash. */
  async settleAll(store: AgreedStore): Promise<void> {
    this.#rows.turn()
    this.#orders.turn()
    await write(store, this.#rows.turn(), this.#orders.turn())
  }
}

async function write(
  store: AgreedStore,
  rows: ReadonlyMap<string, AgreedRow | null>,
  orders: ReadonlyMap<string, readonly string[] | null> = new Map(),
): Promise<void> {
  if (rows.size + orders.size > 0) await store.write({ rows, orders })
}
