import type { FastifyInstance } from 'fastify'
import type { Context } from '../context.ts'

/** For load balancers: no traffic while the database is out of reach. */
export function registerProbes(app: FastifyInstance, { health }: Context): void {
  app.get('/readyz', async (_request, reply) => {
    const status = health.status()
    return reply.code(status === 'unhealthy' ? 503 : 200).send({ status })
  })
}
