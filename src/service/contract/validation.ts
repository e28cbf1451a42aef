import { _, Ajv, type CodeKeywordDefinition, type ErrorObject, type ValidateFunction } from 'ajv'
import type { FastifySchemaCompiler } from 'fastify'
import asyncapi from '../../../generated/asyncapi.json' with { type: 'json' }
import { MalformedRequest } from '../../../generated/errors.ts'
import openapi from '../../../generated/openapi.json' with { type: 'json' }

/** The request violates the contract. `validationContext` (set by Fastify) says which part of it. */
export class InvalidRequest extends Error {
  override name = 'InvalidRequest'
  readonly statusCode = 400
}

export class InvalidBody extends InvalidRequest {
  readonly validationContext = 'body'
}

/** Describes the first fault of a value at `path` in its document; undefined if it has none. */
export type FindFault = (value: unknown, path?: string) => string | undefined

interface PartSchema {
  properties?: Record<string, Property>
}

interface Property {
  type?: string
  items?: Items
  /** The fields to validate here. The handler checks the other fields and reports their faults per element. */
  'x-strict-fields'?: string[]
}

interface Items {
  type?: string
  properties?: Record<string, object>
}

type Values = Record<string, unknown>

/** Bodies are validated without coercion. Parameters arrive as text, so integers among them are parsed first. */
export const validatorCompiler: FastifySchemaCompiler<PartSchema> = ({ schema, httpPart }) => {
  const findFault = faultFinder(httpPart === 'body' ? withStrictFields(schema) : schema)
  const integers = Object.entries(schema.properties ?? {}).filter(([, { type }]) => type === 'integer')
  return (data: Values) => {
    if (httpPart !== 'body') for (const [name] of integers) data[name] = readInteger(data[name])
    const fault = findFault(data)
    return fault === undefined ? true : { error: new InvalidRequest(fault) }
  }
}

/** Validates only the strict fields of array elements. The operation itself reports other faults, for each element. */
function withStrictFields(schema: PartSchema): PartSchema {
  const properties = Object.entries(schema.properties ?? {}).map(([name, property]) => {
    const { items, 'x-strict-fields': fields } = property
    return [name, items && fields ? { ...property, items: withOnly(fields, items) } : property]
  })
  return { ...schema, ...(schema.properties && { properties: Object.fromEntries(properties) }) }
}

function withOnly(fields: string[], { type, properties = {} }: Items): object {
  const strict = fields.map((field) => [field, properties[field]])
  return { type, required: fields, properties: Object.fromEntries(strict) }
}

/** Parses plain decimals only. Other forms that Ajv would coerce (`1e2`, ` 5`) stay text and are refused. */
function readInteger(value: unknown): unknown {
  return typeof value === 'string' && /^(0|[1-9]\d{0,15})$/.test(value) ? Number(value) : value
}

/** Does not coerce: "5" in a body is not 5. `verbose` adds the schema to each fault, so the text can name the range. */
const ajv = new Ajv({
  strict: false,
  verbose: true,
  useDefaults: true,
  coerceTypes: false,
  allErrors: false,
  // These formats tell clients how to store numbers. The schemas' ranges validate them.
  formats: { int32: true, int64: true },
  // `npm run check` validates the schemas.
  validateSchema: false,
})

for (const keyword of ['minLength', 'maxLength'] as const)
  ajv.removeKeyword(keyword).addKeyword({ keyword, type: 'string', schemaType: 'number', code: checkLength(keyword) })
ajv.addSchema(openapi, 'openapi.json').addSchema(asyncapi, 'asyncapi.json')

/**
 * Counts characters only if necessary, because that takes longer than the rest of validating a push. A text of n UTF-16
 * code units has between n/2 and n characters.
 */
function checkLength(keyword: 'minLength' | 'maxLength'): CodeKeywordDefinition['code'] {
  return (cxt) => {
    const { gen, data, schema: bound } = cxt as typeof cxt & { schema: number }
    const count = gen.scopeValue('func', { ref: charactersOf })
    cxt.fail(
      keyword === 'maxLength'
        ? _`${data}.length > ${bound} && (${data}.length > ${2 * bound} || ${count}(${data}) > ${bound})`
        : _`${data}.length < ${2 * bound} && (${data}.length < ${bound} || ${count}(${data}) < ${bound})`,
    )
  }
}

/** A lone surrogate counts as one character. */
function charactersOf(text: string): number {
  return [...text].length
}

/** Checks values against one of the contract's schemas. */
export function faultFinderOf(
  name: keyof (typeof openapi.components & typeof asyncapi.components)['schemas'],
  document: 'openapi' | 'asyncapi' = 'openapi',
): FindFault {
  return faultFinder({ $ref: `${document}.json#/components/schemas/${name}` })
}

/** Compiles a schema at its first use. Compiling all takes longer than the rest of a start. */
function faultFinder(schema: object): FindFault {
  let validate: ValidateFunction | undefined
  return (value, path = '') => {
    validate ??= ajv.compile(schema)
    return validate(value) ? undefined : describeFault(validate.errors?.[0], path)
  }
}

interface Shape {
  type?: string
  enum?: unknown[]
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  minItems?: number
  maxItems?: number
  pattern?: string
}

/** Names the faulty part and what it should be, such as `limit must be an integer from 1 to 1000`. */
function describeFault(error: ErrorObject | undefined, path: string): string {
  if (!error) return MalformedRequest[1]
  const { keyword, instancePath, params, data, parentSchema = {} } = error
  const names = `${path}${instancePath}`.split('/').slice(1)
  if (keyword === 'required') return `${[...names, params.missingProperty].join('.')} is required`
  const name = names.join('.')
  if (keyword === 'pattern' && ['.', '..'].includes(String(data))) return `${name} must be neither . nor ..`
  return `${name || 'body'} must be ${describe(parentSchema as Shape)}`
}

function describe({
  type,
  minimum,
  maximum,
  minLength = 0,
  maxLength,
  minItems,
  maxItems,
  pattern,
  enum: values,
}: Shape) {
  if (values) return `one of: ${values.join(', ')}`
  if (type === 'integer') return `an integer from ${minimum} to ${maximum}`
  const [, fewest, most] = /^\^\[0-9\]\{(\d+),(\d+)\}\$$/.exec(pattern ?? '') ?? []
  if (fewest !== undefined) return `a string of ${fewest} to ${most} digits`
  const [, listed] = /^\^\(([a-z|]+)\)\(,/.exec(pattern ?? '') ?? []
  if (listed !== undefined) return `one or more of: ${listed.replaceAll('|', ', ')}, separated by commas`
  if (type === 'string')
    return `a string of ${minLength} to ${maxLength}${pattern?.includes('[ -~]') ? ' printable ASCII' : ''} characters`
  if (type === 'array')
    return `an array of ${minItems === undefined ? 'at most' : `${minItems} to`} ${maxItems} elements`
  return `of type ${type}`
}
