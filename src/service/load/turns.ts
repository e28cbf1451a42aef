/** Processes at most `max` items at once, in order, and no item twice at the same time. `work` must not throw. */
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
    /** Queues the item. If it is waiting already, nothing changes; if it is being processed, it is processed again. */
    add(item: T): void {
      if (closed) return
      waiting.add(item)
      begin()
    },
    /** Drops waiting items, and accepts no more. Resolves when no item is being processed. */
    async close(): Promise<void> {
      closed = true
      waiting.clear()
      await Promise.all(working.values())
    },
  }
}
