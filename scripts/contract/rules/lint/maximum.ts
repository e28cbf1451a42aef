import type { Referable, Schema } from '../../openapi.ts'
import { type Context, type Location, placed, typesOf } from './visit.ts'

type Content = Record<string, { schema?: Referable<Schema> }>

/** Everything that a client may send must have a maximum, so that the service knows how much it must be able to hold. */
export function requestMaximum() {
  const seen = new Set<Schema>()
  const check = (schema: Referable<Schema>, at: Location, context: Context): void => {
    const { schema: resolved, location } = placed(schema, at, context)
    if (seen.has(resolved)) return
    seen.add(resolved)
    for (const keyword of missing(resolved)) context.report({ message: `There is no \`${keyword}\`.`, location })
    for (const [steps, inner] of inside(resolved)) check(inner, location.child(steps), context)
  }
  const fields =
    (...names: string[]) =>
    (node: Record<string, unknown>, context: Context) => {
      for (const name of names)
        if (node[name]) check(node[name] as Referable<Schema>, context.location.child([name]), context)
    }
  return {
    Parameter: fields('schema'),
    WsChannelBinding: fields('query', 'headers'),
    RequestBody({ content = {} }: { content?: Content }, context: Context) {
      for (const [type, { schema }] of Object.entries(content))
        if (schema) check(schema, context.location.child(['content', type, 'schema']), context)
    },
    Operation({ action, messages = [] }: { action?: string; messages?: Referable<Message>[] }, context: Context) {
      if (action !== 'receive') return
      for (const message of messages) {
        const { node, location = context.location } = context.resolve(message, context.location.source.absoluteRef)
        check(node?.payload ?? {}, location.child(['payload']), context)
      }
    },
  }
}

interface Message {
  payload: Referable<Schema>
}

function missing(schema: Schema): string[] {
  const isListed = schema.enum !== undefined || schema.const !== undefined
  const types = typesOf(schema)
  return [
    ...(types.includes('string') && !isListed && schema.maxLength === undefined ? ['maxLength'] : []),
    ...(types.includes('array') && schema.maxItems === undefined ? ['maxItems'] : []),
  ]
}

/** The schemas within a schema, each with the path to it. */
function inside(schema: Schema): [string[], Referable<Schema>][] {
  const keywords = schema as Record<string, unknown>
  const under = (keyword: string) =>
    Object.entries(keywords[keyword] ?? {}).map(([name, inner]): [string[], Schema] => [[keyword, name], inner])
  const single = ['items', 'then', 'else', 'additionalProperties'].flatMap((keyword): [string[], Schema][] =>
    typeof keywords[keyword] === 'object' ? [[[keyword], keywords[keyword] as Schema]] : [],
  )
  return [...['properties', 'allOf', 'anyOf', 'oneOf', 'prefixItems'].flatMap(under), ...single]
}
