import underPressure from '@fastify/under-pressure'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import { operations } from '../../generated/operations.ts'
import { ServiceError } from '../contract/errors.ts'

/** A push or import of 32 MiB holds the loop for half a second: spread over the sample, that is no delay to speak of. */
const sampleMs = 2000
const maxMeanDelayMs = 250
/** So many at a time are never refused: a loop that is late without a queue would gain nothing by it. */
const alwaysServed = 32
const quietMs = 10_000
/** Whoever watches the service must not take a busy one for a dead one. */
const exempt = new Set<string | undefined>(['/livez', '/readyz', operations.getHealth.path])

/** While the event loop is late, what exceeds a few requests at a time is refused before anything is done about it. */
export async function registerPressure(app: FastifyInstance, log: FastifyBaseLogger): Promise<void> {
  const refuse = createRefusal(log, 'the event loop is late: some requests are refused')
  let underWay = 0
  await app.register(underPressure, {
    maxEventLoopDelay: maxMeanDelayMs,
    sampleInterval: sampleMs,
    pressureHandler: async ({ routeOptions }) => {
      if (underWay > alwaysServed && !exempt.has(routeOptions.url)) throw refuse()
    },
  })
  // Until the loop has turned: of requests that came together, each may be over before the next one begins.
  app.server.prependListener('request', (_request, response) => {
    underWay++
    response.once('close', () => setImmediate(() => underWay--))
  })
}

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
