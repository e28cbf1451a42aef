/** At most `max` items are at work at once, in order of arrival, and no item twice. `work` must not throw. */
export function createTurns<T>(max: number, work: (item: T) => Promise<void>) {
  const waiting = new Set<T>()
  const working = new Map<T, Promise<void>>()
  let closed = false

  function begin(): void {
    for (const item of waiting) {
      if (working.size >= max) return
      if (working.has(item)) continue
      waiting.delete(item)
      const done = work(item).then(() => {
        working.delete(item)
        begin()
      })
      working.set(item, done)
    }
  }

  return {
    /** Gives the item a turn. One that is already waiting gets no second turn; one that is at work gets another. */
    add(item: T): void {
      if (closed) return
      waiting.add(item)
      begin()
    },
    /** Drops the items that are waiting; resolves when none is at work. */
    async close(): Promise<void> {
      closed = true
      waiting.clear()
      await Promise.all(working.values())
    },
  }
}
