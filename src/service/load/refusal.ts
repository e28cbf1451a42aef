import type { FastifyBaseLogger } from 'fastify'
import { ServiceError } from '../contract/errors.ts'

const quietMs = 10_000

/** Returns a function that makes the 503 of an overloaded process, and logs at most one line per 10 s, with a count. */
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
