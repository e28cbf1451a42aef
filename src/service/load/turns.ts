import { ServiceError } from '../contract/errors.ts'

/** Of one owner: a message from each of a user's 256 sockets, and as many requests. What waits takes up memory. */
export const maxWaiting = 512

/** Items that wait, by owner. Those of one owner leave in their order, and each owner has a turn before any has two. */
export function createFairQueue<T>() {
  /** The owner whose turn was longest ago comes first. */
  const waiting = new Map<string, T[]>()
  return {
    /** Throws Overloaded if the owner has too many waiting. */
    add(owner: string, item: T): void {
      const items = waiting.get(owner)
      if (items && items.length >= maxWaiting) throw new ServiceError('Overloaded')
      if (items) items.push(item)
      else waiting.set(owner, [item])
    },
    /** The next item of an owner whose turn it may be with it. */
    take(mayHaveTurn: (owner: string, item: T) => boolean = () => true): { owner: string; item: T } | undefined {
      for (const [owner, items] of waiting) {
        if (!mayHaveTurn(owner, items[0] as T)) continue
        const item = items.shift() as T
        waiting.delete(owner)
        if (items.length > 0) waiting.set(owner, items)
        return { owner, item }
      }
      return undefined
    },
  }
}

/**
 * At most `most` works of an owner are under way in a turn of the event loop; the others wait, and delay nobody else. Where
 * there is room, a work begins at once, and one that needs no promise gets none.
 */
export function limitPerOwner(most: number) {
  const owners = new Map<string, { running: number; waiting: (() => void)[] }>()
  const ended: string[] = []

  /** SQLite's queries need no turn of the event loop, so without this all works would be done in one. */
  function end(owner: string): void {
    if (ended.push(owner) === 1) setImmediate(giveTurns)
  }

  function giveTurns(): void {
    for (const owner of ended.splice(0)) {
      const turns = owners.get(owner)
      if (!turns) continue
      const next = turns.waiting.shift()
      if (next) next()
      else if (--turns.running === 0) owners.delete(owner)
    }
  }

  function run<T>(owner: string, work: () => T | Promise<T>): T | Promise<T> {
    let result: T | Promise<T>
    try {
      result = work()
    } catch (error) {
      end(owner)
      throw error
    }
    if (result instanceof Promise) return result.finally(() => end(owner))
    end(owner)
    return result
  }

  /** Throws Overloaded if the owner has too many waiting. */
  return function inTurn<T>(owner: string, work: () => T | Promise<T>): T | Promise<T> {
    const turns = owners.get(owner)
    if (!turns) owners.set(owner, { running: 1, waiting: [] })
    else if (turns.running < most) turns.running++
    else if (turns.waiting.length >= maxWaiting) throw new ServiceError('Overloaded')
    else return new Promise<void>((resolve) => turns.waiting.push(resolve)).then(() => run(owner, work))
    return run(owner, work)
  }
}

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
