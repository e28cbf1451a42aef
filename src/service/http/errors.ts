import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type ErrorCode, ServiceError, toServiceError } from '../contract/errors.ts'
import { InvalidRequest } from '../contract/validation.ts'
import type { Database } from '../db/engine/database.ts'
import { faultOf } from '../db/engine/probe.ts'
import { readOverflow } from './overflow.ts'

declare module 'fastify' {
  interface FastifySchema {
    'x-invalid'?: ErrorCode
    'x-not-found'?: ErrorCode
  }
}

interface ErrorParts {
  database: Pick<Database, 'isUnavailable'>
}

/**
 * Turns every error into the contract's `{error}`, with its code in a header. The text names the caller's fault; faults
 * of the service are logged. `showNotFound` may answer a 404 with a page instead.
 */
export function registerErrors(
  app: FastifyInstance,
  parts: ErrorParts,
  showNotFound?: (request: FastifyRequest, reply: FastifyReply) => FastifyReply | undefined,
): void {
  const methodsOf = collectMethods(app)
  const unmatched = ({ url, method, raw }: FastifyRequest) => {
    if (malformed.has(raw)) return new ServiceError('MalformedUrl')
    const allowed = methodsOf(url)
    // The route `/docs/*` has the method, but there is no such file.
    if (allowed.length === 0 || allowed.includes(method)) return new ServiceError('NotFound')
    return new ServiceError('MethodNotAllowed', { headers: { allow: allowed.join(', ') } })
  }
  app.setErrorHandler((error: FastifyError, request, reply) => {
    // If a caller disconnects, Fastify ends the response's stream and reports that. It is not a fault.
    if (error.code === 'ERR_STREAM_PREMATURE_CLOSE' && reply.raw.destroyed) return reply.send()
    const found = fromRequest(error, request, parts)
    // Fastify requires a content type for some methods, even on unknown paths.
    return answer(request.is404 && found.code === 'MalformedRequest' ? unmatched(request) : found, request, reply)
  })
  app.setNotFoundHandler((request, reply) => {
    const error = unmatched(request)
    return (error.code === 'NotFound' && showNotFound?.(request, reply)) || answer(error, request, reply)
  })
}

function answer(error: ServiceError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  // An overloaded process (`createRefusal`) and a full disk (`watchFaults`) have one line for many refused requests.
  if (error.statusCode >= 500 && error.code !== 'Overloaded' && faultOf(error.cause) !== 'full')
    request.log.error({ err: error.cause ?? error }, error.message)
  // After a fault in a body, Fastify would close the connection, although the client may still send (see `isCutOff`).
  if (reply.hasHeader('connection')) reply.removeHeader('connection')
  // Node closes these connections, but does not announce that if the header was removed: a proxy would send its next
  // request over one.
  const isLast = request.ws || request.headers.expect !== undefined || !reply.raw.shouldKeepAlive
  if (isLast) reply.header('connection', 'close')
  const { message, details } = error
  reply
    .code(error.statusCode)
    .headers(error.headers)
    .header('x-error-code', error.code === 'Overloaded' ? 'Unavailable' : error.code)
    // Errors must not be cached, whatever the route allows.
    .header('cache-control', 'private, no-store')
    .header('content-type', 'application/json; charset=utf-8')
  const body = details === undefined ? { error: message } : { error: message, details }
  if (!isCutOff(error, request, reply)) return reply.send(body)
  const text = JSON.stringify(body)
  return reply.header('content-length', Buffer.byteLength(text)).send(Readable.from(lingering(text, request.raw)))
}

/**
 * True if the connection would close while the client is still sending: the client would get a broken pipe instead of
 * the response. A connection that stays open discards the rest of the request.
 */
function isCutOff({ code }: ServiceError, { raw, ws }: FastifyRequest, reply: FastifyReply): boolean {
  return !reply.raw.shouldKeepAlive && !raw.complete && !ws && code !== 'RequestTimeout'
}

/** Sends the response at once, but keeps the connection open until the client has sent everything. */
async function* lingering(text: string, request: IncomingMessage): AsyncGenerator<string> {
  yield text
  await finished(request.resume()).catch(() => {})
}

/** Requests whose URL cannot be decoded. */
const malformed = new WeakSet<IncomingMessage>()

/** Routes a request whose URL cannot be decoded to an unknown path: without routing, no hooks would run. */
export function routeMalformedUrl(app: FastifyInstance, { raw }: FastifyRequest, reply: FastifyReply): void {
  malformed.add(raw)
  raw.url = '/*'
  app.routing(raw, reply.raw)
}

