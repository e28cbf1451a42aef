import underPressure from '@fastify/under-pressure'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import { createRefusal } from '../load/refusal.ts'
import { isMonitoring } from './requests.ts'

const sampleMs = 2000
const maxMeanDelayMs = 250
/** This many at a time are never refused: if the loop lags without a queue, refusing would not help. */
const alwaysServed = 32

/** While the event loop lags, refuses all but a few requests at a time, before any work is done for them. */
export async function registerAdmission(app: FastifyInstance, log: FastifyBaseLogger): Promise<void> {
  const isBusy = watchRequests(app)
  const refuse = createRefusal(log, 'the event loop lags: refusing some requests')
  await app.register(underPressure, {
    maxEventLoopDelay: maxMeanDelayMs,
    sampleInterval: sampleMs,
    pressureHandler: async (request) => {
      if (isBusy() && !isMonitoring(request)) throw refuse()
    },
  })
}

/** Requests count until the loop has turned: of those that arrive together, each may end before the next one begins. */
function watchRequests(app: FastifyInstance): () => boolean {
  let underWay = 0
  let over = 0
  function forgetOver(): void {
    underWay -= over
    over = 0
  }
  app.server.prependListener('request', (_request, response) => {
    underWay++
    response.on('close', () => {
      if (++over === 1) setImmediate(forgetOver)
    })
  })
  return () => underWay > alwaysServed
}
