import fastJson from 'fast-json-stringify'
import type { FastifyReply, FastifySerializerCompiler } from 'fastify'

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

/** What writes a body that comes in parts: the name of its array, and the serializers of the body and of an element. */
export interface PartSerializers {
  array: string
  serialize: Serialize
  serializeElement: Serialize
}

/** Compiled once for each schema of the contract. */
export function createSerializers() {
  const known = new WeakMap<object, PartSerializers>()
  return (reply: FastifyReply): PartSerializers => {
    const schema = schemaOf(reply)
    const serializers = known.get(schema) ?? compile(schema, reply)
    known.set(schema, serializers)
    return serializers
  }
}

function schemaOf({ statusCode, request }: FastifyReply): ObjectSchema {
  const responses = request.routeOptions.schema?.response as Record<
    string,
    { content: { 'application/json': { schema: ObjectSchema } } }
  >
  return responses[statusCode]?.content['application/json'].schema as ObjectSchema
}

function compile(schema: ObjectSchema, reply: FastifyReply): PartSerializers {
  const [array, { items }] = Object.entries(schema.properties).find(([, { items }]) => items) as [
    string,
    { items: ObjectSchema },
  ]
  const serializer = (of: ObjectSchema) => reply.compileSerializationSchema({ ...of }) as Serialize
  return { array, serialize: serializer(schema), serializeElement: compileElement(items, serializer) }
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
