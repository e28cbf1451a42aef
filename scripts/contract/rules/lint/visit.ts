import type { Referable, Schema } from '../../openapi.ts'

/** What Redocly hands a lint rule, as far as the rules here use it. */
export interface Context {
  report(problem: { message: string; location?: Location }): void
  /** Follows a `$ref`; `from` is the file that it stands in. */
  resolve<T extends object>(node: Referable<T>, from?: string): { node?: T; location?: Location }
  location: Location
}

export interface Location {
  pointer: string
  source: { absoluteRef: string }
  child(steps: (string | number)[]): Location
  key(): Location
}

/** A schema and where it stands, `$ref` followed. */
export interface Placed {
  schema: Schema
  location: Location
}

export function placed(schema: Referable<Schema>, location: Location, { resolve }: Context): Placed {
  if (!('$ref' in schema)) return { schema, location }
  const target = resolve<Schema>(schema, location.source.absoluteRef)
  return { schema: target.node ?? {}, location: target.location ?? location }
}

export function typesOf({ type }: Schema): string[] {
  return Array.isArray(type) ? type : type === undefined ? [] : [type]
}
