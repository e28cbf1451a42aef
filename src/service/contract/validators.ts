import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import openapi from '../../../generated/openapi.json' with { type: 'json' }
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
  // `npm run check` does that.
  validateSchema: false,
})

quickenLengths(ajv)
ajv.addSchema(openapi, 'openapi.json')

/** What is wrong with a value; undefined if nothing is. */
export type FindFaults = (value: unknown) => ErrorObject[] | undefined

/** For a schema. It is compiled when it is first used, because to compile them all takes longer than the rest of a start. */
export function faultFinder(schema: object): FindFaults {
  let validate: ValidateFunction | undefined
  return (value) => {
    validate ??= ajv.compile(schema)
    return validate(value) ? undefined : (validate.errors ?? [])
  }
}

/** For one of the contract's schemas. */
export function faultFinderOf(name: keyof typeof openapi.components.schemas): FindFaults {
  return faultFinder({ $ref: `openapi.json#/components/schemas/${name}` })
}
