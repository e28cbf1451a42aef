import type { FastifyInstance } from 'fastify'
import type { Context } from '../context.ts'

/** `/livez`: the process turns. `/readyz`, for load balancers: no traffic without a database, or once the stop has begun. */
export function registerProbes(app: FastifyInstance, { health }: Context): void {
  app.get('/livez', async () => ({ status: 'alive' }))
  app.get('/readyz', async (_request, reply) => {
    const status = health.isDraining() ? 'stopping' : health.status()
    return reply.code(status === 'unhealthy' || status === 'stopping' ? 503 : 200).send({ status })
  })
}
