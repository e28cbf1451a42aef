import underPressure from '@fastify/under-pressure'
import type { FastifyInstance } from 'fastify'
import { operations } from '../../generated/operations.ts'
import type { Context } from '../context.ts'
import { createRefusal } from './overload.ts'

/** A push or import of 32 MiB holds the loop for half a second: spread over the sample, that is no delay to speak of. */
const sampleMs = 2000
const maxMeanDelayMs = 250
/** So many at a time are never refused: a loop that is late without a queue would gain nothing by it. */
const alwaysServed = 32
/** Whoever watches the service must not take a busy one for a dead one. */
const exempt = new Set<string | undefined>(['/livez', '/readyz', operations.getHealth.path])

/** While the event loop is late, what exceeds a few requests at a time is refused before anything is done about it. */
export async function registerPressure(app: FastifyInstance, { log }: Context): Promise<void> {
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