function fromRequest(error: FastifyError, request: FastifyRequest, { database }: ErrorParts): ServiceError {
  if (error instanceof InvalidRequest) return fromFault(error, request)
  if (error.code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') return new ServiceError('UnsupportedMediaType', { cause: error })
  const isCallers = error.statusCode !== undefined && error.statusCode < 500
  if (isCallers && !(error instanceof ServiceError)) return new ServiceError('MalformedRequest', { cause: error })
  return toServiceError(error, database.isUnavailable)
}

/** An operation may have its own error for a faulty body. A path's id that violates the contract is not found. */
function fromFault(
  error: InvalidRequest & { validationContext?: string },
  { routeOptions }: FastifyRequest,
): ServiceError {
  const schema = routeOptions.schema
  if (error.validationContext === 'params') return new ServiceError(schema?.['x-not-found'] ?? 'NotFound')
  const code = error.validationContext === 'body' ? schema?.['x-invalid'] : undefined
  return code
    ? new ServiceError(code, { cause: error })
    : new ServiceError('BadRequest', { message: error.message, cause: error })
}

const faults: Record<string, ErrorCode> = {
  HPE_HEADER_OVERFLOW: 'HeadersTooLarge',
  ERR_HTTP_REQUEST_TIMEOUT: 'RequestTimeout',
}

/** Answers what Node cannot read as a request. Neither hooks nor the error handler run for it, and it is not logged. */
export function answerClientErrors(headers: Record<string, string>) {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  return (error: NodeJS.ErrnoException & { rawPacket?: unknown }, socket: Socket): void => {
    const isOverflow = error.code === 'HPE_HEADER_OVERFLOW'
    if (error.code === 'ECONNRESET' || (!socket.writable && !isOverflow) || isAnswering(socket)) {
      socket.destroy()
      return
    }
    const { code, statusCode: status, message } = new ServiceError(faults[error.code ?? ''] ?? 'MalformedRequest')
    const body = JSON.stringify({ error: message })
    const head = [
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
      ...lines,
      `X-Error-Code: ${code}`,
      'Connection: close',
      'Content-Type: application/json; charset=utf-8',
      `Content-Length: ${Buffer.byteLength(body)}`,
    ]
    const send = (more: string[]) => `${[...head, ...more].join('\r\n')}\r\n\r\n${body}`
    if (!isOverflow) return void socket.end(send([]), () => socket.destroy())
    readOverflow(socket, (error.rawPacket as Buffer | undefined) ?? Buffer.of(), (isByCookies) => {
      socket.end(send(isByCookies ? ['Clear-Site-Data: "cookies"'] : []))
    })
  }
}

/** The last response of a connection, until it has ended. */
export const unfinishedResponses = new WeakMap<Socket, ServerResponse>()

/** True if the client would take bytes that are written now for a part of an unfinished response on the socket. */
function isAnswering(socket: Socket): boolean {
  const response = unfinishedResponses.get(socket)
  return (
    response !== undefined &&
    !response.writableFinished &&
    (response.socket === null || (response.headersSent && !response.writableEnded))
  )
}

/** Returns a function that lists the methods of all routes of a URL's path. Unknown paths have none. */
function collectMethods(app: FastifyInstance): (url: string) => string[] {
  const routes: { own: string[]; methods: string[] }[] = []
  let longest = 0
  app.addHook('onRoute', ({ url, method }) => {
    // CORS answers OPTIONS on every path, known or not.
    if (url === '*') return
    const own = url.split('/')
    longest = Math.max(longest, own.length)
    routes.push({ own, methods: [method].flat() })
  })
  return (url) => {
    const [path = ''] = url.split('?', 1)
    // A path may have thousands of segments. More than one beyond the longest route does not change the result.
    const parts = path.split('/', longest + 1)
    const methods = routes.filter(({ own }) => isRouteOf(parts, own)).flatMap((route) => route.methods)
    return methods.length > 0 ? [...new Set([...methods, 'OPTIONS'])].sort() : []
  }
}

function isRouteOf(parts: string[], own: string[]): boolean {
  const fits = own.every((part, index) => part === '*' || (part.startsWith(':') ? parts[index] : parts[index] === part))
  return fits && (own.at(-1) === '*' ? parts.length >= own.length : parts.length === own.length)
}
