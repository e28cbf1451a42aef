import { Readable } from 'node:stream'
import type { FastifyBaseLogger, FastifyReply, FastifyRequest, preHandlerAsyncHookHandler } from 'fastify'
import type { Cookie } from '../auth/cookies.ts'
import type { Budget, Hold } from '../load/budget.ts'
import { createRefusal } from '../load/budget.ts'
import { limitPerOwner } from '../load/turns.ts'
import type { InParts } from '../operations/operation.ts'
import { createJoin, inSlices, maxSliceBytes } from './parts.ts'
import { createSerializers } from './serializers.ts'

export interface ResponseParts {
  responses: Pick<Budget, 'hasRoom' | 'hold'>
  downloads: Pick<Budget, 'hold'>
  log: FastifyBaseLogger
}

/** What any operation returns. */
export interface Answered {
  status: PropertyKey
  headers?: Record<string, string>
  cookies?: Cookie[]
  body?: object | undefined
  parts?: InParts<object>
}

export type Respond = (
  answer: Answered,
  request: FastifyRequest,
  reply: FastifyReply,
) => FastifyReply | Promise<FastifyReply>

/** What a response in parts counts as until its end: as JSON, few parts of `partLimits` are longer. */
const partBytes = 1.5 * 1024 * 1024
/** What is read for a response counts only afterwards, so a user has no more of these reads under way. */
const readsOfOne = 4

/**
 * Sends what an operation returned, no faster than its caller reads, and counts its bytes until then. If there is no room
 * for it, a read is refused, except a short one, such as a health report. A write is not, because it is done; its
 * response is hardly longer than its request.
 */
export function createResponder({ responses, log }: ResponseParts): Respond {
  const refuse = createRefusal(log, 'too many bytes of responses in memory: refusing some requests')
  const inTurn = limitPerOwner(readsOfOne)
  const serializersOf = createSerializers()

  return (answer, request, reply) => {
    reply.code(answer.status as number)
    const { parts, body } = answer
    if (!parts) return send(whole(body, request, reply), answer, request, reply)
    const payload = inTurn(ownerOf(request), () => start(parts, request, reply))
    return payload.then((readable) => send(readable, answer, request, reply))
  }

  function send(
    payload: string | Readable | undefined,
    { headers = {}, cookies = [] }: Answered,
    request: FastifyRequest,
    reply: FastifyReply,
  ): FastifyReply {
    for (const { name, value, options } of cookies) reply.setCookie(name, value, options)
    return reply.headers(headers).send(request.method === 'HEAD' ? unread(payload) : payload)
  }

  function whole(body: object | undefined, request: FastifyRequest, reply: FastifyReply) {
    if (body === undefined || body instanceof Readable) return body
    const text = toJson(body, reply)
    const hold = holdUntilSent(responses, request, reply)
    const isRefusable = ['GET', 'HEAD'].includes(request.method) && text.length > maxSliceBytes
    if (!isRefusable) hold.insist(text.length)
    else if (!hold.add(text.length)) throw refuse()
    return toPayload([text], text.length, reply)
  }

  /** Reads the first part, which is usually everything. */
  async function start(parts: InParts<object>, request: FastifyRequest, reply: FastifyReply) {
    if (!responses.hasRoom(ownerOf(request), partBytes)) throw refuse()
    const first = await parts.next()
    const hold = holdUntilSent(responses, request, reply)
    const join = createJoin(serializersOf(reply))
    if (first.done) {
      const texts = join(first)
      const length = texts.reduce((sum, text) => sum + text.length, 0)
      if (!hold.add(length)) throw refuse()
      return toPayload(texts, length, reply)
    }
    if (!hold.add(partBytes)) throw refuse()
    reply.type(json)
    // If a part fails, it is too late for a status: the connection ends before the JSON does.
    const next = () => inTurn(ownerOf(request), () => parts.next())
    return sendParts(first, next, join).once('error', (err) => request.log.error({ err }, 'a response failed midway'))
  }
}

/** A HEAD gets the headers alone: Fastify would read a stream to its end. */
function unread<Payload>(payload: Payload): Payload | Readable {
  if (!(payload instanceof Readable)) return payload
  payload.destroy()
  return Readable.from([])
}

function sendParts(
  first: IteratorYieldResult<object>,
  next: () => Promise<IteratorResult<object, object>>,
  join: ReturnType<typeof createJoin>,
): Readable {
  let isOver = false
  return inSlices(join(first), async () => {
    if (isOver) return undefined
    const part = await next()
    isOver = part.done === true
    return join(part)
  })
}

/** A download keeps a file or a connection to the object store open, so it needs room before it begins. */
export function holdDownload({ downloads, log }: ResponseParts): preHandlerAsyncHookHandler {
  const refuse = createRefusal(log, 'too many downloads under way: refusing some')
  return async (request, reply) => {
    if (!holdUntilSent(downloads, request, reply).add(1)) throw refuse()
  }
}

function holdUntilSent(budget: Pick<Budget, 'hold'>, request: FastifyRequest, reply: FastifyReply): Hold {
  const hold = budget.hold(ownerOf(request))
  if (reply.raw.destroyed) hold.release()
  else reply.raw.on('close', hold.release)
  return hold
}

/** Callers without a session are one owner. */
function ownerOf({ session }: FastifyRequest): string {
  return session?.userId ?? ''
}

const json = 'application/json; charset=utf-8'

/** As the contract's schema of the response describes it. */
function toJson(body: object, reply: FastifyReply): string {
  return String(
    reply.getSerializationFunction(`${reply.statusCode}`, 'application/json')?.(body as Record<string, unknown>),
  )
}

function toPayload(texts: string[], length: number, reply: FastifyReply): string | Readable {
  reply.type(json)
  if (length <= maxSliceBytes) return texts.join('')
  reply.header(
    'content-length',
    texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0),
  )
  return inSlices(texts)
}
