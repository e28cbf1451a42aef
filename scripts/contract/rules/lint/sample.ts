import { type Context, type Location, placed, type Schema, typesOf } from './visit.ts'

interface Sample {
  value: unknown
  /** The schema without any `$ref`. */
  whole: Schema
  /** Where a field has no example. */
  missing: Location[]
}

/** A value made of the fields' examples. A listed value is an example, too. */
export function sampleOf(schema: Schema, at: Location, context: Context): Sample {
  const { schema: own, location } = placed(schema, at, context)
  const properties = Object.entries(own.properties ?? {}).map(
    ([name, inner]) => [name, sampleOf(inner, location.child(['properties', name]), context)] as const,
  )
  const items = own.items && sampleOf(own.items, location.child(['items']), context)
  const whole = withoutRefs(own, location, context) as Schema
  const missing = [...properties.flatMap(([, sample]) => sample.missing), ...(items?.missing ?? [])]
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
    const target = placed(node as Schema, location, context)
    return withoutRefs(target.schema, target.location, context)
  }
  return Object.fromEntries(Object.entries(node).map(([key, inner]) => [key, withoutRefs(inner, location, context)]))
}
