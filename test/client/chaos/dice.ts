/** Repeatable random numbers: the same seed gives the same numbers (mulberry32). */
export class Dice {
  #state: number

  constructor(seed: number) {
    this.#state = seed | 0
  }

  /** A number from 0 up to, but not including, 1. */
  readonly roll = (): number => {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  below(count: number): number {
    return Math.floor(this.roll() * count)
  }

  /** A whole number from `least` to `most`, both included. */
  between(least: number, most: number): number {
    return least + this.below(most - least + 1)
  }

  happens(probability: number): boolean {
    return this.roll() < probability
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)] as T
  }

  /** One of the names, chosen with these weights. */
  draw<Name extends string>(weights: Record<Name, number>): Name {
    const entries = Object.entries(weights) as [Name, number][]
    let left = this.roll() * entries.reduce((sum, [, weight]) => sum + weight, 0)
    for (const [name, weight] of entries) {
      left -= weight
      if (left < 0) return name
    }
    throw new RangeError('Nothing to draw from')
  }
}
