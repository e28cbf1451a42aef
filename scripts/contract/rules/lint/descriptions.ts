import type { Referable, Schema } from '../../openapi.ts'
import { type Context, type Location, placed, typesOf } from './visit.ts'

type Schemas = Record<string, Referable<Schema>>

/** Redocly requires a description of operations, parameters and tags; this rule covers the rest. */
export function described() {
  const each = (schemas: Schemas, context: Context) => {
    if (isCondition(context.location)) return
    for (const [name, schema] of Object.entries(schemas)) {
      const location = context.location.child([name])
      if (!placed(schema, location, context).schema.description?.trim())
        context.report({ message: `\`${name}\` has no description.`, location: location.key() })
    }
  }
  const self = ({ description }: { description?: string }, { report, location }: Context) => {
    if (!description?.trim())
      report({ message: `\`${nameOf(location)}\` has no description.`, location: location.key() })
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

/** Schemas in `if`, `not`, `then` and `else` only restrict what is described elsewhere. */
function isCondition({ pointer }: Location): boolean {
  return /\/(if|then|else|not)(\/|$)/.test(pointer)
}

const timeName = /(^|[_-])(at|time|timestamp|stamp|since|until|after|before|sync|date|expires|age)([_-]|$)/i
const timeWords = /\b(when|time|stamp|date)\b/i
const unit = /\b(ms|milliseconds|seconds)\b/i

/** Milliseconds and seconds are easily confused, so the description of every time must state its unit. */
export function timeUnit() {
  const check = (field: string, schema: Referable<Schema>, location: Location, context: Context, said = '') => {
    const resolved = placed(schema, location, context).schema
    const description = `${said} ${resolved.description ?? ''}`
    const isTime = typesOf(resolved).includes('integer') && (timeName.test(field) || timeWords.test(description))
    if (isTime && !unit.test(description))
      context.report({ message: `\`${field}\` does not state its unit (ms or seconds).`, location: location.key() })
  }
  const fields = (schemas: Schemas, context: Context) => {
    for (const [field, schema] of Object.entries(schemas))
      check(field, schema, context.location.child([field]), context)
  }
  const self = (
    { name, schema = {}, description }: { name?: string; description?: string; schema?: Referable<Schema> },
    context: Context,
  ) => check(name ?? nameOf(context.location), schema, context.location, context, description)
  return { SchemaProperties: fields, NamedSchemas: fields, Parameter: self, Header: self }
}

function nameOf({ pointer }: Location): string {
  return pointer.split('/').at(-1) ?? ''
}
