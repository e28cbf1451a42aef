import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyBaseLogger, FastifyInstance, onRequestHookHandler, preValidationHookHandler } from 'fastify'
import { ServiceError } from '../contract/errors.ts'
import { InvalidBody } from '../contract/validation.ts'
import { type Budget, createRefusal, type Hold } from '../load/budget.ts'
import { networkOf } from '../load/rates.ts'
import { createShapeCheck, maxTokensFor, parseJson } from './json.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Reads the body; undefined if there is none. */
    readBody: (() => string | Promise<string>) | undefined
    /** The operation's work, which continues when the caller has disconnected. */
    work: Promise<unknown> | undefined
  }
}

export interface BodyParts {
  bodies: Pick<Budget, 'hasRoom' | 'hold'>
  log: FastifyBaseLogger
}

const json = /^application\/json[ \t]*(;[ \t]*charset=("utf-8"|utf-8)[ \t]*)?$/i

type Check = (chunk: Buffer) => Error | undefined

/**
 * Only JSON bodies are accepted. An empty one counts as none, because fetch wrappers send that.
 *
 * Returns a hook for routes, which decides from the head whether a body may come. The body counts into the budget as it
 * arrives, until the request is over and nothing works on it any more. One that cannot be valid, that hardly goes on, or that
 * is slow and takes the room of others, is refused before its rest has arrived.
 */
export function registerBodies(app: FastifyInstance, { bodies, log }: BodyParts) {
  const refuse = createRefusal(log, 'too many bytes of request bodies in memory: refusing some requests, or slow ones')
  const progress = watchProgress(app)
  const invite = holdInvitations(app)
  app.decorateRequest('readBody', undefined)
  app.decorateRequest('work', undefined)
  app.removeAllContentTypeParsers()
  // A body that is there at once is passed on without a promise.
  app.addContentTypeParser('application/json', ({ readBody }, _payload, done) => {
    const text = readBody?.()
    const body = text instanceof Promise ? text.then(parseBody) : parseBody(text)
    if (body instanceof Promise) body.then((value) => done(null, value), done)
    else done(null, body)
  })
  return (maxElements: number): onRequestHookHandler => {
    const maxTokens = maxTokensFor(maxElements)
    return (request, reply, next) => {
      const { headers, raw, routeOptions } = request
      const { bodyLimit } = routeOptions
      const announced = Number(headers['content-length'] ?? 0)
      const isChunked = headers['transfer-encoding'] !== undefined
      const hasBody = isChunked || announced > 0
      // Comes first: a media type that is not in the contract would skip validation.
      if (isForeign(headers, hasBody)) return next(new ServiceError('UnsupportedMediaType'))
      if (!hasBody) return next()
      if (announced > bodyLimit) return next(new ServiceError('TooLarge'))
      const owner = request.session?.userId ?? networkOf(request.ip)
      if (!bodies.hasRoom(owner, announced)) return next(refuse())
      const hold = bodies.hold(owner)
      invite(reply.raw)
      reply.raw.on('close', () => {
        // Once a response was sent, no work is left.
        if (reply.raw.writableFinished) hold.release()
        else Promise.resolve(request.work).then(hold.release, hold.release)
      })
      const findFault = createShapeCheck(maxTokens, isChunked ? bodyLimit : announced)
      let received = 0

      function check(chunk: Buffer): Error | undefined {
        received += chunk.length
        if (received > bodyLimit) return new ServiceError('TooLarge')
        if (!hold.add(chunk.length)) return refuse()
        const fault = findFault(chunk)
        return fault === undefined ? undefined : new InvalidBody(`body ${fault}`)
      }

      // V8 takes a function for long-lived if it is written where it is assigned, and with it all that it refers to.
      const readBody = () => readArrived(raw, announced, check) ?? readText(raw, { progress, check, hold, refuse })
      request.readBody = readBody
      // The parser tells of the head before it hands over the bytes that came with it.
      if (raw.readableLength === announced) next()
      else process.nextTick(next)
    }
  }
}

/**
 * Node would answer `Expect: 100-continue` before anybody has looked at the head. Returns a function that does so once the
 * body may come. A client that was refused may send it or not, so its connection ends.
 */
function holdInvitations({ server }: FastifyInstance): (response: ServerResponse) => void {
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

function isForeign(headers: IncomingMessage['headers'], hasBody: boolean): boolean {
  const type = headers['content-type']
  if (type === undefined) return hasBody
  return !json.test(type) || (headers['content-encoding'] ?? 'identity') !== 'identity'
}

/** A short body usually arrives together with its head. Undefined if some of it is still to come. */
function readArrived(payload: IncomingMessage, announced: number, check: Check): string | undefined {
  if (announced === 0 || payload.readableLength !== announced) return undefined
  const body: Buffer = payload.read()
  // Its end, which the parser may not have reported yet, has to be read, too.
  payload.resume()
  const error = check(body)
  if (error) throw error
  return body.toString()
}

interface Reading {
  progress: Progress
  check: Check
  hold: Hold
  refuse: () => ServiceError
}

function readText(payload: IncomingMessage, { progress, check, hold, refuse }: Reading): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const chunks: Buffer[] = []
  let received = 0
  let isOver = false

  function stop(error: Error): void {
    isOver = true
    chunks.length = 0
    // The response may end much later, when the client has sent the rest.
    hold.release()
    arrival.end()
    reject(error)
  }

  // A client that is too slow has nothing more read.
  const arrival = progress.begin(() => stop(new ServiceError('RequestTimeout', { headers: { connection: 'close' } })))
  hold.offer({ taken: () => received, end: () => stop(refuse()) })
  payload.on('data', (chunk: Buffer) => {
    // The rest is read and discarded, because otherwise the client would not see the response.
    if (isOver) return
    arrival.count(chunk.length)
    received += chunk.length
    const error = check(chunk)
    if (error) stop(error)
    else chunks.push(chunk)
  })
  payload.on('end', () => {
    arrival.end()
    hold.keep()
    resolve(Buffer.concat(chunks.splice(0)).toString())
  })
  payload.on('error', (cause) => stop(new ServiceError('MalformedRequest', { cause })))
  payload.on('close', arrival.end)
  return promise
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

const checkMs = 10_000
/** 13 kbit/s: far below any network with which a person would wait. */
const minBytes = 16 * 1024
/** A body that holds more memory must go on faster. One that arrives evenly within the two minutes of a request does. */
const minShare = 1 / 12

type Progress = ReturnType<typeof watchProgress>

/** Watches bodies as they arrive: one that does not go on would hold its memory for the two minutes of a request. */
function watchProgress(app: FastifyInstance) {
  const checks = new Set<() => void>()
  function checkAll(): void {
    for (const check of [...checks]) check()
  }
  // If the process was held up, what has arrived meanwhile is read first.
  const timer = setInterval(() => setImmediate(checkAll), checkMs).unref()
  app.addHook('onClose', async () => clearInterval(timer))
  return {
    /** Calls `stop` if too little arrives between two checks. A body that began between two has until the next one. */
    begin(stop: () => void) {
      let received = 0
      let atLastCheck: number | undefined
      function check(): void {
        const before = atLastCheck
        atLastCheck = received
        if (before !== undefined && received - before < Math.max(minBytes, before * minShare)) stop()
      }
      checks.add(check)
      return {
        count(bytes: number): void {
          received += bytes
        },
        end: () => void checks.delete(check),
      }
    },
  }
}
