import type { Referable, Schema } from '../openapi.ts'
import { type Context, type Location, placed, typesOf } from './placed.ts'

type Schemas = Record<string, Referable<Schema>>

/** Requires a description of schemas, fields, headers and others; Redocly, of operations, parameters and tags. */
function described() {
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
function timeUnit() {
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

/** The rules up to `freeNames` find contracts whose generated code does not compile, or has numbers for names. */

const component = /^#\/components\/schemas\/[^/]+$/
/** Generators make no class of these: a condition only restricts what is described elsewhere, and a header is text. */
const makesNoClass = /\/(if|then|else|not|headers)(\/|$)/

/** Generators make a class of each object and each enum, and name it after the schema. */
const namedSchemas = naming(
  ({ title }, pointer) => title !== undefined || component.test(pointer),
  'This schema has no name: make it a component, or give it a title.',
)

/** In AsyncAPI, schemas need a title: these rules do not see the names of components in another file. */
const titledSchemas = naming(({ title }) => title !== undefined, 'This schema has no title.')

function naming(isNamed: (schema: Schema, pointer: string) => boolean, message: string) {
  return () => ({
    Schema(schema: Schema, { report, location }: Context) {
      const isClass = typesOf(schema).includes('object') || schema.enum !== undefined
      const { pointer } = location
      if (isClass && !isNamed(schema, pointer) && !makesNoClass.test(pointer)) report({ message, location })
    },
  })
}

/** The API reference shows both cases of a condition. Without names, they would be "case 1" and "case 2". */
function namedCases() {
  return {
    Schema(
      schema: Schema & Partial<Record<'if' | 'else', { 'x-displayName'?: string }>>,
      { report, location }: Context,
    ) {
      for (const keyword of ['if', 'else'] as const)
        if (schema.if && !schema[keyword]?.['x-displayName'])
          report({ message: `\`${keyword}\` of a condition has no \`x-displayName\`.`, location })
    },
  }
}

/** Names of classes that every Kotlin client of openapi-generator has. */
const taken = ['ApiResponse', 'ClientError', 'Informational', 'Redirection', 'ServerError', 'Success']

function freeNames() {
  return {
    NamedSchemas(schemas: Record<string, Schema>, { report, location }: Context) {
      const constants = new Set<string>()
      const refuse = (name: string, why: string) =>
        report({ message: `\`${name}\` ${why}.`, location: location.child([name]).key() })
      for (const [name, schema] of Object.entries(schemas)) {
        if (taken.includes(name)) refuse(name, 'is a class of generated clients')
        const [, made = ''] = /^New(.+)/.exec(name) ?? []
        if (made in schemas) refuse(name, `is the function that makes a \`${made}\` in Go`)
        const own = constantsOf(schema)
        for (const constant of own.filter((one) => constants.has(one)))
          refuse(name, `has the constant ${constant} of another type, which Go has once: name it by x-enum-varnames`)
        for (const constant of own) constants.add(constant)
      }
    },
  }
}

/** The constants that generators make of an enum's values. In Go, all enums share one namespace for them. */
function constantsOf(schema: Schema & { 'x-enum-varnames'?: string[] }): string[] {
  const values: unknown[] = schema.enum ?? []
  return schema['x-enum-varnames'] ?? values.map((value) => String(value).toUpperCase())
}

/** Patterns must mean the same in every language. */
function portablePatterns() {
  return {
    Schema({ pattern }: Schema, { report, location }: Context) {
      const fault = pattern === undefined ? undefined : dialectOf(pattern)
      if (fault) report({ message: `The pattern ${fault}.`, location: location.child(['pattern']) })
    },
  }
}

/** Returns why a pattern has another meaning in some language; undefined if no reason is known. */
function dialectOf(pattern: string): string | undefined {
  for (const flags of ['u', 'v']) {
    try {
      new RegExp(pattern, flags)
    } catch (error) {
      return `does not compile with the flag ${flags}: ${(error as Error).message}`
    }
  }
  const plain = pattern.replaceAll(/\\[^A-Za-z0-9]/g, '_')
  const [, sets] = /\[[^\]]*?(--|&&|~~|\|\||\[)/.exec(plain) ?? []
  if (sets) return `has \`${sets}\` in a class, which some languages take for an operation of sets`
  if (plain.includes('\\'))
    return 'has an escape that stands for other characters elsewhere: `\\d` is any digit in Python'
  return /\(\?(?!:)/.test(plain) ? 'looks around, which Go and Rust cannot' : undefined
}

/** Most languages have no type for just true or just false. */
function plainBooleans() {
  return {
    Schema(schema: Schema, { report, location }: Context) {
      if (typesOf(schema).includes('boolean') && (schema.enum !== undefined || schema.const !== undefined))
        report({ message: 'A boolean must have neither `enum` nor `const`.', location })
    },
  }
}

type Content = Record<string, { schema?: Referable<Schema> }>

/** Strings and lists that clients send must have a maximum length, so that the memory for them is bounded. */
function requestMaximum() {
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

/** The schemas inside a schema, with their paths. */
function inside(schema: Schema): [string[], Referable<Schema>][] {
  const keywords = schema as Record<string, unknown>
  const under = (keyword: string) =>
    Object.entries(keywords[keyword] ?? {}).map(([name, inner]): [string[], Schema] => [[keyword, name], inner])
  const single = ['items', 'then', 'else', 'additionalProperties'].flatMap((keyword): [string[], Schema][] =>
    typeof keywords[keyword] === 'object' ? [[[keyword], keywords[keyword] as Schema]] : [],
  )
  return [...['properties', 'allOf', 'anyOf', 'oneOf', 'prefixItems'].flatMap(under), ...single]
}

const widths = ['int32', 'int64']
const maxInt32 = 2 ** 31 - 1
/** Words in descriptions of Unix times and file sizes, which may exceed 32 bits. */
const isWide = /\b(ms|milliseconds|seconds|bytes)\b/i

/** Unless the schema says otherwise, some generated clients use 32 bits for integers, and fail to read larger ones. */
function integerWidth() {
  return {
    Schema(schema: Schema, { report, location }: Context) {
      if (!typesOf(schema).includes('integer')) return
      const { format = '', maximum = 0, description = '' } = schema
      if (!widths.includes(format)) report({ message: 'A whole number must have the format int32 or int64.', location })
      else if (format === 'int32' && (maximum > maxInt32 || isWide.test(description)))
        report({ message: 'This whole number may need int64.', location: location.child(['format']) })
    },
  }
}

export const schemaRules = {
  described,
  timeUnit,
  namedCases,
  namedSchemas,
  titledSchemas,
  freeNames,
  portablePatterns,
  plainBooleans,
  requestMaximum,
  integerWidth,
}
