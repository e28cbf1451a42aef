import { ServiceError } from '../contract/errors.ts'

/** Of one owner: a message from each of a user's 256 sockets, and as many requests. What waits takes up memory. */
export const maxWaiting = 512

/** Items that wait, by owner. Those of one owner leave in their order, and each owner has a turn before any has two. */
interface FairQueue<T> {
  /** Throws Overloaded if the owner has too many waiting. */
  add(owner: string, item: T): void
  /** The next item of an owner that may have a turn. */
  take(mayHaveTurn?: (owner: string) => boolean): { owner: string; item: T } | undefined
  length(): number
}

export function createFairQueue<T>(): FairQueue<T> {
  /** The owner whose turn was longest ago comes first. */
  const waiting = new Map<string, T[]>()
  let length = 0

  return {
    add(owner, item) {
      const items = waiting.get(owner)
      if (items && items.length >= maxWaiting) throw new ServiceError('Overloaded')
      if (items) items.push(item)
      else waiting.set(owner, [item])
      length++
    },
    take(mayHaveTurn = () => true) {
      for (const [owner, items] of waiting) {
        if (!mayHaveTurn(owner)) continue
        const item = items.shift() as T
        length--
        waiting.delete(owner)
        if (items.length > 0) waiting.set(owner, items)
        return { owner, item }
      }
      return undefined
    },
    length: () => length,
  }
}

interface Turns {
  running: number
  waiting: (() => void)[]
}

/** At most `most` works of an owner are under way in a turn of the event loop; the others wait, and delay nobody else. */
export function limitPerOwner(most: number) {
  const owners = new Map<string, Turns>()
  const ended: string[] = []

  /** SQLite's queries need no turn of the event loop, so without this all works would be done in one. */
  function end(owner: string): void {
    if (ended.push(owner) === 1) setImmediate(giveTurns)
  }

  function giveTurns(): void {
    for (const owner of ended.splice(0)) {
      const turns = owners.get(owner) as Turns
      const next = turns.waiting.shift()
      if (next) next()
      else if (--turns.running === 0) owners.delete(owner)
    }
  }

  return async function inTurn<T>(owner: string, work: () => Promise<T>): Promise<T> {
    const turns = owners.get(owner)
    if (!turns) owners.set(owner, { running: 1, waiting: [] })
    else if (turns.running < most) turns.running++
    else await new Promise<void>((resolve) => turns.waiting.push(resolve))
    try {
      return await work()
    } finally {
      end(owner)
    }
  }
}
