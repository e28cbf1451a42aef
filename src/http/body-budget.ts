const maxBytes = 128 * 1024 * 1024
/** Keeps one user from shutting out all others. Callers without a session count as one user. */
const maxBytesOfOne = maxBytes / 2

/** The bytes of request bodies that this process holds, by owner. */
export interface BodyBudget {
  waitingBytes(): number
  hasRoom(owner: string, bytes: number): boolean
  hold(owner: string): Hold
}

/** What one request holds. */
interface Hold {
  /** Returns false if there is no room for that many more. */
  add(bytes: number): boolean
  /** From now on it holds nothing, whatever still arrives. */
  release(): void
}

/**
 * Counts what has arrived, not what was announced: otherwise four requests that announce 32 MiB and send nothing would
 * shut everybody out. What is announced only has to fit into the rest, so that no body is begun in vain.
 */
export function createBodyBudget(): BodyBudget {
  const owners = new Map<string, number>()
  let total = 0

  function count(owner: string, bytes: number): void {
    const sum = (owners.get(owner) ?? 0) + bytes
    total += bytes
    if (sum === 0) owners.delete(owner)
    else owners.set(owner, sum)
  }

  function hasRoom(owner: string, bytes: number): boolean {
    return total + bytes <= maxBytes && (owners.get(owner) ?? 0) + bytes <= maxBytesOfOne
  }

  return {
    waitingBytes: () => total,
    hasRoom,
    hold(owner) {
      let held = 0
      let isOver = false
      return {
        add(bytes) {
          if (isOver) return true
          if (!hasRoom(owner, bytes)) return false
          held += bytes
          count(owner, bytes)
          return true
        },
        release() {
          if (!isOver) count(owner, -held)
          isOver = true
        },
      }
    },
  }
}
