import type { FastifySchemaCompiler } from 'fastify'
import { describeFault } from '../contract/faults.ts'
import { ajv } from '../contract/validators.ts'

/** A part of the request violates the contract; `validationContext` (set by Fastify) says which part. */
export class InvalidRequest extends Error {
  override name = 'InvalidRequest'
  readonly statusCode = 400
}

interface ParameterSchema {
  properties?: Record<string, { type?: string }>
}

type Values = Record<string, unknown>

/** Bodies are validated as they are. Parameters arrive as text, so integers among them are parsed first. */
export const validatorCompiler: FastifySchemaCompiler<ParameterSchema> = ({ schema, httpPart }) => {
  const validate = ajv.compile(schema)
  const integers = Object.entries(schema.properties ?? {}).filter(([, { type }]) => type === 'integer')
  return (data: Values) => {
    if (httpPart !== 'body') for (const [name] of integers) data[name] = readInteger(data[name])
    return validate(data) ? true : { error: new InvalidRequest(describeFault(validate.errors)) }
  }
}

/** Parses plain decimals only: what Ajv would coerce (`1e2`, ` 5`) stays text and is refused. */
function readInteger(value: unknown): unknown {
  return typeof value === 'string' && /^(0|[1-9]\d{0,15})$/.test(value) ? Number(value) : value
}
