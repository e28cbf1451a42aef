import type { FastifyInstance, FastifyRequest, onRequestHookHandler, preValidationHookHandler } from 'fastify'
import { ServiceError } from '../contract/errors.ts'
import { parseJson } from './json.ts'
import { InvalidBody } from './validation.ts'

const json = /^application\/json[ \t]*(;[ \t]*charset=("utf-8"|utf-8)[ \t]*)?$/i

/** Only JSON bodies are accepted. An empty one counts as none, because fetch wrappers send that. */
export function registerBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  // What is there at once is passed on without a promise.
  app.addContentTypeParser('application/json', ({ readBody }: FastifyRequest, _payload, done) => {
    const text = readBody?.()
    const body = text instanceof Promise ? text.then(parseBody) : parseBody(text)
    if (body instanceof Promise) body.then((value) => done(null, value), done)
    else done(null, body)
  })
}

function parseBody(text: string | undefined): unknown {
  if (!text) return undefined
  try {
    const value = parseJson(text)
    return value instanceof Promise ? value.catch(refuse) : value
  } catch (cause) {
    return refuse(cause)
  }
}

function refuse(cause: unknown): never {
  throw new InvalidBody('body must be JSON', { cause })
}

/** Runs before the body is read (that of a GET or HEAD never is): a media type that is not in the contract would skip validation. */
export const checkMediaType: onRequestHookHandler = ({ method, headers }, _reply, next) => {
  if (method === 'GET' || method === 'HEAD') return next()
  const type = headers['content-type']
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
  const encoding = headers['content-encoding'] ?? 'identity'
  const isForeign = type === undefined ? hasBody : !json.test(type) || encoding !== 'identity'
  next(isForeign ? new ServiceError('UnsupportedMediaType') : undefined)
}

/** Fastify does not validate a missing body: a required one is demanded here, an optional one becomes `{}`. */
export function demandBody(required: boolean | undefined): preValidationHookHandler {
  return (request, _reply, next) => {
    const isMissing = request.body === undefined || (request.body === null && !required)
    if (!isMissing) return next()
    if (required) return next(new InvalidBody('body is required'))
    request.body = {}
    request.headers['content-type'] = 'application/json'
    next()
  }
}
