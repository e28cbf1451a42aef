import type { PlaintextBookmark } from '../../bookmark.ts'

interface Found {
  bookmark: Readonly<PlaintextBookmark>
  rank: number
}

/** Keeps the best of what is found, without sorting all of it. */
export class Best {
  readonly #limit: number
  #found: Found[] = []
  /** The last one that is still good enough. */
  #last: Found | undefined

  constructor(limit: number) {
    this.#limit = limit
  }

  add(one: Found): void {
    if (this.#last && byRank(one, this.#last) > 0) return
    this.#found.push(one)
    if (this.#found.length >= 2 * this.#limit) this.#cut()
  }

  bookmarks(): Found['bookmark'][] {
    this.#cut()
    return this.#found.map(({ bookmark }) => bookmark)
  }

  #cut(): void {
    this.#found = this.#found.sort(byRank).slice(0, this.#limit)
    if (this.#found.length === this.#limit) this.#last = this.#found.at(-1)
  }
}

/** The highest rank first, then the newest bookmark; the same on every device. */
function byRank(one: Found, other: Found): number {
  return other.rank - one.rank || compareDates(other, one) || (one.bookmark.id < other.bookmark.id ? -1 : 1)
}

function compareDates({ bookmark: one }: Found, { bookmark: other }: Found): number {
  const [first, second] = [dateOf(one), dateOf(other)]
  return first < second ? -1 : first > second ? 1 : 0
}

/** Another client may have written anything. */
function dateOf({ dateAdded }: { dateAdded?: unknown }): string {
  return typeof dateAdded === 'string' ? dateAdded : ''
}
