import cors from '@fastify/cors'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ServiceError } from '../contract/errors.ts'

const mozExtension = /^moz-extension:\/\/[0-9a-f]{8}-[0-9a-f]{4}-[1-5][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

interface OriginConfig {
  origins: ReadonlySet<string>
}

/** CORS for the listed origins; unsafe methods and WebSockets from all others are refused. */
export async function registerOrigins(app: FastifyInstance, config: OriginConfig): Promise<void> {
  await app.register(cors, {
    origin: (origin, allow) => allow(null, origin !== undefined && isAllowed(config, origin) ? origin : false),
    credentials: true,
    methods: ['GET', 'HEAD', 'POST', 'PUT', 'DELETE'],
    allowedHeaders: ['Content-Type', 'X-Device-ID', 'Range', 'If-Range'],
    exposedHeaders: ['Retry-After', 'Content-Disposition', 'X-Request-Id', 'ETag', 'Content-Range', 'Accept-Ranges'],
    maxAge: 7200,
    strictPreflight: false,
  })
  app.addHook('onRequest', (request, _reply, next) => {
    const { origin } = request.headers
    const isForbidden = origin !== undefined && changesSomething(request) && !isAllowed(config, origin)
    next(isForbidden ? new ServiceError('ForbiddenOrigin') : undefined)
  })
}

/** Compares strings, because `URL` gives every browser extension the origin "null". */
function isAllowed({ origins }: OriginConfig, origin: string): boolean {
  return (
    (origins.has(origin) && !origin.endsWith('*')) || (origins.has('moz-extension://*') && mozExtension.test(origin))
  )
}

/** The same-origin policy does not cover WebSockets. */
function changesSomething({ method, headers }: FastifyRequest): boolean {
  return !['GET', 'HEAD', 'OPTIONS'].includes(method) || headers.upgrade !== undefined
}
