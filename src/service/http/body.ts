import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyInstance, onRequestHookHandler, preValidationHookHandler } from 'fastify'
import { ServiceError } from '../contract/errors.ts'
import { parseJson } from '../contract/json.ts'
import { InvalidBody } from '../contract/validation.ts'
import { onceAnswered } from '../db/engine/query.ts'
import { type Gate, heavyBytes, type ParsingPlaces, parseInTurn, smallBytes } from '../load/gate.ts'
import type { Slots } from '../load/slots.ts'
import { ownerOf, releaseAtEnd } from './requests.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Reads a body that does not arrive with its head. */
    readArriving: (() => Promise<Buffer>) | undefined
  }
}

export interface BodyParts {
  gate: Pick<Gate, 'smallBodies' | 'bodies' | 'largeBodies'> & ParsingPlaces
}

const json = /^application\/json[ \t]*(;[ \t]*charset=("utf-8"|utf-8)[ \t]*)?$/i

/** Bytes of a body that is large. One without a length counts as large if it may become so. */
const largeBytes = 1024 * 1024
/** Time for a body to arrive: 1 MiB in 20 s takes 420 kbit/s. */
const [arrivesWithinMs, largeArrivesWithinMs] = [20_000, 60_000]

/**
 * Only JSON bodies are accepted. An empty one counts as none, because fetch wrappers send that.
 *
 * Returns a hook for routes, which decides from the head whether a body may come. One that does not arrive together with its
 * head needs a place: until it has arrived if it is small, else until the request is over and nothing works on it any more.
 */
export function registerBodies(app: FastifyInstance, { gate }: BodyParts): onRequestHookHandler {
  const sendContinue = deferContinue(app)
  app.decorateRequest('readArriving', undefined)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', (request, _payload, done) => {
    function parseNow(bytes: Buffer): void {
      // The caller has disconnected while this waited: the bytes are dropped.
      if (request.raw.socket.destroyed) return
      let body: unknown
      try {
        body = bytes.length > 0 ? parseJson(bytes) : undefined
      } catch (error) {
        done(error as Error)
        return
      }
      // Validates at once, and so in the same turn of the event loop.
      done(null, body)
    }
    const read = request.readArriving?.() ?? readArrived(request.raw)
    const parsed = onceAnswered(read, (bytes) =>
      parseInTurn(gate, ownerOf(request), bytes.length, () => parseNow(bytes)),
    )
    if (!(parsed instanceof Promise)) return
    request.work = parsed
    parsed.catch(done)
  })
  return (request, reply, next) => {
    const { headers, raw, routeOptions } = request
    const { bodyLimit } = routeOptions
    const announced = Number(headers['content-length'] ?? 0)
    const isChunked = headers['transfer-encoding'] !== undefined
    const hasBody = isChunked || announced > 0
    // Comes first: a media type that is not in the contract would skip validation.
    if (isUnsupportedMediaType(headers, hasBody)) return next(new ServiceError('UnsupportedMediaType'))
    if (!hasBody) return next()
    if (announced > bodyLimit) return next(new ServiceError('TooLarge'))

    function admit(): void {
      if (!isChunked && raw.readableLength === announced) {
        next()
        return
      }
      const size = isChunked ? bodyLimit : announced
      const isLarge = size > largeBytes
      const slots = isLarge ? gate.largeBodies : size > smallBytes ? gate.bodies : gate.smallBodies
      const withinMs = isLarge ? largeArrivesWithinMs : arrivesWithinMs
      const owner = ownerOf(request)
      let hasPlace = true
      function release(): void {
        if (hasPlace) slots.release(owner)
        hasPlace = false
      }
      onceAnswered(slots.take(owner) ?? undefined, () => {
        if (!releaseAtEnd(request, reply, release)) return
        sendContinue(reply.raw)
        request.readArriving = () => {
          const arriving = readArriving(raw, { size, withinMs, lend: slots.lend.bind(slots, owner) })
          // Then it is like one that arrived with its head, or nothing is kept of it.
          arriving.then(({ length }) => length <= heavyBytes && release(), release)
          return arriving
        }
        next()
      })?.catch(next)
    }

    // The parser tells of the head before it hands over the bytes that came with it.
    if (raw.readableLength === announced) admit()
    else process.nextTick(admit)
  }
}

/**
 * Node would answer `Expect: 100-continue` before anybody has looked at the head. Returns a function that does so once the
 * body may come. A client that was refused may send it or not, so its connection ends.
 */
function deferContinue({ server }: FastifyInstance): (response: ServerResponse) => void {
  const waiting = new WeakMap<ServerResponse, { wasKept: boolean }>()
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    waiting.set(response, { wasKept: response.shouldKeepAlive })
    response.shouldKeepAlive = false
    server.emit('request', request, response)
  })
  return (response) => {
    const held = waiting.get(response)
    if (!held) return
    response.shouldKeepAlive = held.wasKept
    response.writeContinue()
  }
}

function isUnsupportedMediaType(headers: IncomingMessage['headers'], hasBody: boolean): boolean {
  const type = headers['content-type']
  if (type === undefined) return hasBody
  return !json.test(type) || (headers['content-encoding'] ?? 'identity') !== 'identity'
}

function readArrived(payload: IncomingMessage): Buffer {
  const body: Buffer = payload.read() ?? Buffer.of()
  // Its end, which the parser may not have reported yet, has to be read, too.
  payload.resume()
  return body
}

interface Arrival {
  /** Bytes that the body may have. */
  size: number
  withinMs: number
  /** Allows `end` to be called in favour of others, until the returned function is called. */
  lend(end: () => void, isBehind: () => boolean): ReturnType<Slots['lend']>
}

/** Stops reading a body that is too large, that does not arrive in time, or whose place others need. */
function readArriving(payload: IncomingMessage, { size, withinMs, lend }: Arrival): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  // The system gives it memory as it fills. Chunks would be garbage that outlives its place.
  const body = Buffer.allocUnsafeSlow(size)
  let received = 0
  let isOver = false

  function finish(): void {
    isOver = true
    clearTimeout(late)
    keep()
  }

  function stop(error: Error): void {
    if (isOver) return
    finish()
    body.buffer.transfer(0)
    reject(error)
  }

  const isLate = () => stop(new ServiceError('RequestTimeout', { headers: { connection: 'close' } }))
  // If the process was held up, what has arrived meanwhile is read first.
  const late = setTimeout(() => setImmediate(isLate), withinMs)
  const began = performance.now()
  const isBehind = () => received / size < (performance.now() - began) / withinMs
  const keep = lend(() => stop(new ServiceError('Overloaded')), isBehind)
  payload.on('data', (chunk: Buffer) => {
    // The rest is read and discarded, because otherwise the client would not see the response.
    if (isOver) return
    if (received + chunk.length > size) stop(new ServiceError('TooLarge'))
    else received += chunk.copy(body, received)
  })
  payload.on('end', () => {
    if (isOver) return
    finish()
    resolve(body.subarray(0, received))
  })
  payload.on('error', (cause) => stop(new ServiceError('MalformedRequest', { cause })))
  payload.on('close', () => stop(new ServiceError('MalformedRequest')))
  return promise
}

/** Fastify does not validate a missing body: a required one is demanded here, an optional one becomes `{}`. */
export function requireBody(required: boolean | undefined): preValidationHookHandler {
  return (request, _reply, next) => {
    const isMissing = request.body === undefined || (request.body === null && !required)
    if (!isMissing) return next()
    if (required) return next(new InvalidBody('body is required'))
    request.body = {}
    request.headers['content-type'] = 'application/json'
    next()
  }
}
