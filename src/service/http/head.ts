import type { IncomingMessage } from 'node:http'
import cors from '@fastify/cors'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ServiceError } from '../contract/errors.ts'

interface HeadConfig {
  secureCookies: boolean
  origins: ReadonlySet<string>
}

/**
 * Headers of every response, only those that current browsers heed: each makes small requests slower. The documents and
 * the web page replace the content security policy (http/pages.ts).
 */
const constant = {
  'content-security-policy': "default-src 'none';frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'origin-agent-cluster': '?1',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'SAMEORIGIN',
  'cache-control': 'private, no-store',
  // The CORS headers of a response depend on the origin, because only listed origins may read it.
  vary: 'Origin',
}

/** For a year, a browser that was here uses only HTTPS. Not for subdomains, which may belong to others. */
const overHttps = { 'strict-transport-security': 'max-age=31536000' }

/**
 * Sets the headers of every response, also of errors; a route may replace them. Refuses malformed heads, and unsafe
 * methods and WebSockets from origins that are not listed.
 */
export async function registerHeads(app: FastifyInstance, config: HeadConfig): Promise<void> {
  const headers = responseHeaders(config)
  // If nobody listened, Node would answer an unknown `Expect` itself, without a body.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
  app.addHook('onRequest', (request, reply, next) => {
    reply.headers(headers).header('x-request-id', request.id)
    next(isSound(request.raw) ? undefined : new ServiceError('MalformedRequest'))
  })
  await app.register(cors, {
    origin: (origin, allow) => allow(null, origin !== undefined && isAllowed(config, origin) ? origin : false),
    credentials: true,
    methods: ['GET', 'HEAD', 'POST', 'PUT', 'DELETE'],
    allowedHeaders: [
      'Authorization',
      'Content-Type',
      'X-User-ID',
      'X-Device-ID',
      'Range',
      'If-Range',
      'Idempotency-Key',
    ],
    exposedHeaders: [
      'Retry-After',
      'Content-Disposition',
      'X-Request-Id',
      'X-Error-Code',
      'ETag',
      'Content-Range',
      'Accept-Ranges',
    ],
    maxAge: 7200,
    strictPreflight: false,
  })
  app.addHook('onRequest', (request, _reply, next) => {
    const { origin } = request.headers
    const isForbidden = origin !== undefined && changesSomething(request) && !isAllowed(config, origin)
    next(isForbidden ? new ServiceError('ForbiddenOrigin') : undefined)
  })
}

/** The headers of every response, except X-Request-Id. */
export function responseHeaders({ secureCookies }: Pick<HeadConfig, 'secureCookies'>): Record<string, string> {
  return secureCookies ? { ...constant, ...overHttps } : constant
}

/** False for heads that Node's parser accepts, but RFC 9112 (3.2) and RFC 9110 (10.1.1) let a server refuse. */
function isSound({ httpVersion, headers: { expect }, rawHeaders }: IncomingMessage): boolean {
  if (expect !== undefined && !/100-continue/i.test(expect)) return false
  const hosts = countHosts(rawHeaders)
  return hosts === 1 || (hosts === 0 && httpVersion === '1.0')
}

/** Counts the Host headers. They are in the raw headers, because `headers` has only the first. */
function countHosts(rawHeaders: string[]): number {
  let hosts = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++
  }
  return hosts
}

const mozExtension = /^moz-extension:\/\/[0-9a-f]{8}-[0-9a-f]{4}-[1-5][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/** Compares strings, because `URL` gives browser extensions the origin "null". */
function isAllowed({ origins }: HeadConfig, origin: string): boolean {
  return (
    (origins.has(origin) && !origin.endsWith('*')) || (origins.has('moz-extension://*') && mozExtension.test(origin))
  )
}

/** True for unsafe methods and WebSockets, which the same-origin policy does not cover. */
function changesSomething({ method, headers }: FastifyRequest): boolean {
  return !['GET', 'HEAD', 'OPTIONS'].includes(method) || headers.upgrade !== undefined
}
