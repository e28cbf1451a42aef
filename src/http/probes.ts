import type { FastifyInstance } from 'fastify'
import type { Health } from '../operating/health.ts'

export interface ProbeParts {
  health: Pick<Health, 'status' | 'isDraining'>
}

/** `/livez`: the process is running. `/readyz`, for load balancers: 503 without a database, and from the stop on. */
export function registerProbes(app: FastifyInstance, { health }: ProbeParts): void {
  app.get('/livez', async () => ({ status: 'alive' }))
  app.get('/readyz', async (_request, reply) => {
    const status = health.isDraining() ? 'stopping' : health.status()
    return reply.code(status === 'unhealthy' || status === 'stopping' ? 503 : 200).send({ status })
  })
}
