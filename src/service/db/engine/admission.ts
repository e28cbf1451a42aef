import { ServiceError } from '../../contract/errors.ts'
import { createFairQueue } from '../../load/turns.ts'

/** Of the pool's connections. The others are for reads, which wait for nobody's lock, and for the service itself. */
const writesShare = 0.6
/** One that commits, and one that gets the lock after it. More would only hold connections that others could use. */
const maxWritesOfOwner = 2
/** By then, callers have given up or will soon. */
const maxWaitMs = 10_000

export interface Admission {
  /** Runs a write once there is a connection for one of this owner's. Throws Overloaded if there is none in time. */
  run<T>(owner: string, write: () => Promise<T>): Promise<T>
  waiting(): number
}

/** Writes wait here for their turn, not in the pool: there, those that wait for one row's lock would hold all of it. */
export function createAdmission(connections: number): Admission {
  const maxWrites = Math.floor(connections * writesShare)
  const queue = createFairQueue<{ begin(): boolean }>()
  const writing = new Map<string, number>()
  let writes = 0

  function count(owner: string, change: 1 | -1): void {
    const ofOwner = (writing.get(owner) ?? 0) + change
    writes += change
    if (ofOwner === 0) writing.delete(owner)
    else writing.set(owner, ofOwner)
  }

  function admit(): void {
    while (writes < maxWrites) {
      const next = queue.take((owner) => (writing.get(owner) ?? 0) < maxWritesOfOwner)
      if (!next) return
      if (next.item.begin()) count(next.owner, 1)
    }
  }

  /** Resolves when it is this owner's turn. One that was refused in the meantime passes its turn on. */
  async function turnOf(owner: string): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    let isRefused = false
    const begin = () => {
      clearTimeout(late)
      resolve()
      return !isRefused
    }
    queue.add(owner, { begin })
    const late = setTimeout(() => {
      isRefused = true
      reject(new ServiceError('Overloaded'))
    }, maxWaitMs)
    admit()
    return promise
  }

  return {
    async run(owner, write) {
      await turnOf(owner)
      try {
        return await write()
      } finally {
        count(owner, -1)
        admit()
      }
    },
    waiting: queue.length,
  }
}
