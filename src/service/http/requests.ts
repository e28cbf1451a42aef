import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { OperationId } from '../contract/schemas.ts'
import type { Trace, Tracing } from '../tracing/trace.ts'
import { type Detail, shownAddress } from './addresses.ts'

declare module 'fastify' {
  interface FastifySchema {
    operationId?: OperationId
  }
  interface FastifyRequest {
    trace: Trace | undefined
  }
}

interface RequestParts {
  config: { logAddresses: Detail }
  tracing: Pick<Tracing, 'begin'>
  metrics: {
    countRequest(operation: OperationId | 'none', status: number, seconds: number): void
    countAbandoned(operation: OperationId | 'none'): void
  }
}

/**
 * Logs one line per request, with its route: a URL may contain codes and ids, so none is ever logged. Counts each once:
 * when its response is sent or its caller disconnects. An upgraded one becomes a socket.
 *
 * If its caller traces it, its lines have the trace's id.
 */
export function registerRequests(app: FastifyInstance, { config, tracing, metrics }: RequestParts): void {
  app.decorateRequest('trace', undefined)
  app.addHook('onRequest', (request, reply, next) => {
    const trace = tracing.begin(nameOf(request), request.headers)
    if (trace) {
      request.trace = trace
      request.log = reply.log = request.log.child({ trace_id: trace.traceId })
    }
    let isAnswered = false
    reply.raw.once('finish', () => {
      isAnswered = true
      finish(request, reply)
    })
    reply.raw.once('close', () => {
      trace?.end(!isAnswered || reply.statusCode >= 500)
      if (!isAnswered && !request.ws) metrics.countAbandoned(operationOf(request.routeOptions))
    })
    next()
  })

  function finish(request: FastifyRequest, reply: FastifyReply): void {
    const { method, routeOptions, session } = request
    const { statusCode: status, elapsedTime } = reply
    const fields = {
      method,
      route: routeOptions.url ?? null,
      status,
      ms: Math.round(elapsedTime),
      address: shownAddress(request.ip, config.logAddresses),
      user: session?.userId,
    }
    request.log.info(fields, 'request')
    metrics.countRequest(operationOf(routeOptions), status, elapsedTime / 1000)
  }
}

function nameOf({ method, routeOptions }: FastifyRequest): string {
  return `${method} ${routeOptions.url ?? 'unknown path'}`
}

function operationOf({ schema }: FastifyRequest['routeOptions']): OperationId | 'none' {
  return schema?.operationId ?? 'none'
}
