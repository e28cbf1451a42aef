import fastify, { type FastifyInstance, LogController } from 'fastify'
import type { Database } from '../db/engine/database.ts'
import { createMetricsPage, type GaugeParts } from '../operating/gauges.ts'
import type { Health } from '../operating/health.ts'
import { answerClientErrors, registerErrors, routeMalformedUrl } from './errors.ts'

interface ProbeParts {
  health: Pick<Health, 'status' | 'isReady' | 'down' | 'faults' | 'isDraining'>
}

type AdminParts = GaugeParts & ProbeParts & { database: Pick<Database, 'isUnavailable'> }

/** The operator's endpoints, on a separate port that still answers while the service stops. */
export function createAdminApp(parts: AdminParts): FastifyInstance {
  const app: FastifyInstance = fastify({
    loggerInstance: parts.log,
    logController: new LogController({ disableRequestLogging: true }),
    requestTimeout: 10_000,
    forceCloseConnections: true,
    clientErrorHandler: answerClientErrors({}),
    frameworkErrors: (_error, request, reply) => routeMalformedUrl(app, request, reply),
  })
  registerErrors(app, parts)
  registerProbes(app, parts)
  const page = createMetricsPage(parts)
  app.get('/metrics', async (_request, reply) => reply.type(page.contentType).send(await page.metrics()))
  return app
}

/**
 * `/livez`: the process is running. `/readyz`, for load balancers: 503 if another instance could do better, because
 * this one reaches no database, gets no notifications, has a wrong clock, or is stopping. Everything else is 200: the
 * service works without the object store and the provider, and all instances share a full or damaged disk of the
 * database, so none would be left to serve. `down` and `faults` name the problems.
 */
export function registerProbes(app: FastifyInstance, { health }: ProbeParts): void {
  app.get('/livez', async () => ({ status: 'alive' }))
  app.get('/readyz', async (_request, reply) => {
    if (health.isDraining()) return reply.code(503).send({ status: 'stopping' })
    const [status, down, faults] = [health.status(), health.down(), health.faults()]
    const missing = { ...(down.length > 0 && { down }), ...(faults.length > 0 && { faults }) }
    return reply.code(health.isReady() ? 200 : 503).send({ status, ...missing })
  })
}
