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

/** A read may be done again, and a download has its place before it begins. */
export type ResponseKind = 'read' | 'download' | 'write'

/** The answer of any operation. */
export interface Answered {
  status: PropertyKey
  headers?: Record<string, string>
  cookies?: Cookie[]
  body?: object | undefined
  parts?: InParts<object>
  /** Stores something before the response ends. It waits for the writer, so it has no place meanwhile. */
  finish?: (() => Answer<void>) | undefined
}

/**
 * Bytes that are handed to a connection at once. It waits for its client after each slice, so a slow client is seen to make
 * progress. A shorter response is one text.
 */
const sliceBytes = 64 * 1024
/** Time to read a response while others wait for its place: a page of a pull, of 2 MiB, in 30 s takes 560 kbit/s. */
const readWithinMs = 30_000
const json = 'application/json; charset=utf-8'

/** A status and a payload, ready to be sent. */
interface Prepared extends Answered {
  payload: Payload
}

type Payload = string | Readable | undefined

/**
 * Sends what an operation returned. A long response is a stream, so that the backpressure of its connection bounds what is
 * read and held of it. `answer` may be called twice: a read that finds no place for its long response holds nothing while it
 * waits, and is done again. Returns a function that sends: a reply that is sent is a promise of its end.
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
        // Nothing here refers to the payload, so it is not in memory while this waits.
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

    /** A long response ends with its login. A write is done, so its response is at most cut off. */
    function follow(ready: Prepared, payload: Readable): Answer<() => FastifyReply> {
      const sent = () => send(ready, request, reply)
      if (!request.session) return sent
      const alive = inFlight.follow(request.session, payload)
      if (kind !== 'write') return alive.then(() => sent)
      alive.catch(() => {})
      return sent
    }

    // A read has its place until its answer is ready, and no longer.
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

  /** Most responses are complete with their first part. */
  async function readFirst(
    parts: InParts<object>,
    finish: Answered['finish'],
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<Pick<Prepared, 'payload' | 'finish'>> {
    const join = createJoin(serializersOf(reply))
    const owner = ownerOf(request)
    // It is read in the request's own place.
    const first = await parts.next()
    const texts = join(first)
    if (first.done) return { payload: toPayload(texts, reply), finish }
    reply.type(json)
    /** Drops each text once it was taken, and each part once it is text: a slow reader would keep them in memory. */
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
    // If a part fails, it is too late for a status: the connection ends before the JSON does.
    const payload = inSlices(all(texts)).once('error', (err) => {
      if (!(err instanceof ServiceError)) request.log.error({ err }, 'a response failed midway')
    })
    return { payload, finish: undefined }
  }
}

/** The response to a HEAD is its headers alone. Fastify would read a stream to its end. */
function withoutBody(payload: Payload): Payload {
  if (!(payload instanceof Readable)) return payload
  payload.destroy()
  return Readable.from([])
}

/** A download keeps a file or a connection to the object store open, so it takes its place before it opens one. */
export function holdDownload({ gate: { streams } }: ResponseParts): preHandlerHookHandler {
  return (request, reply, next) => {
    onceAnswered(streams.take(ownerOf(request)), () => {
      lendUntilEnd(streams, request, reply)
      next()
    })?.catch(next)
  }
}

/** Releases the place at the request's end. Others who need it end the connection: it is too late for a status. */
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
 * Makes the JSON of a body from its parts, which differ in the elements of an array: texts of a slice or more that
 * together are one body with all elements. In the contract the array comes first, so everything else is known at the end.
 */
function createJoin({ array, serialize, serializeElement }: PartSerializers) {
  const opening = `{"${array}":[`
  // Joined at once: a text that grows piece by piece takes three times as long to become bytes.
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

/** Compiles each schema once: most of an operation's responses are errors, which are alike. */
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

/** The name of the array of a body in parts, and the serializers of the body and of an element. */
interface PartSerializers {
  array: string
  serialize: Serialize
  serializeElement: Serialize
}

/** Made from the schemas of the contract. */
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
 * An element is a stored record. Its texts are printable ASCII, because the contract takes no others, so only quotes and
 * backslashes need escaping. Searching for these two is several times faster than looking at each character.
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
