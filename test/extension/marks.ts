/** Up to this many deleted nodes may come back: adding a node may move a sibling, and the move wins over a delete elsewhere. */
const mostBack = 2

/** The bookmarks and folders that must exist at the end. A mark in the title of each identifies it after renames. */
export class Marks {
  readonly #seed: number
  #last = 0
  /** The number of nodes with the mark: more than one if their user duplicated them. */
  readonly #made = new Map<string, number>()
  /** Marks of nodes that a user deleted. */
  readonly #deleted = new Set<string>()
  /** Marks of nodes that were edited or moved, which may have won over another device's delete. */
  readonly #touched = new Set<string>()

  constructor(seed: number) {
    this.#seed = seed
  }

  next(): string {
    return `<${this.#seed}.${++this.#last}>`
  }

  /** The mark in a title; undefined if this walk has not made it. */
  in(title: string): string | undefined {
    const mark = /<\d+\.\d+>/.exec(title)?.[0]
    return mark?.startsWith(`<${this.#seed}.`) ? mark : undefined
  }

  make(mark: string): void {
    this.#made.set(mark, (this.#made.get(mark) ?? 0) + 1)
  }

  touch(titles: readonly string[]): void {
    for (const title of titles) this.#touched.add(this.in(title) ?? '')
  }

  delete(titles: readonly string[]): void {
    for (const title of titles) this.#deleted.add(this.in(title) ?? '')
  }

  /** @param shown the nodes that exist at the end */
  faults(shown: readonly { title: string; hasChildren: boolean }[]): string[] {
    const there = new Map<string, number>()
    // A deleted folder with contents is not a fault: it has come back with them.
    const needed = new Set<string>()
    for (const { title, hasChildren } of shown) {
      const mark = this.in(title) ?? ''
      there.set(mark, (there.get(mark) ?? 0) + 1)
      if (hasChildren) needed.add(mark)
    }
    const back: string[] = []
    const faults = [...this.#made].flatMap(([mark, made]) => {
      const count = there.get(mark) ?? 0
      if (count === 0 && !this.#deleted.has(mark)) return `${mark} is lost`
      if (count > made) return `${mark} is there ${count} times instead of ${made}`
      const isOver = made === 1 && this.#deleted.has(mark) && !this.#touched.has(mark) && !needed.has(mark)
      if (count > 0 && isOver) back.push(`${mark} is back`)
      return []
    })
    return back.length > mostBack ? [...faults, ...back] : faults
  }
}
