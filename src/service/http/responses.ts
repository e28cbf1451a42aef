import { Readable } from 'node:stream'
import fastJson from 'fast-json-stringify'
import type { FastifyReply, FastifyRequest, FastifySerializerCompiler, preHandlerHookHandler } from 'fastify'
import type { Cookie } from '../auth/cookies.ts'
import type { InFlight } from '../auth/in-flight.ts'
import { ServiceError } from '../contract/errors.ts'
import { type Answer, onceAnswered } from '../db/engine/query.ts'
import type { Gate } from '../load/gate.ts'
import type { Slots } from '../load/slots.ts'
import type { InParts } from '../operations/operation.ts'
import { ownerOf, releaseAtEnd } from './requests.ts'

export interface ResponseParts {
  gate: Pick<Gate, 'heavy' | 'streams'>
  inFlight: Pick<InFlight, 'follow'>
}

/** Only a read may have to wait for a slot of `streams`, because it can be repeated. A download already has one. */
export type ResponseKind = 'read' | 'download' | 'write'

/** The answer of any operation. */
export interface Answered {
  status: PropertyKey
  headers?: Record<string, string>
  cookies?: Cookie[]
  body?: object | undefined
  parts?: InParts<object>
  /** Stores something before the response ends, outside the slots for reading, because it waits for the writer. */
  finish?: (() => Answer<void>) | undefined
}

/**
 * Bytes written to a connection at once. The next slice waits for the client to read, so that http/connections.ts sees
 * the progress of a slow one. Shorter responses are sent as one text.
 */
const sliceBytes = 64 * 1024
/** How long (ms) a client may read a response while others wait for its slot: 2 MiB in 30 s is 560 kbit/s. */
const readWithinMs = 30_000
const json = 'application/json; charset=utf-8'

/** A status and payload, ready to send. */
interface Prepared extends Answered {
  payload: Payload
}

type Payload = string | Readable | undefined

/**
 * Sends an operation's answer. A long response is a stream, so that the connection's backpressure limits what is read
 * and kept of it. `answer` may be called twice: a read that must wait for a slot drops its answer meanwhile and is
 * repeated. Returns a function that sends, and whose result resolves at the end of the response.
 */
