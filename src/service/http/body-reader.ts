import type { FastifyBaseLogger, FastifyInstance, preParsingHookHandler, RequestPayload } from 'fastify'
import { ServiceError } from '../contract/errors.ts'
import type { Budget, Hold } from '../load/budget.ts'
import { createRefusal } from '../load/budget.ts'
import { networkOf } from '../load/rates.ts'
import { type BodyProgress, watchProgress } from './body-progress.ts'
import { createShapeCheck, maxTokensFor } from './body-shape.ts'
import { InvalidBody } from './validation.ts'

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

/**
 * Counts the body into the budget as it arrives, until the request is over and nothing works on it any more. A body that
 * cannot be valid, or that hardly goes on, is refused before the rest has arrived.
 */
export function holdBodies(app: FastifyInstance, { bodies, log }: BodyParts) {
  const refuse = createRefusal(log, 'too many bytes of request bodies in memory: refusing some requests')
  const progress = watchProgress(app)
  app.decorateRequest('readBody', undefined)
  app.decorateRequest('work', undefined)
  return (maxElements: number): preParsingHookHandler =>
    (request, reply, payload, done) => {
      const { 'content-length': length, 'transfer-encoding': coding } = request.headers
      const { bodyLimit } = request.routeOptions
      const announced = Number(length ?? 0)
      if (coding === undefined && announced === 0) return done()
      if (announced > bodyLimit) return done(new ServiceError('TooLarge'))
      const owner = request.session?.userId ?? networkOf(request.ip)
      if (!bodies.hasRoom(owner, announced)) return done(refuse())
      const hold = bodies.hold(owner)
      reply.raw.on('close', () => {
        // Once a response was sent, no work is left.
        if (reply.raw.writableFinished) hold.release()
        else Promise.resolve(request.work).then(hold.release, hold.release)
      })
      const findFault = createShapeCheck(maxTokensFor(maxElements), coding === undefined ? announced : bodyLimit)
      let received = 0

      function check(chunk: Buffer): Error | undefined {
        received += chunk.length
        if (received > bodyLimit) return new ServiceError('TooLarge')
        if (!hold.add(chunk.length)) return refuse()
        const fault = findFault(chunk)
        return fault === undefined ? undefined : new InvalidBody(`body ${fault}`)
      }

      // V8 takes a function for long-lived if it is written where it is assigned, and with it all that it refers to.
      const readBody = () => readArrived(payload, announced, check) ?? readText(payload, progress, check, hold)
      request.readBody = readBody
      // The parser tells of the head before it hands over what came with it.
      if (payload.readableLength === announced) done()
      else process.nextTick(done)
    }
}

type Check = (chunk: Buffer) => Error | undefined

/** A short body usually arrives together with its head. Undefined if some of it is still to come. */
function readArrived(payload: RequestPayload, announced: number, check: Check): string | undefined {
  if (announced === 0 || payload.readableLength !== announced) return undefined
  const body: Buffer = payload.read()
  // Its end, which the parser may not have reported yet, has to be read, too.
  payload.resume()
  const error = check(body)
  if (error) throw error
  return body.toString()
}

function readText(payload: RequestPayload, progress: BodyProgress, check: Check, hold: Hold): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const chunks: Buffer[] = []
  let isOver = false

  function stop(error: Error): void {
    isOver = true
    chunks.length = 0
    // The response may end much later, when the client has sent the rest.
    hold.release()
    arrival.end()
    reject(error)
  }

  const arrival = progress.begin(() => stop(tooSlow()))
  payload.on('data', (chunk: Buffer) => {
    // The rest is read and discarded, because otherwise the client would not see the response.
    if (isOver) return
    arrival.count(chunk.length)
    const error = check(chunk)
    if (error) stop(error)
    else chunks.push(chunk)
  })
  payload.on('end', () => {
    arrival.end()
    resolve(Buffer.concat(chunks.splice(0)).toString())
  })
  payload.on('error', (cause) => stop(new ServiceError('BadRequest', { cause })))
  payload.on('close', () => arrival.end())
  return promise
}

/** Whatever else the client has to send is not read. */
function tooSlow(): ServiceError {
  return new ServiceError('RequestTimeout', { headers: { connection: 'close' } })
}
