import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { OperationId } from '../contract/schemas.ts'

declare module 'fastify' {
  interface FastifySchema {
    operationId?: OperationId
  }
}

interface RequestMetrics {
  countRequest(operation: OperationId | 'none', status: number, seconds: number): void
  countAbandoned(operation: OperationId | 'none'): void
}

/** Logs one line per request, with its route: a URL may contain codes and ids, so none is ever logged. */
export function registerLog(app: FastifyInstance): void {
  app.addHook('onResponse', (request, reply, done) => {
    const { method, routeOptions, session } = request
    const fields = {
      method,
      route: routeOptions.url ?? null,
      status: reply.statusCode,
      ms: Math.round(reply.elapsedTime),
    }
    request.log.info(session ? { ...fields, user: session.userId } : fields, 'request')
    done()
  })
}

/** Counts each request once: when its response is sent or its caller disconnects. An upgraded one becomes a socket. */
export function registerRequestCount(app: FastifyInstance, metrics: RequestMetrics): void {
  app.addHook('onRequest', (request, reply, next) => {
    const operation = operationOf(request)
    let answered = false
    reply.raw.once('finish', () => {
      answered = true
      metrics.countRequest(operation, reply.statusCode, reply.elapsedTime / 1000)
    })
    reply.raw.once('close', () => {
      if (!answered && !request.ws) metrics.countAbandoned(operation)
    })
    next()
  })
}

function operationOf({ routeOptions }: FastifyRequest): OperationId | 'none' {
  return routeOptions.schema?.operationId ?? 'none'
}
