export interface Turns<T> {
  /** Gives the item a turn. One that is already waiting gets no second turn; one that is at work gets another. */
  add(item: T): void
  /** Drops the items that are waiting; resolves when none is at work. */
  close(): Promise<void>
}

/** At most `max` items are at work at once, in order of arrival, and no item twice. `work` must not throw. */
export function createTurns<T>(max: number, work: (item: T) => Promise<void>): Turns<T> {
  const waiting = new Set<T>()
  const working = new Map<T, Promise<void>>()
  let closed = false

  function begin(): void {
    for (const item of waiting) {
      if (working.size >= max) return
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
