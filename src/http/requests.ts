import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Context } from '../context.ts'
import type { OperationId } from '../contract.ts'

declare module 'fastify' {
  interface FastifySchema {
    operationId?: OperationId
  }
}

/** Counts each request once: when its answer is sent, or its caller is gone. An upgraded one lives on as a socket. */
export function registerRequestCount(app: FastifyInstance, { metrics }: Context): void {
  app.addHook('onRequest', async (request, reply) => {
    const operation = operationOf(request)
    let answered = false
    reply.raw.once('finish', () => {
      answered = true
      metrics.countRequest(operation, reply.statusCode, reply.elapsedTime / 1000)
    })
    reply.raw.once('close', () => {
      if (!answered && !request.ws) metrics.countAbandoned(operation)
    })
  })
}

function operationOf({ routeOptions }: FastifyRequest): OperationId | 'none' {
  return routeOptions.schema?.operationId ?? 'none'
}
