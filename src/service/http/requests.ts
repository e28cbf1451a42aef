import { randomUUID } from 'node:crypto'
import { isIPv4, type Socket } from 'node:net'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import ipaddr from 'ipaddr.js'
import type { OperationId } from '../contract/schemas.ts'
import { type Limits, requestUnit } from '../load/rates.ts'
import type { Metrics } from '../operating/metrics.ts'
import type { Work } from '../thread/work.ts'
import type { Trace, Tracing } from '../tracing/trace.ts'
import { isProbe } from './admin.ts'
import { unfinishedResponses } from './errors.ts'

declare module 'fastify' {
  interface FastifySchema {
    operationId?: OperationId
  }
  interface FastifyRequest {
    trace: Trace | undefined
    /** The work that the request of a user has taken so far. */
    spent: Work | undefined
  }
}

interface RequestParts {
  config: { logAddresses: Detail; trustProxy: unknown }
  limits: Pick<Limits, 'chargeUser' | 'chargeWork'>
  tracing: Pick<Tracing, 'isExporting' | 'begin'>
  metrics: Pick<Metrics, 'countRequest' | 'countAbandoned'>
}

/** Reading is many times cheaper than writing. */
const responseUnit = 1024 * 1024

export const newRequestId = () => randomUUID()

/**
 * Logs one line per request, with its route: a URL may contain codes and ids, so none is ever logged. Counts each once:
 * when its response is sent or its caller disconnects. An upgraded one becomes a socket.
 *
 * If its caller traces it, its lines have the trace's id.
 */
export function registerRequests(app: FastifyInstance, { config, limits, tracing, metrics }: RequestParts): void {
  app.decorateRequest('trace', undefined)
  app.decorateRequest('spent', undefined)
  let isTold = config.trustProxy !== false
  app.addHook('onRequest', (request, reply, next) => {
    if (!isTold) warnOfProxy(request)
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
      // A socket's messages are counted one by one.
      if (request.ws) return
      if (unfinishedResponses.get(socket) === reply.raw) unfinishedResponses.delete(socket)
      if (!isAnswered) metrics.countAbandoned(operationOf(request.routeOptions))
      const { session, work } = request
      if (!session) return
      const after = trafficOf(socket)
      const end = () => charge(session.userId, before, after, request, reply)
      // Whose caller is gone is worked on to its end, too.
      if (isAnswered || !work) end()
      else work.then(end, end)
    })
    next()
  })

  /** Once: whoever forgets the setting sees it, and nobody can fill the log with it. */
  function warnOfProxy({ headers, log }: FastifyRequest): void {
    const header = ['x-forwarded-for', 'forwarded'].find((name) => headers[name] !== undefined)
    if (header === undefined) return
    isTold = true
    log.warn(
      `a request has the header ${header}, but TRUST_PROXY is not set: behind a proxy, all users share the limits of one address`,
    )
  }

  function beginTrace(request: FastifyRequest, reply: FastifyReply): void {
    const { method, routeOptions, headers } = request
    request.trace = tracing.begin(`${method} ${routeOptions.url ?? 'unknown path'}`, headers)
    if (request.trace) request.log = reply.log = request.log.child({ trace_id: request.trace.traceId })
  }

  function finish(request: FastifyRequest, reply: FastifyReply): void {
    const { method, routeOptions, session, spent } = request
    const { statusCode: status, elapsedTime } = reply
    const fields = {
      method,
      route: routeOptions.url ?? null,
      status,
      ms: Math.round(elapsedTime),
      work_ms: spent && Math.round(spent.ms),
      address: shownAddress(request.ip, config.logAddresses),
      user: session?.userId,
    }
    // A proxy asks every second, and would fill the log.
    const isProbed = status === 200 && isProbe(request)
    request.log[isProbed ? 'debug' : 'info'](fields, 'request')
    metrics.countRequest(operationOf(routeOptions), status, elapsedTime / 1000, spent?.ms)
  }

  /**
   * Counts a large request or response as several requests of its user. It is counted when it is over and never refused
   * for its own size: what would exceed even an unused limit could otherwise never pass. Files are only passed on. So it is
   * with what it took of the event loop and the database.
   */
  function charge(
    userId: string,
    before: Traffic,
    after: Traffic,
    { spent }: FastifyRequest,
    reply: FastifyReply,
  ): void {
    // Of one that was refused for the rate, nothing counts.
    if (!spent) return
    limits.chargeWork(userId, spent.ms)
    const isFile = reply.getHeader('content-type') === 'application/octet-stream'
    const read = Math.floor((after.read - before.read) / requestUnit)
    const written = isFile ? 0 : Math.floor((after.written - before.written) / responseUnit)
    if (read + written > 0) limits.chargeUser(userId, read + written)
  }
}

function operationOf({ schema }: FastifyRequest['routeOptions']): OperationId | 'none' {
  return schema?.operationId ?? 'none'
}

type Traffic = ReturnType<typeof trafficOf>

/** The socket counts whatever way a body comes or goes; injected requests have none. */
function trafficOf({ bytesRead = 0, bytesWritten = 0 }: Partial<Pick<Socket, 'bytesRead' | 'bytesWritten'>>) {
  return { read: bytesRead, written: bytesWritten }
}

type Detail = 'none' | 'network' | 'full'

/** An address as the log shows it. A network is shared by up to 256 hosts (IPv4), or belongs to one subscriber (IPv6). */
function shownAddress(address: string, detail: Detail): string | undefined {
  if (detail === 'none') return undefined
  if (detail === 'full') return address
  if (isIPv4(address)) return `${address.slice(0, address.lastIndexOf('.'))}.0/24`
  if (!ipaddr.isValid(address)) return undefined
  const parsed = ipaddr.process(address)
  if (parsed.kind() === 'ipv4') return shownAddress(parsed.toString(), detail)
  return `${ipaddr.IPv6.networkAddressFromCIDR(`${parsed.toString().replace(/%.*/, '')}/64`)}/64`
}
