/** At most `most` works of an owner are under way in a turn of the event loop; the others wait, and delay nobody else. */
export function limitPerOwner(most: number) {
  const owners = new Map<string, { running: number; waiting: (() => void)[] }>()

  return async function inTurn<T>(owner: string, work: () => Promise<T>): Promise<T> {
    const turns = owners.get(owner) ?? { running: 0, waiting: [] }
    owners.set(owner, turns)
    if (turns.running < most) turns.running++
    else await new Promise<void>((resolve) => turns.waiting.push(resolve))
    try {
      return await work()
    } finally {
      // SQLite's queries need no turn of the event loop, so without this all works would be done in one.
      setImmediate(() => {
        const next = turns.waiting.shift()
        if (next) next()
        else if (--turns.running === 0) owners.delete(owner)
      })
    }
  }
}
