const firstMs = 1000
const longestMs = 60_000

/** How long to wait before the next attempt: anything up to a ceiling that doubles from 1 s to 60 s (full jitter). */
export class Backoff {
  readonly #random: () => number
  #attempts = 0

  constructor(random: () => number) {
    this.#random = random
  }

  /** In ms. */
  next(): number {
    const ceiling = Math.min(longestMs, firstMs * 2 ** this.#attempts)
    this.#attempts++
    return this.#random() * ceiling
  }

  /** It went well for long enough. */
  reset(): void {
    this.#attempts = 0
  }
}
