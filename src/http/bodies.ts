import { Transform } from 'node:stream'
import type {
  FastifyBaseLogger,
  FastifyInstance,
  FastifyRequest,
  onRequestHookHandler,
  preParsingHookHandler,
  preValidationHookHandler,
} from 'fastify'
import { ServiceError } from '../contract/errors.ts'
import { watchProgress } from './body-progress.ts'
import { createShapeCheck, maxTokensFor } from './body-shape.ts'
import type { Budget } from './budget.ts'
import { parseJson } from './json.ts'
import { networkOf } from './limits.ts'
import { createRefusal } from './pressure.ts'
import { InvalidRequest } from './validation.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The operation's work, which continues when the caller has disconnected. */
    work: Promise<unknown> | undefined
  }
}

export interface BodyParts {
  bodies: Pick<Budget, 'hasRoom' | 'hold'>
  log: FastifyBaseLogger
}

const json = /^application\/json[ \t]*(;[ \t]*charset=("utf-8"|utf-8)[ \t]*)?$/i

/** Only JSON bodies are accepted. An empty one counts as none, because fetch wrappers send that. */
export function registerBodies(app: FastifyInstance): void {
  app.decorateRequest('work', undefined)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'string' }, async (_request: FastifyRequest, body: string) =>
    body.length === 0
      ? undefined
      : parseJson(body).catch((cause) => {
          throw new InvalidBody('body must be JSON', { cause })
        }),
  )
  // The export file's type is for responses only, but the binding warns about types in the contract without a parser.
  app.addContentTypeParser('application/octet-stream', (_request, _payload, done) =>
    done(new ServiceError('UnsupportedMediaType')),
  )
}

class InvalidBody extends InvalidRequest {
  readonly validationContext = 'body'
}

/** Runs before the body is read (a GET's never is): a media type that is not in the contract would skip validation. */
export const checkMediaType: onRequestHookHandler = ({ method, headers }, _reply, next) => {
  if (method === 'GET') return next()
  const type = headers['content-type']
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
  const encoding = headers['content-encoding'] ?? 'identity'
  const isForeign = type === undefined ? hasBody : !json.test(type) || encoding !== 'identity'
  next(isForeign ? new ServiceError('UnsupportedMediaType') : undefined)
}

/**
 * Counts the body into the budget as it arrives, until the request is over and nothing works on it any more. A body that
 * cannot be valid, or that hardly goes on, is refused before the rest has arrived.
 */
export function holdBodies(app: FastifyInstance, { bodies, log }: BodyParts) {
  const refuse = createRefusal(log, 'too many bytes of request bodies in memory: refusing some requests')
  const progress = watchProgress(app)
  return (maxElements: number): preParsingHookHandler =>
    (request, reply, payload, done) => {
      const { 'content-length': length, 'transfer-encoding': coding } = request.headers
      const announced = Number(length ?? 0)
      const isNeverRead = (coding === undefined && announced === 0) || announced > request.routeOptions.bodyLimit
      if (isNeverRead) return done(null, payload)
      const owner = request.session?.userId ?? networkOf(request.ip)
      if (!bodies.hasRoom(owner, announced)) return done(refuse())
      const hold = bodies.hold(owner)
      reply.raw.once('close', () => Promise.allSettled([request.work]).then(hold.release))
      const findFault = createShapeCheck(maxTokensFor(maxElements))
      const arrival = progress.begin(() => counted.destroy(tooSlow()))
      const counted = new Transform({
        transform(chunk: Buffer, _encoding, next) {
          arrival.count(chunk.length)
          if (!hold.add(chunk.length)) return next(refuse())
          const fault = findFault(chunk)
          next(fault === undefined ? null : new InvalidBody(`body ${fault}`), chunk)
        },
      })
      payload.once('error', (error) => counted.destroy(error))
      counted.once('close', arrival.end)
      // The rest is read and discarded, because otherwise the client would not see the response.
      counted.once('error', () => payload.resume())
      done(null, payload.pipe(counted))
    }
}

/** Whatever else the client has to send is not read. */
function tooSlow(): ServiceError {
  return new ServiceError('RequestTimeout', { headers: { connection: 'close' } })
}

/** Fastify does not validate a missing body: a required one is demanded here, an optional one becomes `{}`. */
export function demandBody(required: boolean | undefined): preValidationHookHandler {
  return (request, _reply, next) => {
    if (request.body !== undefined) return next()
    if (required) return next(new InvalidBody('body is required'))
    request.body = {}
    request.headers['content-type'] = 'application/json'
    next()
  }
}
