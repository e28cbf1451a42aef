import type { FastifyBaseLogger } from 'fastify'
import { ServiceError } from '../errors.ts'

const quietMs = 10_000

/** Makes the 503 of a process that has too much to do. Many may come at once: the log tells of them every 10 s at most. */
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
