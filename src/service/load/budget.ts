import type { FastifyBaseLogger } from 'fastify'
import { quotas } from '../../../generated/limits.ts'
import { ServiceError } from '../contract/errors.ts'

const mebibyte = 1024 * 1024
const quietMs = 10_000

/** Of this process, by owner. */
export type Budget = ReturnType<typeof createBudget>
/** The share of a budget that one request holds. */
export type Hold = ReturnType<Budget['hold']>

/** From this on, the budgets are as large as they become. With less memory, they are smaller. */
export const fullMemory = 768 * mebibyte
/** The memory of a process beside them. */
const otherBytes = 256 * mebibyte

/**
 * A user's share keeps one user from shutting out all others, and a part is kept for those who hold little: a few accounts
 * with all that they may hold shut nobody out.
 */
export function createBudgets(memory: number) {
  const part = Math.min(1, Math.max(0, (memory - otherBytes) / (fullMemory - otherBytes)))
  /** The largest body, and some parts of responses, fit in any case. */
  const scaled = ({ most, ofOne, kept, little }: Sizes, least: number) =>
    createBudget({
      most: Math.max(least, most * part),
      ofOne: Math.max(least, ofOne * part),
      kept: Math.max(little, kept * part),
      little,
    })
  return {
    /** The bytes of request bodies that this process holds. */
    bodies: scaled(
      { most: 128 * mebibyte, ofOne: 64 * mebibyte, kept: 16 * mebibyte, little: mebibyte },
      quotas.batchBodyBytes,
    ),
    /** The bytes of responses that are on their way. */
    responses: scaled(
      {
        most: 128 * mebibyte,
        ofOne: 32 * mebibyte,
        kept: 24 * mebibyte,
        little: 1.5 * mebibyte,
      },
      8 * mebibyte,
    ),
    /** The downloads under way: each keeps a file, or a connection to the object store, open. */
    downloads: createBudget({ most: 64, ofOne: 8, kept: 16, little: 1 }),
  }
}

interface Sizes {
  most: number
  ofOne: number
  /** Beyond `most`, for owners who hold no more than `little`. */
  kept: number
  little: number
}

/**
 * Counts what is there, not what was announced: otherwise four requests that announce 32 MiB and send nothing would
 * shut everybody out. What is announced only has to fit into the rest, so that no body is begun in vain.
 */
function createBudget({ most, ofOne, kept, little }: Sizes) {
  const owners = new Map<string, number>()
  let total = 0

  function count(owner: string, amount: number): void {
    const sum = (owners.get(owner) ?? 0) + amount
    total += amount
    if (sum === 0) owners.delete(owner)
    else owners.set(owner, sum)
  }

  function hasRoom(owner: string, amount: number): boolean {
    const sum = (owners.get(owner) ?? 0) + amount
    return total + amount <= most + (sum <= little ? kept : 0) && sum <= ofOne
  }

  return {
    held: () => total,
    hasRoom,
    hold(owner: string) {
      let held = 0
      let isOver = false
      /** Adds what cannot be refused any more. */
      function insist(amount: number): void {
        if (isOver) return
        held += amount
        count(owner, amount)
      }
      return {
        insist,
        /** Returns false, and adds nothing, if there is no room for that many more. */
        add(amount: number): boolean {
          const fits = isOver || hasRoom(owner, amount)
          if (fits) insist(amount)
          return fits
        },
        /** From now on it holds nothing, whatever is still added. */
        release(): void {
          if (!isOver) count(owner, -held)
          isOver = true
        },
      }
    },
  }
}

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
