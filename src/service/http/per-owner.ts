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
