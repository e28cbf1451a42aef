import { type Context, isCondition, placed, type Schema } from './visit.ts'

type Described = { description?: string }

/** Redocly asks operations, parameters and tags for a description; this asks the rest. */
export function described() {
  const each = (schemas: Record<string, Schema>, context: Context) => {
    if (isCondition(context.location)) return
    for (const [name, schema] of Object.entries(schemas)) {
      const location = context.location.child([name])
      if (!placed(schema, location, context).schema.description?.trim())
        context.report({ message: `\`${name}\` has no description.`, location: location.key() })
    }
  }
  const self = ({ description }: Described, { report, location }: Context) => {
    const name = location.pointer.split('/').at(-1)
    if (!description?.trim()) report({ message: `\`${name}\` has no description.`, location: location.key() })
  }
  return {
    SchemaProperties: each,
    NamedSchemas: each,
    Header: self,
    RequestBody: self,
    SecurityScheme: self,
    Channel: self,
  }
}
