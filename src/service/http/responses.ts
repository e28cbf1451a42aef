import { Readable } from 'node:stream'
import fastJson from 'fast-json-stringify'
import type {
  FastifyBaseLogger,
  FastifyReply,
  FastifyRequest,
  FastifySerializerCompiler,
  preHandlerAsyncHookHandler,
} from 'fastify'
import type { Cookie } from '../auth/cookies.ts'
import type { InFlight } from '../auth/in-flight.ts'
import { ServiceError } from '../contract/errors.ts'
import { type Answer, onceAnswered } from '../db/engine/query.ts'
import { type Budget, createRefusal, type Hold } from '../load/budget.ts'
import type { limitPerOwner } from '../load/turns.ts'
import type { InParts } from '../operations/operation.ts'
import { measured } from '../thread/work.ts'

export interface ResponseParts {
  responses: Pick<Budget, 'hasRoom' | 'hold'>
  downloads: Pick<Budget, 'hold'>
  inFlight: Pick<InFlight, 'follow'>
  log: FastifyBaseLogger
}

/** The answer of any operation. */
export interface Answered {
  status: PropertyKey
  headers?: Record<string, string>
  cookies?: Cookie[]
  body?: object | undefined
  parts?: InParts<object>
}

/** A connection waits for its client after each slice of this many bytes or more. */
const sliceBytes = 64 * 1024
/** Of a response in parts, beside the part that is being sent: the beginning of the next text. */
const keptBytes = sliceBytes
/** So much room has a part before it is read: as JSON, few of `partLimits` are longer. Then it counts what it has. */
const partBytes = 1.5 * 1024 * 1024 - keptBytes
/** At most a slice is sent at once. */
const maxSliceBytes = 2 * sliceBytes
const json = 'application/json; charset=utf-8'

/**
 * Sends what an operation returned, no faster than its caller reads, and counts its bytes until then. If there is no room
 * for it, a read is refused, except a short one, such as a health report. A write is not, because it is done; its
 * response is hardly longer than its request. Further parts are read in the turns of their user, as `inTurn` gives them,
 * and wait for room rather than be refused. What it returns gets an answer ready, and returns what sends it: a reply that is
 * sent is a promise of its end.
 */
export function createResponder({ responses, inFlight, log }: ResponseParts, inTurn: ReturnType<typeof limitPerOwner>) {
  const refuse = createRefusal(
    log,
    'too many bytes of responses in memory: refusing some requests, or ending slow ones',
  )

  return (answer: Answered, request: FastifyRequest, reply: FastifyReply): Answer<() => FastifyReply> => {
    reply.code(answer.status as number)
    const { parts, body } = answer
    const ready = parts ? start(parts, request, reply) : whole(body, request, reply)
    const followed = onceAnswered(ready, (payload) => follow(payload, answer, request))
    return onceAnswered(followed, (payload) => () => send(payload, answer, request, reply))
  }

  /** A response that takes longer than a moment to send ends with its login. A write is done, so its response is at most cut off. */
  function follow<Payload>(payload: Payload, { parts }: Answered, request: FastifyRequest): Answer<Payload> {
    const { session, method } = request
    if (!session || !(payload instanceof Readable)) return payload
    const alive = inFlight.follow(session, payload)
    if (parts || ['GET', 'HEAD'].includes(method)) return alive.then(() => payload)
    alive.catch(() => {})
    return payload
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
    const text = String(
      reply.getSerializationFunction(`${reply.statusCode}`, 'application/json')?.(body as Record<string, unknown>),
    )
    const hold = holdUntilSent(responses, request, reply, refuse)
    const isRefusable = ['GET', 'HEAD'].includes(request.method) && text.length > maxSliceBytes
    if (!isRefusable) hold.insist(text.length)
    else if (!hold.add(text.length)) throw refuse()
    return toPayload([text], text.length, reply, hold)
  }

  /** Reads the first part, which is usually everything, in the turn of the request. Each of the others has its own. */
  async function start(parts: InParts<object>, request: FastifyRequest, reply: FastifyReply) {
    if (!responses.hasRoom(ownerOf(request), keptBytes + partBytes)) throw refuse()
    const first = await parts.next()
    const hold = holdUntilSent(responses, request, reply, refuse)
    const join = createJoin(serializersOf(reply))
    const texts = measured(() => join(first))
    const length = lengthOf(texts)
    if (!hold.add(first.done ? length : keptBytes + length)) throw refuse()
    if (first.done) return toPayload(texts, length, reply, hold)
    reply.type(json)
    let isOver = false
    // If a part fails, it is too late for a status: the connection ends before the JSON does.
    return inSlices(texts, hold, async () => {
      if (isOver) return undefined
      await hold.addLater(partBytes)
      const part = await inTurn(ownerOf(request), () => parts.next())
      isOver = part.done === true
      const texts = measured(() => join(part))
      hold.insist(lengthOf(texts))
      hold.subtract(partBytes)
      return texts
    }).once('error', (err) => {
      if (!(err instanceof ServiceError)) request.log.error({ err }, 'a response failed midway')
    })
  }
}

