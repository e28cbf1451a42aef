import asyncapi from '../../../generated/asyncapi.json' with { type: 'json' }
import { htmlOf } from './markdown.ts'

/** A field of a message, with a path for those inside others: `event.id`. */
export interface Field {
  name: string
  type: string
  /** When it must be there; empty if it need not. */
  required: string
  html: string
}

interface Schema {
  $ref?: string
  type?: string | string[]
  format?: string
  enum?: unknown[]
  description?: string
  items?: Schema
  properties?: Record<string, Schema>
  required?: string[]
  if?: { properties: { operation: { enum: string[] } } }
  then?: { required: string[] }
}

/** The fields of an object, those of its objects after each, and those of a list's elements as `list[].field`. */
export function fieldsOf(schema: Schema, prefix = ''): Field[] {
  const object = resolved(schema)
  const { properties = {} } = object
  return Object.entries(properties).flatMap(([name, property]) => {
    const field = resolved(property)
    const element = field.items && resolved(field.items)
    return [
      {
        name: prefix + name,
        type: typeOf(field),
        required: requirement(object, name),
        html: htmlOf(field.description ?? '', (to) => to).replace(/^<p>(.*)<\/p>\n$/s, '$1'),
      },
      ...fieldsOf(field, `${prefix}${name}.`),
      ...(element ? fieldsOf(element, `${prefix}${name}[].`) : []),
    ]
  })
}

/** A reference's own description goes before that of what it refers to. */
function resolved({ $ref, ...own }: Schema): Schema {
  const schemas: Record<string, unknown> = asyncapi.components.schemas
  return $ref ? { ...(schemas[$ref.split('/').at(-1) ?? ''] as Schema), ...own } : own
}

function requirement({ required = [], if: condition, then }: Schema, name: string): string {
  if (required.includes(name)) return 'required'
  if (!condition || !then?.required.includes(name)) return ''
  return `required to ${condition.properties.operation.enum.join(' or ')}`
}

function typeOf({ type, enum: values, items }: Schema): string {
  if (values) return values.map((value) => (value === null ? 'null' : `"${value}"`)).join(' or ')
  if (items) return `list of ${typeOf(resolved(items))}s`
  return [type ?? 'any'].flat().join(' or ')
}
