/** At most `most` works of an owner are under way; the others wait for their turn, and delay nobody else. */
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
      const next = turns.waiting.shift()
      if (next) next()
      else if (--turns.running === 0) owners.delete(owner)
    }
  }
}
