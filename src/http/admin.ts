import fastify, { type FastifyInstance, LogController } from 'fastify'
import type { Context } from '../context.ts'
import { exposeState } from '../metrics.ts'
import { answerClientError } from './client-errors.ts'
import { refuseMalformedRequest, registerErrors } from './error-handler.ts'
import { registerProbes } from './probes.ts'

/** For the operator, on a port of its own: it goes on answering while the service stops. */
export function createAdminApp(context: Context): FastifyInstance {
  const app = fastify({
    loggerInstance: context.log,
    logController: new LogController({ disableRequestLogging: true }),
    requestTimeout: 10_000,
    forceCloseConnections: true,
    clientErrorHandler: answerClientError,
    frameworkErrors: (_error, request, reply) => refuseMalformedRequest(request, reply),
  })
  registerErrors(app, context)
  registerProbes(app, context)
  const registry = exposeState(context)
  app.get('/metrics', async (_request, reply) => reply.type(registry.contentType).send(await registry.metrics()))
  return app
}
