import type { FastifyInstance, FastifyRequest } from 'fastify'
import { operations } from '../../../generated/operations.ts'
import type { Health } from '../operating/health.ts'

const asked = new Set<string | undefined>(['/livez', '/readyz', operations.getHealth.path])

/** Such a request is never refused: monitoring must not mistake a busy service for a dead one. */
export function isMonitoring({ routeOptions }: FastifyRequest): boolean {
  return asked.has(routeOptions.url)
}

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