export function createResponder({ gate: { heavy, streams }, inFlight }: ResponseParts) {
  return (
    request: FastifyRequest,
    reply: FastifyReply,
    kind: ResponseKind,
    answer: <T>(next: (answered: Answered) => Answer<T>) => Answer<T>,
  ): Answer<() => FastifyReply> => {
    function prepare(answered: Answered): Answer<Prepared> {
      const { status, parts, body } = answered
      reply.code(status as number)
      if (!parts) return { ...answered, payload: whole(body, reply) }
      return readFirst(parts, answered.finish, request, reply).then((ready) => ({ ...answered, ...ready }))
    }

    function settle(ready: Prepared): Answer<() => FastifyReply> {
      const { payload } = ready
      if (kind !== 'read' || !(payload instanceof Readable)) return complete(ready)
      const turn = streams.take(ownerOf(request))
      if (turn) {
        payload.destroy()
        reply.removeHeader('content-length')
        // Nothing refers to the payload while this waits, so its memory can be freed.
        return turn.then(readAgain)
      }
      lendUntilEnd(streams, request, reply)
      return complete(ready)
    }

    function readAgain(): Answer<() => FastifyReply> {
      lendUntilEnd(streams, request, reply)
      return onceAnswered(answer(prepare), complete)
    }

    function complete(ready: Prepared): Answer<() => FastifyReply> {
      const { payload } = ready
      return onceAnswered(ready.finish?.(), () =>
        payload instanceof Readable ? follow(ready, payload) : () => send(ready, request, reply),
      )
    }

    /** Ends a long response with its login. A write is complete by then, so at most its response is cut off. */
    function follow(ready: Prepared, payload: Readable): Answer<() => FastifyReply> {
      const sent = () => send(ready, request, reply)
      if (!request.session) return sent
      const alive = inFlight.follow(request.session, payload)
      if (kind !== 'write') return alive.then(() => sent)
      alive.catch(() => {})
      return sent
    }

    // A read keeps its slot only until its answer is ready.
    if (kind === 'read') return onceAnswered(answer(prepare), settle)
    return answer((answered) => onceAnswered(prepare(answered), settle))
  }

  function send(
    { headers = {}, cookies = [], payload }: Prepared,
    request: FastifyRequest,
    reply: FastifyReply,
  ): FastifyReply {
    for (const { name, value, options } of cookies) reply.setCookie(name, value, options)
    return reply.headers(headers).send(request.method === 'HEAD' ? withoutBody(payload) : payload)
  }

  function whole(body: object | undefined, reply: FastifyReply) {
    if (body === undefined || body instanceof Readable) return body
    const serialize = reply.getSerializationFunction(`${reply.statusCode}`, 'application/json')
    return toPayload([String(serialize?.(body as Record<string, unknown>))], reply)
  }

  /** Reads the first part. Most responses are complete with it; the others become a stream. */
  async function readFirst(
    parts: InParts<object>,
    finish: Answered['finish'],
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<Pick<Prepared, 'payload' | 'finish'>> {
    const join = createJoin(serializersOf(reply))
    const owner = ownerOf(request)
    // The first part is read in the request's own slot.
    const first = await parts.next()
    const texts = join(first)
    if (first.done) return { payload: toPayload(texts, reply), finish }
    reply.type(json)
    /** Drops each text and part as soon as it is used, because a slow reader would keep them in memory. */
    async function* all(waiting: string[]): AsyncGenerator<string> {
      for (let isOver = false; ; ) {
        for (let text = waiting.shift(); text !== undefined; text = waiting.shift()) yield text
        if (isOver) return
        const part = await heavy.run(owner, () => parts.next())
        isOver = part.done === true
        if (isOver) await finish?.()
        waiting = join(part)
      }
    }
    // If a part fails, it is too late for an error status: the connection closes before the JSON is complete.
    const payload = inSlices(all(texts)).once('error', (err) => {
      if (!(err instanceof ServiceError)) request.log.error({ err }, 'a response failed midway')
    })
    return { payload, finish: undefined }
  }
}

/** For HEAD, sends only headers. Fastify would read a stream to its end. */
function withoutBody(payload: Payload): Payload {
  if (!(payload instanceof Readable)) return payload
  payload.destroy()
  return Readable.from([])
}

/** A download keeps a file or a connection to the store open, so it takes its slot before opening one. */
export function holdDownload({ gate: { streams } }: ResponseParts): preHandlerHookHandler {
  return (request, reply, next) => {
    onceAnswered(streams.take(ownerOf(request)), () => {
      lendUntilEnd(streams, request, reply)
      next()
    })?.catch(next)
  }
}

/** Releases the slot at the end of the request. If others need it, closes the connection: it is too late for a 503. */
function lendUntilEnd(streams: Slots, request: FastifyRequest, reply: FastifyReply): void {
  const owner = ownerOf(request)
  const began = performance.now()
  const isBehind = () => performance.now() - began > readWithinMs
  const takeBack = streams.lend(owner, () => request.raw.socket.destroy(), isBehind)
  releaseAtEnd(request, reply, () => {
    takeBack()
    streams.release(owner)
  })
}

function toPayload(texts: string[], reply: FastifyReply): string | Readable {
  reply.type(json)
  let [characters, bytes] = [0, 0]
  for (const text of texts) characters += text.length
  if (characters <= sliceBytes) return texts.join('')
  for (const text of texts) bytes += Buffer.byteLength(text)
  reply.header('content-length', bytes)
  return inSlices(texts)
}

function inSlices(texts: Iterable<string> | AsyncIterable<string>): Readable {
  return Readable.from(slicesOf(texts), { objectMode: false, highWaterMark: sliceBytes })
}

async function* slicesOf(texts: Iterable<string> | AsyncIterable<string>): AsyncGenerator<Buffer> {
  for await (const text of texts) {
    const bytes = Buffer.from(text)
    for (let start = 0; start < bytes.length; start += sliceBytes) yield bytes.subarray(start, start + sliceBytes)
  }
}

/**
 * Makes a body's JSON from its parts, which differ in the elements of an array: texts of a slice or more (the last
 * may be shorter), which together are one body with all elements. In the contract the array comes first, so the rest of
 * the body is written at the end.
 */
function createJoin({ array, serialize, serializeElement }: PartSerializers) {
  const opening = `{"${array}":[`
  // Joined once: a text that grows piece by piece takes three times as long to encode.
  const pieces = [opening]
  let length = 0
  let isEmpty = true
  return ({ value: part, done }: IteratorResult<object, object>): string[] => {
    const texts: string[] = []
    for (const element of (part as Record<string, object[]>)[array] ?? []) {
      const piece = isEmpty ? serializeElement(element) : `,${serializeElement(element)}`
      isEmpty = false
      length += piece.length
      pieces.push(piece)
      if (length < sliceBytes) continue
      texts.push(pieces.splice(0).join(''))
      length = 0
    }
    if (done) texts.push([...pieces, serialize({ ...part, [array]: [] }).slice(opening.length)].join(''))
    return texts
  }
}

type Serialize = (value: object) => string

const compiled = new Map<string, Serialize>()

/** Compiles each schema once: most responses of an operation are errors, which share one. */
export const serializerCompiler: FastifySerializerCompiler<object> = ({ schema }) => {
  const text = JSON.stringify(schema)
  const serialize = compiled.get(text) ?? fastJson(schema)
  compiled.set(text, serialize)
  return serialize as (value: unknown) => string
}

interface ObjectSchema {
  type: 'object'
  properties: Record<string, { type?: string | string[]; items?: ObjectSchema }>
}

/** The array of a body in parts, and serializers for the body and an element. */
interface PartSerializers {
  array: string
  serialize: Serialize
  serializeElement: Serialize
}

/** Keyed by the contract's schema of the body. */
const partSerializers = new WeakMap<object, PartSerializers>()

function serializersOf(reply: FastifyReply): PartSerializers {
  const { statusCode, request } = reply
  const responses = request.routeOptions.schema?.response as Record<
    string,
    { content: { 'application/json': { schema: ObjectSchema } } }
  >
  const schema = responses[statusCode]?.content['application/json'].schema as ObjectSchema
  const known = partSerializers.get(schema)
  if (known) return known
  const [array, { items }] = Object.entries(schema.properties).find(([, { items }]) => items) as [
    string,
    { items: ObjectSchema },
  ]
  const serializer = (of: ObjectSchema) => reply.compileSerializationSchema({ ...of }) as Serialize
  const made = { array, serialize: serializer(schema), serializeElement: compileElement(items, serializer) }
  partSerializers.set(schema, made)
  return made
}

/**
 * Serializes a stored record. Its texts are printable ASCII, because the contract accepts nothing else, so only quotes
 * and backslashes need escaping. Searching for these two is several times faster than checking each character.
 */
function compileElement(schema: ObjectSchema, serializer: (of: ObjectSchema) => Serialize): Serialize {
  const isText = ([, { type }]: [string, { type?: string | string[] }]) => type === 'string'
  const texts = Object.entries(schema.properties).filter(isText)
  const unescaped = Object.fromEntries(texts.map(([name, property]) => [name, { ...property, format: 'unsafe' }]))
  const serializeEscaped = serializer(schema)
  const serializePlain = serializer({ ...schema, properties: { ...schema.properties, ...unescaped } })
  const names = texts.map(([name]) => name)
  return (element) => {
    for (const name of names) {
      const text = (element as Record<string, string | undefined>)[name]
      if (text !== undefined && (text.includes('"') || text.includes('\\'))) return serializeEscaped(element)
    }
    return serializePlain(element)
  }
}
