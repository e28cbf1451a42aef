import { Ajv, type ValidateFunction } from 'ajv'
import openapi from '../../generated/openapi.json' with { type: 'json' }

/** No coercion: a body's "5" is no 5. `verbose` gives each fault its schema, from which the answer names the range. */
export const ajv = new Ajv({ strict: false, verbose: true, useDefaults: true, coerceTypes: false, allErrors: false })

ajv.addSchema(openapi, 'openapi.json')

/** A validator for one of the contract's schemas. */
export function compileSchema<T>(name: keyof typeof openapi.components.schemas): ValidateFunction<T> {
  return ajv.compile<T>({ $ref: `openapi.json#/components/schemas/${name}` })
}
