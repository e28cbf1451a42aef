import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
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

/**
 * Logs one line per request, with its route: a URL may contain codes and ids, so none is ever logged. Counts each once:
 * when its response is sent or its caller disconnects. An upgraded one becomes a socket.
 */
export function registerRequests(app: FastifyInstance, metrics: RequestMetrics): void {
  app.addHook('onRequest', (request, reply, next) => {
    let isAnswered = false
    reply.raw.once('finish', () => {
      isAnswered = true
      finish(request, reply)
    })
    reply.raw.once('close', () => {
      if (!isAnswered && !request.ws) metrics.countAbandoned(operationOf(request.routeOptions))
    })
    next()
  })

  function finish(request: FastifyRequest, reply: FastifyReply): void {
    const { method, routeOptions, session } = request
    const { statusCode: status, elapsedTime } = reply
    const fields = { method, route: routeOptions.url ?? null, status, ms: Math.round(elapsedTime) }
    request.log.info(session ? { ...fields, user: session.userId } : fields, 'request')
    metrics.countRequest(operationOf(routeOptions), status, elapsedTime / 1000)
  }
}

function operationOf({ schema }: FastifyRequest['routeOptions']): OperationId | 'none' {
  return schema?.operationId ?? 'none'
}
