import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { operations } from '../../../generated/operations.ts'
import type { OperationId } from '../contract/schemas.ts'
import { networkOf, readForwarded, shownAddress, type Trust } from '../load/addresses.ts'
import { type Limits, requestUnit } from '../load/rates.ts'
import type { Metrics } from '../operating/metrics.ts'
import type { Trace, Tracing } from '../tracing/trace.ts'
import { unfinishedResponses } from './errors.ts'

declare module 'fastify' {
  interface FastifySchema {
    operationId?: OperationId
  }
  interface FastifyRequest {
    trace: Trace | undefined
    /** The parsing of the body, later the operation. Both continue after the caller has disconnected. */
    work: Promise<unknown> | undefined
  }
}

interface RequestParts {
  config: { logAddresses: 'none' | 'network' | 'full'; trustProxy: unknown }
  limits: Pick<Limits, 'spend'>
  tracing: Pick<Tracing, 'isExporting' | 'begin'>
  metrics: Pick<Metrics, 'countRequest' | 'countAbandoned'>
}

/** Bytes sent that count as one request for the rate limit. Sending data is many times cheaper than storing it. */
const responseUnit = 1024 * 1024

/**
 * Logs one line per answered request with its route, never its URL, which may contain codes and ids. The metrics count
 * a request once it is answered, or else when its caller disconnects; an upgraded one becomes a socket instead. Lines of
 * a traced request have the trace's id.
 */
export function registerRequests(
  app: FastifyInstance,
  { config, limits, tracing, metrics }: RequestParts,
  trust: Trust,
): void {
  app.decorateRequest('trace', undefined)
  app.decorateRequest('work', undefined)
  let isWarned = false
  app.addHook('onRequest', (request, reply, next) => {
    if (config.trustProxy !== false) cleanForwarded(request)
    else if (!isWarned) warnOfProxy(request)
    if (tracing.isExporting || request.headers.traceparent !== undefined) beginTrace(request, reply)
    const { socket } = request.raw
    const before = trafficOf(socket)
    if (!request.ws) unfinishedResponses.set(socket, reply.raw)
    let isAnswered = false
    reply.raw.once('finish', () => {
      isAnswered = true
      finish(request, reply)
    })
    reply.raw.once('close', () => {
      request.trace?.end(!isAnswered || reply.statusCode >= 500)
      // A socket's messages are counted one by one instead (realtime/socket.ts).
      if (request.ws) return
      if (unfinishedResponses.get(socket) === reply.raw) unfinishedResponses.delete(socket)
      if (!isAnswered) metrics.countAbandoned(operationOf(request.routeOptions))
      if (request.session) countBytes(request.session.userId, before, trafficOf(socket), reply)
    })
    next()
  })

  /** Warns if TRUST_PROXY is probably missing, only once, so that callers cannot fill the log with it. */
  function warnOfProxy({ headers, log }: FastifyRequest): void {
    const header = ['x-forwarded-for', 'forwarded'].find((name) => headers[name] !== undefined)
    if (header === undefined) return
    isWarned = true
    log.warn(
      `a request has the header ${header}, but TRUST_PROXY is not set: behind a proxy, all users share the limits of one address`,
    )
  }

  /** Removes entries of X-Forwarded-For that are not trusted; `request.ip` reads the rest. */
  function cleanForwarded({ raw: { headers, socket }, log }: FastifyRequest): void {
    const header = headers['x-forwarded-for']
    if (typeof header !== 'string') return
    const { addresses, isCut } = readForwarded(header, socket.remoteAddress ?? '', trust)
    headers['x-forwarded-for'] = addresses.join(', ')
    if (!isCut || isWarned) return
    isWarned = true
    log.warn(
      'X-Forwarded-For has an entry that is not an address: its caller shares the limits of the proxy that has written it',
    )
  }

  function beginTrace(request: FastifyRequest, reply: FastifyReply): void {
    const { method, routeOptions, headers } = request
    request.trace = tracing.begin(`${method} ${routeOptions.url ?? 'unknown path'}`, headers)
    if (request.trace) request.log = reply.log = request.log.child({ trace_id: request.trace.traceId })
  }

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
    // Proxies probe every second: these lines would fill the log.
    const isProbed = status === 200 && isProbe(request)
    request.log[isProbed ? 'debug' : 'info'](fields, 'request')
    metrics.countRequest(operationOf(routeOptions), status, elapsedTime / 1000)
  }

  /**
   * Counts bytes once the request is over, so that a request larger than the whole rate limit can pass. Downloads of
   * exports do not count, because they are only passed on; neither do requests that the rate limit has refused.
   */
  function countBytes(userId: string, before: Traffic, after: Traffic, reply: FastifyReply): void {
    if (reply.statusCode === 429) return
    const isFile = reply.getHeader('content-type') === 'application/octet-stream'
    const read = Math.floor((after.read - before.read) / requestUnit)
    const written = isFile ? 0 : Math.floor((after.written - before.written) / responseUnit)
    if (read + written > 0) limits.spend(userId, read + written)
  }
}

/** The owner of a request's slots: the user or, without a session, the address's network. */
export function ownerOf({ session, ip }: FastifyRequest): string {
  return session?.userId ?? networkOf(ip)
}

/** Releases a slot after response and work have ended. If the caller is gone already, does so now and returns false. */
export function releaseAtEnd(request: FastifyRequest, { raw }: FastifyReply, release: () => void): boolean {
  if (raw.destroyed) {
    release()
    return false
  }
  raw.once('close', () => Promise.resolve(request.work).then(release, release))
  return true
}

/** True for requests of monitoring, which are not refused under load: a busy service must not look dead. */
export function isMonitoring(request: FastifyRequest): boolean {
  return isProbe(request) || request.routeOptions.url === operations.getHealth.path
}

function isProbe({ routeOptions: { url } }: FastifyRequest): boolean {
  return url === '/livez' || url === '/readyz'
}

function operationOf({ schema }: FastifyRequest['routeOptions']): OperationId | 'none' {
  return schema?.operationId ?? 'none'
}

type Traffic = ReturnType<typeof trafficOf>

/** Uses the socket's counters, which include every byte. Requests that a test injects have no socket. */
function trafficOf({ bytesRead = 0, bytesWritten = 0 }: Partial<Pick<Socket, 'bytesRead' | 'bytesWritten'>>) {
  return { read: bytesRead, written: bytesWritten }
}
