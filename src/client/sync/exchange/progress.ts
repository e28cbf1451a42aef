import type { SyncProgress } from '../store/emitter.ts'

/** Told no more often: so many take a few milliseconds, and each time wakes the app and its tabs. */
const changesApart = 500
/** Fewer changes are done before anybody could read it: a state that flickers at each edit would say nothing. */
const fewest = 10

/** How far an exchange is: counts the changes that are decrypted and pushed. */
export class Progress {
  readonly #tell: (progress: SyncProgress | undefined) => void
  #done = 0
  #total = 0
  #told = 0

  /** @param tell called as it advances, and with undefined when the exchange has ended */
  constructor(tell: (progress: SyncProgress | undefined) => void) {
    this.#tell = tell
  }

  /** There is more to do. */
  expect(count: number): void {
    if (count === 0) return
    this.#total += count
    this.#report()
  }

  advance(count: number): void {
    this.#done += count
    this.#total = Math.max(this.#total, this.#done)
    if (this.#done - this.#told >= changesApart || this.#done === this.#total) this.#report()
  }

  end(): void {
    if (this.#total === 0) return
    this.#done = 0
    this.#total = 0
    this.#told = 0
    this.#tell(undefined)
  }

  #report(): void {
    if (this.#total < fewest) return
    this.#told = this.#done
    this.#tell({ done: this.#done, total: this.#total })
  }
}
