import { type Context, type Location, type MediaType, placed, type Schema, typesOf } from './visit.ts'

/** What a client may send is bounded, so that the service knows what it must hold. */
export function requestMaximum() {
  const seen = new Set<Schema>()
  const check = (schema: Schema, at: Location, context: Context): void => {
    const { schema: resolved, location } = placed(schema, at, context)
    if (seen.has(resolved)) return
    seen.add(resolved)
    for (const keyword of missing(resolved)) context.report({ message: `There is no \`${keyword}\`.`, location })
    for (const [steps, inner] of inside(resolved)) check(inner, location.child(steps), context)
  }
  const content = (media: Record<string, MediaType>, context: Context) => {
    for (const [type, { schema }] of Object.entries(media))
      if (schema) check(schema, context.location.child(['content', type, 'schema']), context)
  }
  const fields = (node: Record<string, unknown>, names: string[], context: Context) => {
    for (const name of names) if (node[name]) check(node[name] as Schema, context.location.child([name]), context)
  }
  return {
    Parameter: (node: Record<string, unknown>, context: Context) => fields(node, ['schema'], context),
    RequestBody: (node: { content?: Record<string, MediaType> }, context: Context) =>
      content(node.content ?? {}, context),
    WsChannelBinding: (node: Record<string, unknown>, context: Context) => fields(node, ['query', 'headers'], context),
    Operation(node: { action?: string; messages?: { payload?: Schema }[] }, context: Context) {
      if (node.action !== 'receive') return
      for (const reference of node.messages ?? []) {
        const { schema: message, location } = placed(reference as Schema, context.location, context)
        check(message.payload as Schema, location.child(['payload']), context)
      }
    },
  }
}

function missing(schema: Schema): string[] {
  const isListed = schema.enum !== undefined || schema.const !== undefined
  const types = typesOf(schema)
  return [
    ...(types.includes('string') && !isListed && schema.maxLength === undefined ? ['maxLength'] : []),
    ...(types.includes('array') && schema.maxItems === undefined ? ['maxItems'] : []),
  ]
}

function inside(schema: Schema): [string[], Schema][] {
  const lists = ['allOf', 'anyOf', 'oneOf', 'prefixItems'].flatMap((keyword) =>
    ((schema[keyword] ?? []) as Schema[]).map((inner, index): [string[], Schema] => [[keyword, String(index)], inner]),
  )
  const single = ['items', 'then', 'else', 'additionalProperties'].flatMap((keyword): [string[], Schema][] =>
    typeof schema[keyword] === 'object' ? [[[keyword], schema[keyword] as Schema]] : [],
  )
  const properties = Object.entries(schema.properties ?? {})
  return [...properties.map(([name, inner]): [string[], Schema] => [['properties', name], inner]), ...lists, ...single]
}
