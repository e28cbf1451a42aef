import { type Context, type Location, placed, type Schema, typesOf } from './visit.ts'

const name = /(^|[_-])(at|time|timestamp|stamp|since|until|after|before|sync|date|expires|age)([_-]|$)/i
const words = /\b(when|time|stamp|date)\b/i
const unit = /\b(ms|milliseconds|seconds)\b/i

/** Milliseconds and seconds look alike until somebody's bookmarks are from 1970. */
export function timeUnit() {
  const check = (field: string, schema: Schema, location: Location, context: Context, said = '') => {
    const resolved = placed(schema, location, context).schema
    const description = `${said} ${resolved.description ?? ''}`
    const isTime = typesOf(resolved).includes('integer') && (name.test(field) || words.test(description))
    if (isTime && !unit.test(description))
      context.report({ message: `\`${field}\` does not say its unit (ms or seconds).`, location: location.key() })
  }
  const fields = (schemas: Record<string, Schema>, context: Context) => {
    for (const [field, schema] of Object.entries(schemas))
      check(field, schema, context.location.child([field]), context)
  }
  return {
    SchemaProperties: fields,
    NamedSchemas: fields,
    Parameter(parameter: { name: string; description?: string; schema?: Schema }, context: Context) {
      check(parameter.name, parameter.schema ?? {}, context.location, context, parameter.description)
    },
    Header(header: { description?: string; schema?: Schema }, context: Context) {
      check(
        context.location.pointer.split('/').at(-1) ?? '',
        header.schema ?? {},
        context.location,
        context,
        header.description,
      )
    },
  }
}
