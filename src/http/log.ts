import type { FastifyInstance } from 'fastify'

/** One line a request, by operation: a URL may hold codes and ids, so none is ever logged. */
export function registerLog(app: FastifyInstance): void {
  app.addHook('onResponse', async (request, reply) => {
    const { method, routeOptions, session } = request
    const fields = {
      method,
      route: routeOptions.url ?? null,
      status: reply.statusCode,
      ms: Math.round(reply.elapsedTime),
    }
    request.log.info(session ? { ...fields, user: session.userId } : fields, 'request')
  })
}
