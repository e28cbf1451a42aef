import type { OpenAPIV3_1 } from 'openapi-types'

/** A contract in one document. For asyncapi.yaml, only `info` and `components.schemas` have these types. */
export type Contract = OpenAPIV3_1.Document<Extensions> & { 'x-limits'?: Record<string, number> }

/** The fields of this project's operations that OpenAPI does not have or does not require. */
interface Extensions {
  operationId: string
  /** The name of the error for a malformed body. */
  'x-invalid'?: string
  /** The name of the error for a malformed id in the path: nothing has such an id, so it is not found. */
  'x-not-found'?: string
  /** Tells if the operation requires a recent sign-in, and why. `redocly lint` demands it of operations that write. */
  'x-recent-sign-in'?: { required: RecentSignIn; because: string }
  /** How many requests a call counts as for the rate limit. `redocly lint` demands this field. */
  'x-cost'?: Cost
  /** The messages with which a sign-in can fail, by name. */
  'x-login-failures'?: Record<string, string>
}

/**
 * A call counts as `request` requests, plus one for each full `every` of the body's field `per`, which is a list or a
 * number, plus `more` if the body lacks the field `unless`.
 */
export interface Cost {
  request: number
  per?: string
  every?: number
  unless?: string
  more?: number
}

/** `sometimes`: on a condition, described by `because` and implemented in the service. */
export const recentSignIns = ['never', 'sometimes', 'always'] as const
type RecentSignIn = (typeof recentSignIns)[number]

export type Operation = OpenAPIV3_1.OperationObject<Extensions>
export type Parameter = OpenAPIV3_1.ParameterObject
export type Response = OpenAPIV3_1.ResponseObject
export type RequestBody = OpenAPIV3_1.RequestBodyObject
/** The examples in `components` are the contract's errors. */
export type Example = OpenAPIV3_1.ExampleObject & { 'x-status'?: number }
export type Schema = OpenAPIV3_1.SchemaObject
export type Referable<T extends object> = T | OpenAPIV3_1.ReferenceObject

/** An operation with its path and method; the parameters include those of the path. */
export type Located = Operation & { path: string; method: Method }

type Method = (typeof methods)[number]
export const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'] as const

export function operationsOf({ paths = {} }: Contract): Located[] {
  return Object.entries(paths).flatMap(([path, item = {}]) =>
    methods.flatMap((method) => {
      const operation = item[method]
      return operation
        ? [{ ...operation, path, method, parameters: [...(item.parameters ?? []), ...(operation.parameters ?? [])] }]
        : []
    }),
  )
}

export function resolve<T extends object>(contract: Contract, value: Referable<T>): T {
  if (!isReference(value)) return value
  const steps = value.$ref
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
  const found = steps.reduce((node: unknown, step) => (node as Record<string, unknown> | undefined)?.[step], contract)
  if (found === undefined) throw new Error(`${value.$ref} is not in the contract`)
  return resolve(contract, found as Referable<T>)
}

/** The name at the end of a `$ref`. */
export function nameOf(reference: unknown): string {
  return String(reference).split('/').at(-1) ?? ''
}

function isReference(value: object): value is OpenAPIV3_1.ReferenceObject {
  return '$ref' in value
}
