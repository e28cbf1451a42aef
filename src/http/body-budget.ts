const maxBytes = 128 * 1024 * 1024
/** So that no user keeps the bodies of all others out, nor do callers without a session, who count as one. */
const maxBytesOfOne = maxBytes / 2

/** The bytes of request bodies that this process holds, and whose they are. */
export interface BodyBudget {
  waitingBytes(): number
  hasRoom(owner: string, bytes: number): boolean
  hold(owner: string): Hold
}

/** What one request holds. */
interface Hold {
  /** False: there is no room for that much more. */
  add(bytes: number): boolean
  /** From then on it holds nothing, whatever still arrives. */
  release(): void
}

/**
 * Counts what has arrived, not what was announced: otherwise four requests that announce 32 MiB and send nothing would
 * keep everybody out. What is announced must only fit beside it, so that a body in vain is not begun.
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
