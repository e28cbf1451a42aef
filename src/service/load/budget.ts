import type { FastifyBaseLogger } from 'fastify'
import { ServiceError } from '../contract/errors.ts'

const mebibyte = 1024 * 1024

export interface Budgets {
  /** The bytes of request bodies that this process holds. */
  bodies: Budget
  /** The bytes of responses that are on their way. */
  responses: Budget
  /** The downloads under way: each keeps a file, or a connection to the object store, open. */
  downloads: Budget
}

/** What this process holds for its callers, by owner. Callers without a session are one owner. */
export interface Budget {
  held(): number
  hasRoom(owner: string, amount: number): boolean
  hold(owner: string): Hold
}

/** What one request holds. */
export interface Hold {
  /** Returns false, and adds nothing, if there is no room for that many more. */
  add(amount: number): boolean
  /** Adds what cannot be refused any more. */
  insist(amount: number): void
  /** From now on it holds nothing, whatever is still added. */
  release(): void
}

/** A user's share keeps one user from shutting out all others. */
export function createBudgets(): Budgets {
  return {
    bodies: createBudget({ most: 128 * mebibyte, ofOne: 64 * mebibyte }),
    responses: createBudget({ most: 128 * mebibyte, ofOne: 32 * mebibyte }),
    downloads: createBudget({ most: 64, ofOne: 8 }),
  }
}

/**
 * Counts what is there, not what was announced: otherwise four requests that announce 32 MiB and send nothing would
 * shut everybody out. What is announced only has to fit into the rest, so that no body is begun in vain.
 */
function createBudget({ most, ofOne }: { most: number; ofOne: number }): Budget {
  const owners = new Map<string, number>()
  let total = 0

  function count(owner: string, amount: number): void {
    const sum = (owners.get(owner) ?? 0) + amount
    total += amount
    if (sum === 0) owners.delete(owner)
    else owners.set(owner, sum)
  }

  function hasRoom(owner: string, amount: number): boolean {
    return total + amount <= most && (owners.get(owner) ?? 0) + amount <= ofOne
  }

  return {
    held: () => total,
    hasRoom,
    hold(owner) {
      let held = 0
      let isOver = false
      function insist(amount: number): void {
        if (isOver) return
        held += amount
        count(owner, amount)
      }
      return {
        insist,
        add(amount) {
          const fits = isOver || hasRoom(owner, amount)
          if (fits) insist(amount)
          return fits
        },
        release() {
          if (!isOver) count(owner, -held)
          isOver = true
        },
      }
    },
  }
}

const quietMs = 10_000

/** Makes the 503 of an overloaded process. There may be many at once, so they are logged every 10 s at most. */
export function createRefusal(log: FastifyBaseLogger, reason: string): () => ServiceError {
  let refused = 0
  let quietUntil = 0
  return () => {
    refused++
    if (performance.now() >= quietUntil) {
      log.warn({ refused }, reason)
      refused = 0
      quietUntil = performance.now() + quietMs
    }
    return new ServiceError('Overloaded')
  }
}
