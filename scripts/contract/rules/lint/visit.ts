/** What Redocly hands a lint rule, as far as the rules here use it. */
export interface Context {
  report(problem: { message: string; location?: Location }): void
  /** Follows a `$ref`; `from` is the file that it stands in. */
  resolve<T>(node: T | Ref, from?: string): { node?: T; location?: Location }
  location: Location
}

export interface Location {
  pointer: string
  source: { absoluteRef: string }
  child(steps: (string | number)[]): Location
  key(): Location
}

export interface Ref {
  $ref: string
}

export interface Schema {
  $ref?: string
  type?: string | string[]
  description?: string
  format?: string
  enum?: unknown[]
  const?: unknown
  examples?: unknown[]
  required?: string[]
  maxLength?: number
  maxItems?: number
  properties?: Record<string, Schema>
  items?: Schema
  [keyword: string]: unknown
}

export interface MediaType {
  schema?: Schema
  examples?: Record<string, { value?: { error?: unknown } }>
}

export interface Response {
  content?: Record<string, MediaType>
}

export interface Operation {
  operationId?: string
  security?: Record<string, unknown>[]
  responses?: Record<string, Response>
  'x-invalid'?: string
  'x-not-found'?: string
}

/** A schema and where it stands, `$ref` followed. */
export interface Placed {
  schema: Schema
  location: Location
}

export function placed(schema: Schema, location: Location, { resolve }: Context): Placed {
  if (schema.$ref === undefined) return { schema, location }
  const target = resolve<Schema>(schema as Ref, location.source.absoluteRef)
  return { schema: target.node ?? {}, location: target.location ?? location }
}

export function typesOf({ type }: Schema): string[] {
  return Array.isArray(type) ? type : type === undefined ? [] : [type]
}

/** `if` and `not` say which, not what; so do the restatements in `then` and `else`. */
export function isCondition({ pointer }: Location): boolean {
  return /\/(if|then|else|not)(\/|$)/.test(pointer)
}
