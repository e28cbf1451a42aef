import fastify, { type FastifyInstance, LogController } from 'fastify'
import type { Database } from '../db/engine/database.ts'
import { exposeGauges, type GaugeParts } from '../operating/gauges.ts'
import { answerClientErrors, registerErrors, routeMalformedUrl } from './errors.ts'
import { type ProbeParts, registerProbes } from './probes.ts'

type AdminParts = GaugeParts & ProbeParts & { database: Pick<Database, 'isUnavailable'> }

/** For the operator, on a port of its own, which keeps responding while the service stops. */
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
  const registry = exposeGauges(parts)
  app.get('/metrics', async (_request, reply) => reply.type(registry.contentType).send(await registry.metrics()))
  return app
}
