import type { FastifyInstance } from 'fastify'
import type { Health } from '../operating/health.ts'

export interface ProbeParts {
  health: Pick<Health, 'status' | 'down' | 'isDraining'>
}

/**
 * `/livez`: the process is running. `/readyz`, for load balancers: 503 without a database, and from the stop on. Without the
 * object store or the provider it is 200, because the rest is served; `down` names what is missing.
 */
export function registerProbes(app: FastifyInstance, { health }: ProbeParts): void {
  app.get('/livez', async () => ({ status: 'alive' }))
  app.get('/readyz', async (_request, reply) => {
    if (health.isDraining()) return reply.code(503).send({ status: 'stopping' })
    const [status, down] = [health.status(), health.down()]
    return reply.code(status === 'unhealthy' ? 503 : 200).send({ status, ...(down.length > 0 && { down }) })
  })
}
