import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ServiceError } from '../errors.ts'
import { InvalidRequest } from './validation.ts'

const json = /^application\/json[ \t]*(;[ \t]*charset=("utf-8"|utf-8)[ \t]*)?$/i

/** JSON is the only body there is. One of no bytes counts as none: fetch wrappers send that. */
export function registerBodies(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body: string, done) => {
    if (body.length === 0) done(null, undefined)
    else
      parse(request, body, (error, value) =>
        done(error && new InvalidBody('body must be JSON', { cause: error }), value),
      )
  })
  // The export file's type is an answer's alone, but the binding warns of a type in the contract without a parser.
  app.addContentTypeParser('application/octet-stream', (_request, _payload, done) =>
    done(new ServiceError('UnsupportedMediaType')),
  )
}

class InvalidBody extends InvalidRequest {
  readonly validationContext = 'body'
}

/** Before the body is read (a GET's never is): a media type that the contract lacks would slip past the validation. */
export async function checkMediaType({ method, headers }: FastifyRequest): Promise<void> {
  if (method === 'GET') return
  const type = headers['content-type']
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
  const encoding = headers['content-encoding'] ?? 'identity'
  if (type === undefined ? hasBody : !json.test(type) || encoding !== 'identity')
    throw new ServiceError('UnsupportedMediaType')
}

/** Fastify validates no body that is absent: a required one is demanded here, an optional one stands for `{}`. */
export function demandBody(required: boolean | undefined) {
  return async (request: FastifyRequest): Promise<void> => {
    if (request.body !== undefined) return
    if (required) throw new InvalidBody('body is required')
    request.body = {}
    request.headers['content-type'] = 'application/json'
  }
}
