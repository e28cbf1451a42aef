import { ServiceError } from '../contract/errors.ts'
import { FairQueue } from './fair-queue.ts'

export interface SlotLimits {
  total: number
  perOwner: number
  /** Milliseconds per turn of the event loop in which new work starts. Default: no limit; 0: one item per turn. */
  turnMs?: number
  /** If true, waiting work ends a lent slot at once, even one of the same owner. Default: after 1 s (`#endOneFor`). */
  endsAtOnce?: boolean
}

/** Work that waits for a slot. */
interface Waiter {
  start(): void
  refuse(error: Error): void
}

/** A slot that may be ended when others need it. */
interface Loan {
  owner: string
  end(): void
  isBehind(): boolean
}

/**
 * Slots for concurrent work with a fair queue: every owner gets a turn before any gets a second. An owner is a user, a
 * login or, without a session, the network of an address.
 */
export class Slots {
  readonly #limits: Required<SlotLimits>
  readonly #refusal: () => Error
  readonly #queue: FairQueue<Waiter>
  #taken = 0
  readonly #takenBy = new Map<string, number>()
  /** The oldest first. */
  readonly #loans = new Set<Loan>()
  /** When this event loop turn's first work started; undefined before, or without `turnMs`. */
  #turnBegan: number | undefined
  #isStarting = false

  /** `refusal` makes the error for work that gets no slot. */
  constructor(
    { total, perOwner, turnMs = Number.POSITIVE_INFINITY, endsAtOnce = false }: SlotLimits,
    refusal: () => Error = () => new ServiceError('Overloaded'),
  ) {
    this.#limits = { total, perOwner, turnMs, endsAtOnce }
    this.#refusal = refusal
    this.#queue = new FairQueue({ refusal, onImpatient: (owner) => this.#endOneFor(owner) })
  }

  /** Takes a slot, now (undefined) or in turn. Rejects with Overloaded after 10 s, or if the owner has many waiting. */
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

  /** Holds a slot while `work` runs. Synchronous if a slot is free and `work` is synchronous. */
  run<T>(owner: string, work: () => T | Promise<T>): T | Promise<T> {
    const turn = this.take(owner)
    return turn ? turn.then(() => this.#hold(owner, work)) : this.#hold(owner, work)
  }

  /**
   * Allows this slot to be ended when others need it, until the returned function is called. `end` must lead to
   * `release`. `isBehind` returns true if the work in the slot is too slow.
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
    // Microtasks of the work also take time of this turn, so the next work starts after them.
    queueMicrotask(() =>
      process.nextTick(() => {
        this.#isStarting = false
        this.#startWaiting()
      }),
    )
  }

  /**
   * Ends the oldest lent slot of the owner with the most slots, if `owner` has at least two less. Otherwise ends one of
   * `owner` (`endsAtOnce`), or one that is behind. Another's only slot stays while it is in time, so that nine slow
   * uploads for eight slots do not keep ending each other.
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
    // Called only so that the log counts it.
    this.#refusal()
    found.end()
  }
}
