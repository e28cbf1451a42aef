import type { ErrorObject } from 'ajv'
import type { FastifySchemaCompiler } from 'fastify'
import { describeFault } from '../contract/faults.ts'
import { faultFinder } from '../contract/validators.ts'
import { pause } from '../thread/loop.ts'

/** A part of the request violates the contract; `validationContext` (set by Fastify) says which part. */
export class InvalidRequest extends Error {
  override name = 'InvalidRequest'
  readonly statusCode = 400
}

export class InvalidBody extends InvalidRequest {
  readonly validationContext = 'body'
}

interface PartSchema {
  properties?: Record<string, Property>
}

interface Property {
  type?: string
  items?: Items
  /** The handler checks the other fields of each element, and reports their faults element by element. */
  'x-strict-fields'?: string[]
}

interface Items {
  type?: string
  properties?: Record<string, object>
}

type Values = Record<string, unknown>

/** Bodies are validated as they are. Parameters arrive as text, so integers among them are parsed first. */
export const validatorCompiler: FastifySchemaCompiler<PartSchema> = ({ schema, httpPart }) => {
  const hasArrays = Object.values(schema.properties ?? {}).some(({ items }) => items)
  if (httpPart === 'body' && hasArrays) return compileInSteps(schema) as ReturnType<FastifySchemaCompiler<PartSchema>>
  const findFaults = faultFinder(schema)
  const integers = Object.entries(schema.properties ?? {}).filter(([, { type }]) => type === 'integer')
  return (data: Values) => {
    if (httpPart !== 'body') for (const [name] of integers) data[name] = readInteger(data[name])
    const faults = findFaults(data)
    return faults ? { error: invalid(faults) } : true
  }
}

/** For bodies with long arrays: their elements are validated one by one, so that the event loop turns between them. */
function compileInSteps(schema: PartSchema) {
  const properties = Object.entries(schema.properties ?? {})
  const arrays = properties.flatMap(([name, { items, 'x-strict-fields': fields }]) =>
    items ? [{ name, findFaults: faultFinder(fields ? withOnly(fields, items) : items) }] : [],
  )
  const withoutItems = properties.map(([name, { items: _items, ...property }]) => [name, property])
  const findOtherFaults = faultFinder({ ...schema, properties: Object.fromEntries(withoutItems) })
  return async (body: Values) => {
    const others = findOtherFaults(body)
    if (others) throw invalid(others)
    for (const { name, findFaults } of arrays) {
      const elements = (body[name] ?? []) as unknown[]
      // Counted: in an asynchronous function, an iterator allocates an object for each element.
      for (let index = 0; index < elements.length; index++) {
        const faults = findFaults(elements[index])
        if (faults) throw invalid(faults, `/${name}/${index}`)
        const turn = pause()
        if (turn) await turn
      }
    }
  }
}

function withOnly(fields: string[], { type, properties = {} }: Items): object {
  const strict = fields.map((field) => [field, properties[field]])
  return { type, required: fields, properties: Object.fromEntries(strict) }
}

function invalid(errors: ErrorObject[], at = ''): InvalidRequest {
  return new InvalidRequest(
    describeFault(errors.map((error) => ({ ...error, instancePath: `${at}${error.instancePath}` }))),
  )
}

/** Parses plain decimals only: what Ajv would coerce (`1e2`, ` 5`) stays text and is refused. */
function readInteger(value: unknown): unknown {
  return typeof value === 'string' && /^(0|[1-9]\d{0,15})$/.test(value) ? Number(value) : value
}
