import type { FastifyBaseLogger } from 'fastify'
import type { Database } from '../db/engine/database.ts'
import { countIncomplete } from '../db/tables/exports.ts'

const keptMs = 5_000
const timeoutMs = 1_000

interface Parts {
  database: Pick<Database, 'db'>
  clock: () => number
  log: FastifyBaseLogger
}

/**
 * The number of exports that are not completed, by status. The database is asked at most every 5 s, and has 1 s to
 * respond: without a response, the result is empty.
 */
export function createExportCount({ database, clock, log }: Parts) {
  let askedAt = Number.NEGATIVE_INFINITY
  let answer: Promise<Record<string, number>>

  async function ask(): Promise<Record<string, number>> {
    try {
      return await countIncomplete(database.db)
    } catch (err) {
      log.warn({ err }, 'exports could not be counted')
      return {}
    }
  }

  return (): Promise<Record<string, number>> => {
    const now = clock()
    if (Math.abs(now - askedAt) >= keptMs) {
      askedAt = now
      answer = ask()
    }
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve({}), timeoutMs)
      answer.then(resolve).finally(() => clearTimeout(timer))
    })
  }
}
