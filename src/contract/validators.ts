import { Ajv, type ValidateFunction } from 'ajv'
import openapi from '../../generated/openapi.json' with { type: 'json' }
import { quickenLengths } from './lengths.ts'

/** Ranges say what is valid; these say how a generated client holds it. */
const formats = { int32: true, int64: true } as const

/** No coercion: "5" in a body is not 5. `verbose` adds its schema to each fault, so the text can name the range. */
export const ajv = new Ajv({
  strict: false,
  verbose: true,
  useDefaults: true,
  coerceTypes: false,
  allErrors: false,
  formats,
})

quickenLengths(ajv)
ajv.addSchema(openapi, 'openapi.json')

/** A validator for one of the contract's schemas. */
export function compileSchema<T>(name: keyof typeof openapi.components.schemas): ValidateFunction<T> {
  return ajv.compile<T>({ $ref: `openapi.json#/components/schemas/${name}` })
}