/** A HEAD gets the headers alone: Fastify would read a stream to its end. */
function unread<Payload>(payload: Payload): Payload | Readable {
  if (!(payload instanceof Readable)) return payload
  payload.destroy()
  return Readable.from([])
}

/** A download keeps a file or a connection to the object store open, so it needs room before it begins. */
export function holdDownload({ downloads, log }: ResponseParts): preHandlerAsyncHookHandler {
  const refuse = createRefusal(log, 'too many downloads under way: refusing some, or ending slow ones')
  return async (request, reply) => {
    if (!holdUntilSent(downloads, request, reply, refuse).add(1)) throw refuse()
  }
}

/** It is too late for a status when others need its room: then the connection ends. */
function holdUntilSent(
  budget: Pick<Budget, 'hold'>,
  request: FastifyRequest,
  reply: FastifyReply,
  refuse: () => ServiceError,
): Hold {
  const hold = budget.hold(ownerOf(request))
  if (reply.raw.destroyed) {
    hold.release()
    return hold
  }
  reply.raw.on('close', hold.release)
  const { socket } = request.raw
  const sent = () => socket.bytesWritten - socket.writableLength
  const before = sent()
  hold.offer({
    taken: () => sent() - before,
    end() {
      refuse()
      socket.destroy()
    },
  })
  return hold
}

/** Callers without a session are one owner. */
function ownerOf({ session }: FastifyRequest): string {
  return session?.userId ?? ''
}

function toPayload(texts: string[], length: number, reply: FastifyReply, hold: Hold): string | Readable {
  reply.type(json)
  if (length <= maxSliceBytes) return texts.join('')
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
  reply.header('content-length', bytes)
  return inSlices(texts, hold)
}

const lengthOf = (texts: string[]) => texts.reduce((sum, text) => sum + text.length, 0)

/** Sends texts and those that come after them, which are asked for only when everything before has left. */
function inSlices(
  first: string[],
  hold: Hold,
  next: () => Promise<string[] | undefined> = async () => undefined,
): Readable {
  let texts = first
  let rest = Buffer.alloc(0)
  let leaving = 0

  async function takeSlice(): Promise<Buffer | null> {
    while (rest.length === 0) {
      hold.subtract(leaving)
      leaving = 0
      const text = texts.shift()
      if (text !== undefined) {
        rest = Buffer.from(text)
        leaving = text.length
      } else {
        const more = await next()
        if (more === undefined) return null
        texts = more
      }
    }
    // Not even the last slice is shorter: the connection would not wait for it, and the next text would come too early.
    const end = rest.length <= maxSliceBytes ? rest.length : sliceBytes
    const slice = rest.subarray(0, end)
    rest = rest.subarray(end)
    return slice
  }

  return new Readable({
    // Any other value reads ahead of what the connection takes.
    highWaterMark: 0,
    read() {
      takeSlice().then(
        (slice) => this.push(slice),
        (error: Error) => this.destroy(error),
      )
    },
  })
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

/** By the schemas of the contract. */
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
