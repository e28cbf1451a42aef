import underPressure from '@fastify/under-pressure'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import { ServiceError } from '../contract/errors.ts'
import { isMonitoring } from './probes.ts'

/** A push or import of 32 MiB holds the loop in steps, which hardly matter when averaged over the sample. */
const sampleMs = 2000
const maxMeanDelayMs = 250
/** This many at a time are never refused: if the loop lags without a queue, refusing would not help. */
const alwaysServed = 32
const quietMs = 10_000

/** While the event loop lags, all but a few requests at a time are refused before any work is done for them. */
export async function registerPressure(app: FastifyInstance, log: FastifyBaseLogger): Promise<void> {
  const refuse = createRefusal(log, 'the event loop lags: refusing some requests')
  let underWay = 0
  let over = 0
  function forgetOver(): void {
    underWay -= over
    over = 0
  }
  await app.register(underPressure, {
    maxEventLoopDelay: maxMeanDelayMs,
    sampleInterval: sampleMs,
    pressureHandler: async (request) => {
      if (underWay > alwaysServed && !isMonitoring(request)) throw refuse()
    },
  })
  // They count until the loop has turned: of requests that arrive together, each may end before the next one begins.
  app.server.prependListener('request', (_request, response) => {
    underWay++
    response.on('close', () => {
      if (++over === 1) setImmediate(forgetOver)
    })
  })
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
