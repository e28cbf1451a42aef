import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormatsModule from 'ajv-formats'
import type { Referable, Schema } from '../../openapi.ts'
import { type Context, type Location, placed, typesOf } from './visit.ts'

const addFormats = addFormatsModule as unknown as typeof addFormatsModule.default
const ajv = new Ajv2020({ strict: false })
addFormats(ajv)

/**
 * Every field must have an example, and the examples of a message's fields must form a valid message, because the
 * documentation builds messages from them. Redocly checks the examples of whole messages.
 */
export function examples() {
  const field = (name: string) => (node: Record<string, unknown>, context: Context) => {
    const schema = node[name] as Referable<Schema> | undefined
    if (!schema || ('format' in schema && schema.format === 'binary')) return
    const location = context.location.child([name])
    const { value, whole, missing } = sampleOf(schema, location, context)
    for (const place of missing) context.report({ message: 'There is no example.', location: place })
    if (missing.length > 0 || ajv.validate(whole, value)) return
    context.report({ message: `The examples of the fields are not valid together: ${ajv.errorsText()}.`, location })
  }
  return {
    MediaType: field('schema'),
    Parameter: field('schema'),
    Header: field('schema'),
    Message(node: Record<string, unknown>, context: Context) {
      field('payload')(node, context)
      checkMessages(node, context)
    },
    WsChannelBinding(node: Record<string, unknown>, context: Context) {
      for (const name of ['query', 'headers']) field(name)(node, context)
    },
  }
}

/** A message is shown as a whole, so that its fields agree with each other. */
function checkMessages(node: Record<string, unknown>, context: Context): void {
  const { schema, location } = placed(node.payload as Referable<Schema>, context.location.child(['payload']), context)
  const whole = withoutRefs(schema, location, context) as object
  const shown = (node.examples ?? []) as { payload?: unknown }[]
  if (shown.length === 0) context.report({ message: 'There is no example.', location: context.location.key() })
  for (const [index, { payload }] of shown.entries()) {
    if (ajv.validate(whole, payload)) continue
    const at = context.location.child(['examples', index])
    context.report({ message: `The example is not valid: ${ajv.errorsText()}.`, location: at })
  }
}

interface Sample {
  value: unknown
  /** The schema without any `$ref`. */
  whole: object
  /** Where a field has no example. */
  missing: Location[]
}

/** A value made from the fields' examples. An enum's value also counts as an example. */
function sampleOf(schema: Referable<Schema>, at: Location, context: Context): Sample {
  const { schema: own, location } = placed(schema, at, context)
  const properties = Object.entries(own.properties ?? {}).map(
    ([name, inner]) => [name, sampleOf(inner, location.child(['properties', name]), context)] as const,
  )
  const items = 'items' in own && own.items && sampleOf(own.items, location.child(['items']), context)
  const whole = withoutRefs(own, location, context) as object
  const missing = [...properties.flatMap(([, sample]) => sample.missing), ...(items ? items.missing : [])]
  const [given] = [...(own.examples ?? []), ...(own.enum ?? []), ...(own.const === undefined ? [] : [own.const])]
  if (given !== undefined) return { value: given, whole, missing }
  const types = typesOf(own)
  if (types.includes('object'))
    return { value: Object.fromEntries(properties.map(([name, { value }]) => [name, value])), whole, missing }
  if (types.includes('array') && items) return { value: [items.value], whole, missing }
  return { value: undefined, whole, missing: [location] }
}

function withoutRefs(node: unknown, location: Location, context: Context): unknown {
  if (Array.isArray(node)) return node.map((inner) => withoutRefs(inner, location, context))
  if (typeof node !== 'object' || node === null) return node
  if ('$ref' in node) {
    const target = placed(node as Referable<Schema>, location, context)
    return withoutRefs(target.schema, target.location, context)
  }
  return Object.fromEntries(Object.entries(node).map(([key, inner]) => [key, withoutRefs(inner, location, context)]))
}
