import { ServiceError } from '../contract/errors.ts'

/** The most waiting items per owner: a message from each of a user's 256 sockets, and as many requests. */
const maxWaiting = 512
/** Milliseconds after which an item is refused: callers have given up by then, or will soon. */
const maxWaitMs = 10_000
const patienceMs = 1000
const checkMs = 250

/** An item that waits for its turn, or is refused after 10 s. */
interface Waiter {
  refuse(error: Error): void
}

interface Options {
  /** Makes the error for a refused item. */
  refusal?: () => Error
  /** Called after an owner's first item has waited for a second, and each second from then on. */
  onImpatient?: (owner: string) => void
}

interface Waiting<T> {
  item: T
  since: number
  impatientAt: number
}

/** A fair queue: an owner's items leave in order, and every owner gets a turn before any gets a second. */
export class FairQueue<T extends Waiter> {
  /** The owner whose last turn is longest ago comes first. */
  readonly #waiting = new Map<string, Waiting<T>[]>()
  readonly #options: Options
  /** Waiting items of all owners. */
  size = 0
  /** One timer for all, which costs less than one per item. It stops at the first check without waiting items. */
  #timer: NodeJS.Timeout | undefined

  constructor(options: Options = {}) {
    this.#options = options
  }

  #refuse(item: T): void {
    item.refuse(this.#options.refusal?.() ?? new ServiceError('Overloaded'))
  }

  /** Refuses the item immediately if the owner has too many waiting. */
  add(owner: string, item: T): void {
    const items = this.#waiting.get(owner) ?? []
    if (items.length >= maxWaiting) return void this.#refuse(item)
    const since = performance.now()
    items.push({ item, since, impatientAt: since + patienceMs })
    this.#waiting.set(owner, items)
    this.size++
    this.#timer ??= setInterval(() => this.#check(), checkMs).unref()
  }

  /** Takes the next item that may have a turn. An owner's later items do not overtake the first. */
  take(mayHaveTurn: (owner: string, item: T) => boolean): { owner: string; item: T } | undefined {
    for (const [owner, items] of this.#waiting) {
      if (!mayHaveTurn(owner, items[0]?.item as T)) continue
      const item = this.#shift(owner, items)
      this.#waiting.delete(owner)
      if (items.length > 0) this.#waiting.set(owner, items)
      return { owner, item }
    }
    return undefined
  }

  #shift(owner: string, items: Waiting<T>[]): T {
    const { item } = items.shift() as Waiting<T>
    if (items.length === 0) this.#waiting.delete(owner)
    this.size--
    return item
  }

  #check(): void {
    if (this.size === 0) {
      clearInterval(this.#timer)
      this.#timer = undefined
    }
    const now = performance.now()
    for (const [owner, items] of this.#waiting) {
      while (items[0] && now - items[0].since >= maxWaitMs) this.#refuse(this.#shift(owner, items))
    }
    for (const [owner, [first]] of [...this.#waiting]) {
      if (!first || now < first.impatientAt) continue
      first.impatientAt = now + patienceMs
      this.#options.onImpatient?.(owner)
    }
  }
}
