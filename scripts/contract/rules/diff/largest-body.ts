import { type Entry, isObject } from './change.ts'

/** What UTF-8 needs for any character of the world's languages, if the client does not escape it. */
const bytesPerCharacter = 3
/** Of a number, true, false or null. */
const bytesOfScalar = 25

/** How long the longest valid body of an operation is, without unknown fields (bytes); Infinity if nothing limits it. */
export function largestBody(operation: Entry | undefined): number {
  const root = documentOf(operation)
  const read = (value: unknown) => (isObject(value) && typeof value.$ref === 'string' ? at(root, value.$ref) : value)
  const path = ['requestBody', 'content', 'application/json', 'schema']
  const schema = path.reduce((value, name) => {
    const object = read(value)
    return isObject(object) ? object[name] : undefined
  }, operation?.value)
  return schema === undefined ? 0 : largest(schema)

  function largest(value: unknown): number {
    const schema = read(value)
    if (!isObject(schema)) return Number.POSITIVE_INFINITY
    if (Array.isArray(schema.enum)) return Math.max(...schema.enum.map((one) => JSON.stringify(one).length))
    if (schema.type === 'string') return 2 + bytesPerCharacter * Number(schema.maxLength ?? Number.POSITIVE_INFINITY)
    if (schema.type === 'array') {
      return 2 + Number(schema.maxItems ?? Number.POSITIVE_INFINITY) * (largest(schema.items) + 1)
    }
    if (schema.type !== 'object')
      return ['integer', 'number', 'boolean'].includes(String(schema.type)) ? bytesOfScalar : Number.POSITIVE_INFINITY
    const fields = Object.entries(isObject(schema.properties) ? schema.properties : {})
    return 2 + fields.reduce((sum, [name, one]) => sum + name.length + 4 + largest(one), 0)
  }
}

function documentOf(entry: Entry | undefined): unknown {
  let top = entry
  while (top?.parent) top = top.parent
  return top?.value
}

/** What a local reference such as `#/components/schemas/Login` names. */
function at(root: unknown, reference: string): unknown {
  const names = reference.split('/').slice(1)
  return names.reduce<unknown>((value, name) => (isObject(value) ? value[name] : undefined), root)
}
