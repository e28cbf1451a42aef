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

/** Above this size (bytes), a body is large. A chunked body has no length, so the operation's limit counts. */
const largeBytes = 1024 * 1024
/** How long (ms) a body, and a large one, may take to arrive. 1 MiB in 20 s is 420 kbit/s. */
const [arrivesWithinMs, largeArrivesWithinMs] = [20_000, 60_000]

/**
 * Accepts only JSON bodies. An empty body counts as missing, because fetch wrappers send one. Returns a hook for
 * routes, which decides from the head whether a body may come. A body that does not arrive with its head needs a slot:
 * up to 64 KiB until it has arrived, larger until the request has ended and nothing works on it any longer.
 */
export function registerBodies(app: FastifyInstance, { gate }: BodyParts): onRequestHookHandler {
  const sendContinue = deferContinue(app)
  app.decorateRequest('readArriving', undefined)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', (request, _payload, done) => {
    function parseNow(bytes: Buffer): void {
      // The caller disconnected while the body waited to be parsed.
      if (request.raw.socket.destroyed) return
      let body: unknown
      try {
        body = bytes.length > 0 ? parseJson(bytes) : undefined
      } catch (error) {
        done(error as Error)
        return
      }
      // Fastify validates it synchronously, in the same turn of the event loop.
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
    // Checked first: Fastify does not validate a body of an unknown media type.
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
          // A body that has arrived needs no slot if it is not heavy, and a failed one is not kept.
          arriving.then(({ length }) => length <= heavyBytes && release(), release)
          return arriving
        }
        next()
      })?.catch(next)
    }

    // The parser reports the head before the bytes that came with it, so they may only be there in the next tick.
    if (raw.readableLength === announced) admit()
    else process.nextTick(admit)
  }
}

/**
 * Node would answer `Expect: 100-continue` before the head is checked. Returns a function that answers it, to be called
 * when the body may come. A refused client may or may not send the body, so its connection is closed.
 */
function deferContinue({ server }: FastifyInstance): (response: ServerResponse) => void {
  const waiting = new WeakMap<ServerResponse, { keepAlive: boolean }>()
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    waiting.set(response, { keepAlive: response.shouldKeepAlive })
    response.shouldKeepAlive = false
    server.emit('request', request, response)
  })
  return (response) => {
    const deferred = waiting.get(response)
    if (!deferred) return
    response.shouldKeepAlive = deferred.keepAlive
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
  // Reads on to the end, which the parser may not have reported yet.
  payload.resume()
  return body
}

interface Arrival {
  /** The most bytes that the body may have. */
  size: number
  withinMs: number
  /** Allows `end` to be called when others need the slot, until the returned function is called. */
  lend(end: () => void, isBehind: () => boolean): ReturnType<Slots['lend']>
}

/** Reads a body. Stops if it is too large or too slow, or if others need its slot. */
function readArriving(payload: IncomingMessage, { size, withinMs, lend }: Arrival): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  // The system allocates a buffer's memory as it fills. Chunks would become garbage that outlives the slot.
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
  // Deferred: if the process was busy, the bytes that arrived meanwhile are read first.
  const late = setTimeout(() => setImmediate(isLate), withinMs)
  const began = performance.now()
  const isBehind = () => received / size < (performance.now() - began) / withinMs
  const keep = lend(() => stop(new ServiceError('Overloaded')), isBehind)
  payload.on('data', (chunk: Buffer) => {
    // Discards the rest, because otherwise the client would not see the response.
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

/** Fastify does not validate a missing body. If `required`, the hook refuses that, or else makes it `{}`. */
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
