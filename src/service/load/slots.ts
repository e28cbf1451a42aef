import { ServiceError } from '../contract/errors.ts'
import { FairQueue } from './fair-queue.ts'

export interface SlotLimits {
  /** Places in all. */
  total: number
  perOwner: number
  /**
   * Within one turn of the event loop, new work starts until this many ms have passed. Default: no limit. With 0, one work
   * starts per turn.
   */
  turnMs?: number
  /** An owner who finds no place ends a lent one at once, if need be their own. Default: after a second, and only another's. */
  endsAtOnce?: boolean
}

/** Work that waits for a place. */
interface Waiter {
  start(): void
  refuse(error: Error): void
}

/** A place that may be ended in favour of others. */
interface Loan {
  owner: string
  end(): void
  isBehind(): boolean
}

/**
 * Places for concurrent work, with a fair queue: every owner gets a turn before any gets a second. The owner is a user, or the
 * network of an address without a session.
 */
export class Slots {
  readonly #limits: Required<SlotLimits>
  readonly #refusal: () => Error
  readonly #queue: FairQueue<Waiter>
  #taken = 0
  readonly #takenBy = new Map<string, number>()
  /** The oldest first. */
  readonly #loans = new Set<Loan>()
  /** When the first work of this turn of the event loop started; undefined if none has. */
  #turnBegan: number | undefined
  #isStarting = false

  /** `refusal` makes the error for work that finds no place. */
  constructor(
    { total, perOwner, turnMs = Number.POSITIVE_INFINITY, endsAtOnce = false }: SlotLimits,
    refusal: () => Error = () => new ServiceError('Overloaded'),
  ) {
    this.#limits = { total, perOwner, turnMs, endsAtOnce }
    this.#refusal = refusal
    this.#queue = new FairQueue({ refusal, onImpatient: (owner) => this.#endOneFor(owner) })
  }

  /** Undefined if a place is free now. Rejects with Overloaded after 10 s, and if too many of the owner's wait already. */
  take(owner: string): Promise<void> | undefined {
    if (this.#queue.size === 0 && this.#hasPlace() && this.#mayHaveMore(owner)) return this.#occupy(owner)
    return new Promise((resolve, reject) => {
      this.#queue.add(owner, { start: resolve, refuse: reject })
      if (this.#limits.endsAtOnce) this.#endOneFor(owner)
      this.#startWaiting()
    })
  }

  release(owner: string): void {
    const left = (this.#takenBy.get(owner) ?? 0) - 1
    if (left > 0) this.#takenBy.set(owner, left)
    else this.#takenBy.delete(owner)
    this.#taken--
    this.#startWaiting()
  }

  /** Holds a place while `work` runs. Returns no promise if a place is free and `work` returns none. */
  run<T>(owner: string, work: () => T | Promise<T>): T | Promise<T> {
    const turn = this.take(owner)
    return turn ? turn.then(() => this.#hold(owner, work)) : this.#hold(owner, work)
  }

  /**
   * Allows this place to be ended in favour of others, until the returned function is called. `end` leads to `release`. One that is
   * behind has held its place for longer than it should.
   */
  lend(owner: string, end: () => void, isBehind: () => boolean): () => void {
    const loan = { owner, end, isBehind }
    this.#loans.add(loan)
    return () => void this.#loans.delete(loan)
  }

  load(): { taken: number; waiting: number } {
    return { taken: this.#taken, waiting: this.#queue.size }
  }

  #hasPlace(): boolean {
    const { total, turnMs } = this.#limits
    return this.#taken < total && (this.#turnBegan === undefined || performance.now() - this.#turnBegan < turnMs)
  }

  #mayHaveMore(owner: string): boolean {
    return (this.#takenBy.get(owner) ?? 0) < this.#limits.perOwner
  }

  #occupy(owner: string): undefined {
    this.#taken++
    this.#takenBy.set(owner, (this.#takenBy.get(owner) ?? 0) + 1)
    if (this.#turnBegan !== undefined || this.#limits.turnMs === Number.POSITIVE_INFINITY) return
    this.#turnBegan = performance.now()
    setImmediate(() => {
      this.#turnBegan = undefined
      this.#startWaiting()
    })
  }

  #hold<T>(owner: string, work: () => T | Promise<T>): T | Promise<T> {
    let result: T | Promise<T>
    try {
      result = work()
    } catch (error) {
      this.release(owner)
      throw error
    }
    if (result instanceof Promise) return result.finally(() => this.release(owner))
    this.release(owner)
    return result
  }

  #startWaiting(): void {
    if (this.#isStarting || this.#queue.size === 0 || !this.#hasPlace()) return
    const next = this.#queue.take((owner) => this.#mayHaveMore(owner))
    if (!next) return
    this.#occupy(next.owner)
    next.item.start()
    this.#isStarting = true
    // The work's microtasks take time of this turn, too, so the next one starts after them.
    queueMicrotask(() =>
      process.nextTick(() => {
        this.#isStarting = false
        this.#startWaiting()
      }),
    )
  }

  /**
   * Ends the oldest lent place of the owner with the most, if this one has two less, or else one that is behind. An owner's
   * only place is not ended while it is in time: otherwise, nine slow uploads for eight places would end each other for ever.
   */
  #endOneFor(owner: string): void {
    const loans = [...this.#loans]
    let most = (this.#takenBy.get(owner) ?? 0) + 1
    let found = this.#limits.endsAtOnce ? loans.find((loan) => loan.owner === owner) : undefined
    for (const loan of loans) {
      const taken = this.#takenBy.get(loan.owner) ?? 0
      if (taken > most) [most, found] = [taken, loan]
    }
    if (this.#mayHaveMore(owner)) found ??= loans.find((loan) => loan.isBehind())
    if (!found) return
    this.#loans.delete(found)
    // Counts it in the log.
    this.#refusal()
    found.end()
  }
}
