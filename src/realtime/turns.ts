export interface Turns<T> {
  /** Gives the item a turn; one that waits already has only one, one that is at work gets another after it. */
  add(item: T): void
  /** Drops those that wait; resolves when none is at work. */
  close(): Promise<void>
}

/** Few items are at work at once, one item never twice, in the order in which they came. `work` must not throw. */
export function createTurns<T>(most: number, work: (item: T) => Promise<void>): Turns<T> {
  const waiting = new Set<T>()
  const working = new Map<T, Promise<void>>()
  let closed = false

  function begin(): void {
    for (const item of waiting) {
      if (working.size >= most) return
      if (working.has(item)) continue
      waiting.delete(item)
      working.set(
        item,
        work(item).then(() => end(item)),
      )
    }
  }

  function end(item: T): void {
    working.delete(item)
    begin()
  }

  return {
    add(item) {
      if (closed) return
      waiting.add(item)
      begin()
    },
    async close() {
      closed = true
      waiting.clear()
      await Promise.all(working.values())
    },
  }
}
