import type { Referable, Schema } from '../openapi.ts'

/** The part of Redocly's context that these rules use. */
export interface Context {
  report(problem: { message: string; location?: Location }): void
  /** Follows a `$ref`; `from` is the file that contains it. */
  resolve<T extends object>(node: Referable<T>, from?: string): { node?: T; location?: Location }
  location: Location
}

export interface Location {
  pointer: string
  source: { absoluteRef: string }
  child(steps: (string | number)[]): Location
  key(): Location
}

/** A schema and its location, after following a `$ref`. */
interface Placed {
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
