import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../context.ts'
import { ServiceError, toServiceError } from '../errors.ts'
import { InvalidRequest } from './validation.ts'

declare module 'fastify' {
  interface FastifySchema {
    'x-invalid'?: string
    'x-not-found'?: string
  }
}

/** Every error leaves as the contract's `{error}`: a caller's fault by name, one of ours without detail and with a log line. */
export function registerErrors(app: FastifyInstance, context: Context): void {
  app.setErrorHandler((error: FastifyError, request, reply) =>
    answer(fromRequest(error, request, context), request, reply),
  )
  app.setNotFoundHandler((request, reply) => answer(new ServiceError('NotFound'), request, reply))
}

function answer(error: ServiceError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  // A process with too much to do says so once for many.
  if (error.statusCode >= 500 && error.code !== 'Overloaded')
    request.log.error({ err: error.cause ?? error }, error.message)
  // A 413 would close the connection while the client still sends, which then sees a broken pipe instead of the answer.
  reply.removeHeader('connection')
  // Nobody reads from a refused upgrade's connection any more: no next request may be sent on it.
  if (request.ws) reply.header('connection', 'close')
  const { message, details } = error
  return reply
    .code(error.statusCode)
    .headers(error.headers)
    .header('content-type', 'application/json; charset=utf-8')
    .send(details === undefined ? { error: message } : { error: message, details })
}

/** A URL that cannot be decoded meets no route, and so none of the hooks. */
export function refuseMalformedRequest(request: FastifyRequest, reply: FastifyReply): void {
  reply.headers({ 'x-request-id': request.id, 'cache-control': 'private, no-store', vary: 'Origin' })
  answer(new ServiceError('BadRequest', { message: 'Malformed URL' }), request, reply)
}

function fromRequest(error: FastifyError, request: FastifyRequest, { database }: Context): ServiceError {
  if (error instanceof InvalidRequest) return fromFault(error, request)
  if (error.code === 'FST_ERR_CTP_BODY_TOO_LARGE') return new ServiceError('TooLarge', { cause: error })
  if (error.code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') return new ServiceError('UnsupportedMediaType', { cause: error })
  const isCallers = error.statusCode !== undefined && error.statusCode < 500
  if (isCallers && !(error instanceof ServiceError)) return new ServiceError('BadRequest', { cause: error })
  return toServiceError(error, database.isUnavailable)
}

/** The operation may have a sentence of its own for its body; an id that could not exist is not found. */
function fromFault(
  error: InvalidRequest & { validationContext?: string },
  { routeOptions }: FastifyRequest,
): ServiceError {
  const schema = routeOptions.schema
  if (error.validationContext === 'params')
    return new ServiceError('NotFound', { message: schema?.['x-not-found'] ?? 'Not found' })
  const message = (error.validationContext === 'body' && schema?.['x-invalid']) || error.message
  return new ServiceError('BadRequest', { message, cause: error })
}
