import { type Contract, methods, nameOf, type Operation } from '../openapi.ts'
import { errorTextsOf } from './error-texts.ts'

/**
 * A contract as facts: what it says of each operation, type and limit, in the one form that all documents have which mean
 * the same. References are followed, except those to schemas of which generators make a type.
 */
export type Facts = Map<string, Fact>

export interface Fact extends Spot {
  /** A scalar or a list; undefined of what has facts within it. */
  value: unknown
}

interface Spot {
  /** From the operation, type or part of the document down to its own name. */
  steps: string[]
  /** What it is a field of. */
  of: string
  /** Where it is written: a JSON pointer in the bundled contract. */
  at: string
  /** The same for people: from the component in which it is written. */
  place: string[]
}

type Json = Record<string, unknown>
/** The keywords of a schema, each with its place. Those that hold schemas by name have a map of these. */
type Keywords = Map<string, { value: unknown; at: string; place: string[] }>

/** The name of the component in which something is written that is no type. */
export const component = '(component)'

export const keyOf = (steps: string[]) => steps.join('\n')

/** What the fields of each kind of object are; `*` is any other field. */
const grammar: Record<string, Record<string, string>> = {
  parameter: { schema: 'schema', content: 'content', examples: 'examples' },
  body: { content: 'content' },
  content: { '*': 'media' },
  media: { schema: 'schema', examples: 'examples' },
  responses: { '*': 'response' },
  response: { headers: 'headers', content: 'content' },
  headers: { '*': 'parameter' },
  examples: { '*': 'example' },
  messages: { '*': 'message' },
  message: { payload: 'schema', headers: 'schema' },
  channel: { bindings: 'bindings', 'x-close-codes': 'codes' },
  codes: { '*': 'code' },
  bindings: { ws: 'socket' },
  socket: { query: 'schema', headers: 'schema' },
  credentials: { '*': 'scheme' },
  scheme: { 'x-cookie': 'cookie' },
  servers: { '*': 'server' },
  server: { variables: 'variables', security: 'security' },
  variables: { '*': 'variable' },
  operation: { servers: 'servers', 'x-recent-sign-in': 'recentSignIn', 'x-login-failures': 'failures' },
  workflows: { '*': 'workflow' },
  workflow: { inputs: 'schema', steps: 'steps', outputs: 'outputs' },
}
/** After whose components generators name code. */
const namedKinds = ['response', 'body', 'parameter']
const schemaHolders = ['items', 'additionalProperties', 'not', 'if', 'then', 'else', 'contains', 'propertyNames']
const deepest = 40
const schemaMaps = ['properties', 'patternProperties', 'dependentSchemas', 'oneOf', 'anyOf']

/** What is so without being written. */
const defaults: Record<string, Json> = {
  parameter: { required: false, deprecated: false, allowEmptyValue: false, allowReserved: false },
  body: { required: false },
  operation: { deprecated: false, parameters: [], tags: [], 'x-body-limit': 1024 * 1024 },
  schema: {
    ...{ deprecated: false, readOnly: false, writeOnly: false, nullable: false, uniqueItems: false },
    ...{ minLength: 0, minItems: 0, minProperties: 0, required: [] },
  },
  document: { defaultContentType: 'application/json' },
}

/** `renamed` gives types the names that they have in the other contract. */
export function factsOf(contract: Contract, renamed: ReadonlyMap<string, string> = new Map()): Facts {
  const facts: Facts = new Map()
  const document = contract as unknown as Json
  const { paths, components, channels, operations, security, info, ...rest } = document
  const { schemas, securitySchemes } = fieldsOf(components)
  const { version: _, ...about } = fieldsOf(info)

  walk('info', about, root('info', '#/info'))
  for (const [key, value] of Object.entries(rest))
    if (!isDefault('document', key, value)) walk(key, value, { ...root(key, `#/${escaped(key)}`), of: 'document' })
  for (const [path, item] of Object.entries(fieldsOf(paths))) ofPath(path, item)
  for (const [name, channel] of Object.entries(fieldsOf(channels))) {
    const { messages: _, ...own } = fieldsOf(channel)
    walk('channel', own, root(name, `#/channels/${escaped(name)}`))
  }
  for (const [name, operation] of Object.entries(fieldsOf(operations))) ofSocket(name, fieldsOf(operation))
  walk('credentials', fieldsOf(securitySchemes), { ...root('credentials', '#/components/securitySchemes'), place: [] })
  for (const [name, schema] of Object.entries(fieldsOf(schemas))) {
    const shown = renamed.get(name) ?? name
    ofSchema(schema, {
      steps: ['types', shown],
      of: 'types',
      at: `#/components/schemas/${escaped(name)}`,
      place: [shown],
    })
  }
  return facts

  function put(spot: Spot, value?: unknown): void {
    facts.set(keyOf(spot.steps), { ...spot, value })
  }

  function putOrder({ steps, at, place }: Spot, of: string, names: string[]): void {
    put({ steps: [...steps, '(order)'], of, at, place }, names)
  }

  function putComponent(of: string, raw: unknown, { steps, at, place }: Spot): void {
    const { $ref } = fieldsOf(raw)
    if ($ref && namedKinds.includes(of)) put({ steps: [...steps, component], of, at, place }, nameOf($ref))
  }

  function walk(kind: string, raw: unknown, where: Spot): void {
    if (kind === 'schema') {
      ofSchema(raw, where)
      return
    }
    if (kind === 'security') {
      put(where, alternatives(listOf(raw).map((one) => ({ [nameOf(fieldsOf(one).$ref)]: [] }))))
      return
    }
    const { value, spot } = kind === 'any' ? { value: raw, spot: where } : followed(raw, where)
    const all = Array.isArray(value) && value.some(isObject) ? byName(value) : value
    put(where.of === 'headers' ? where : spot, isObject(all) ? undefined : leaf(all))
    if (!isObject(all)) return
    putComponent(kind, raw, spot)
    if (['content', 'servers', 'steps'].includes(kind)) putOrder(spot, kind, Object.keys(all))
    for (const [key, child] of Object.entries(all)) {
      if (
        isDefault(kind, key, child) ||
        (kind === 'parameter' && isUsualStyle(all, key, followed(all.schema, spot).value))
      )
        continue
      const name = kind === 'headers' ? key.toLowerCase() : key
      const next = grammar[kind]?.[key] ?? grammar[kind]?.['*'] ?? 'any'
      const index = Array.isArray(value) ? value.indexOf(child) : key
      walk(next, child, {
        ...below(spot, kind, name),
        place: [...spot.place, key],
        at: `${spot.at}/${escaped(String(index))}`,
      })
      if (kind === 'headers')
        put({ ...below(spot, kind, key), steps: [...spot.steps, name, 'name'], of: 'parameter' }, key)
    }
  }

  function ofPath(path: string, raw: unknown): void {
    const { value, spot } = followed(raw, root(path, `#/paths/${escaped(path)}`))
    const item = fieldsOf(value)
    for (const method of methods.filter((name) => isObject(item[name]))) {
      const { parameters, security: wanted, responses, requestBody, ...fields } = fieldsOf(item[method])
      if (item.servers) fields.servers ??= item.servers
      const name = method.toUpperCase()
      // A client does not see what a parameter of the path is called where the path is told apart.
      const steps = [`${name} ${path.replaceAll(/\{[^}]*\}/g, '{}')}`]
      const own = { steps, of: 'calls', at: `${spot.at}/${method}`, place: [`${name} ${path}`] }
      walk('operation', fields, own)
      put({ ...below(own, 'operation', 'path'), at: spot.at, place: [path] }, path)
      const granted = {
        ...below(own, 'operation', 'security'),
        ...(!wanted && { at: '#/security', place: ['security'] }),
      }
      put(granted, alternatives(wanted ?? security))
      const order = new Map<string, unknown>()
      put(below(own, 'operation', 'parameters'))
      // Generators put those of the path behind the operation's own, which replace them.
      for (const { raw, parameter, spot: at } of [
        ...parametersOf(parameters, own),
        ...parametersOf(item.parameters, spot),
      ]) {
        const key = keyOfParameter(parameter, path)
        if (order.has(key)) continue
        order.set(key, parameter.required)
        const steps = [...own.steps, 'parameters', key]
        const argument = { ...at, steps, of: 'parameters' }
        walk('parameter', parameter, argument)
        putComponent('parameter', raw, argument)
      }
      if (requestBody) {
        walk('body', requestBody, below(own, 'operation', 'requestBody'))
        order.set('the body', fieldsOf(followed(requestBody, own).value).required)
      }
      // The arguments of a generated function: first those that are required.
      const sorted = [...order].sort(([, one], [, other]) => Number(other === true) - Number(one === true))
      putOrder(
        below(own, 'operation', 'parameters'),
        'parameters',
        sorted.map(([name]) => name),
      )
      walk('responses', responses ?? {}, below(own, 'operation', 'responses'))
      for (const text of errorTextsOf(item[method] as Operation, contract))
        put({ ...own, steps: [...steps, 'errors', text], of: 'errors' })
    }
  }

  function parametersOf(all: unknown, owner: Spot) {
    return (Array.isArray(all) ? all : []).map((one, index) => {
      const { value, spot } = followed(one, { ...owner, at: `${owner.at}/parameters/${index}` })
      const parameter = fieldsOf(value)
      const place = spot.place === owner.place ? [...owner.place, 'parameters', String(parameter.name)] : spot.place
      return { raw: one, parameter, spot: { ...spot, place } }
    })
  }

  function ofSocket(name: string, { channel, messages, security: wanted, ...fields }: Json): void {
    const own = { ...root(name, `#/operations/${escaped(name)}`), of: 'calls' }
    const target = String(fieldsOf(channel).$ref)
    walk('operation', fields, own)
    put(below(own, 'operation', 'channel'), nameOf(target))
    walk('security', wanted, below(own, 'operation', 'security'))
    const carried = fieldsOf(fieldsOf(followed(channel, own).value).messages)
    const listed = listOf(messages).map((one) => nameOf(fieldsOf(one).$ref))
    const all = messages ? listed : Object.keys(carried)
    walk('messages', Object.fromEntries(all.map((one) => [one, carried[one]])), below(own, 'operation', 'messages'))
  }

  function ofSchema(raw: unknown, where: Spot): void {
    const { keywords, spot } = keywordsOf(raw, where)
    put(spot)
    for (const [key, { value, at, place }] of keywords) {
      if (isDefault('schema', key, value)) continue
      const own = { steps: [...spot.steps, key], of: 'schema', at, place }
      if (value instanceof Map) {
        put(own)
        putOrder(own, key, [...value.keys()])
        for (const [name, child] of value as Keywords)
          ofSchema(child.value, { steps: [...own.steps, name], of: key, at: child.at, place: child.place })
      } else if (schemaHolders.includes(key) && isObject(value)) ofSchema(value, own)
      else put(own, setLike.includes(key) ? sorted(value) : leaf(value))
      if (key === 'enum') putOrder(own, key, listOf(value).map(String))
    }
  }

  /** The keywords of a schema, with those that `allOf` and a reference to what is no type bring. */
  function keywordsOf(raw: unknown, where: Spot): { keywords: Keywords; spot: Spot } {
    const { $ref, allOf, ...own } = fieldsOf(raw)
    const parts = listOf(allOf)
    const isWrapper = parts.length === 1 && Object.keys(own).every((key) => key === 'description')
    const only = $ref ?? (isWrapper ? fieldsOf(parts[0]).$ref : undefined)
    const written: Keywords = new Map()
    for (const [key, value] of Object.entries(own)) written.set(key, { value: schemasIn(key, value), ...shownAt(key) })
    if (raw === false) written.set('not', { value: {}, ...shownAt('not') })
    if (only === undefined) {
      const merged: Keywords = new Map()
      parts.forEach((part, index) => {
        const { title, description, ...of } = fieldsOf(followed(part, where).value)
        const { spot } = followed(part, { ...where, at: `${where.at}/allOf/${index}` })
        merge(merged, keywordsOf({ ...of }, spot).keywords)
      })
      merge(merged, written)
      return { keywords: normal(merged), spot: where }
    }
    const target = followed({ $ref: only }, where)
    const name = nameOf(only)
    // A list of itself has no end.
    if (isType(target.value) || where.steps.length > deepest)
      return {
        keywords: new Map([['$ref', { value: renamed.get(name) ?? name, ...shownAt('$ref') }], ...written]),
        spot: where,
      }
    const found = keywordsOf(target.value, target.spot)
    merge(found.keywords, written)
    found.keywords.set(component, { value: renamed.get(name) ?? name, ...shownAt('$ref') })
    return { keywords: found.keywords, spot: { ...found.spot, steps: where.steps, of: where.of } }

    function shownAt(key: string) {
      return { at: `${where.at}/${escaped(key)}`, place: [...where.place, key] }
    }

    function schemasIn(key: string, value: unknown): unknown {
      if (!schemaMaps.includes(key)) return value
      const all = Array.isArray(value) ? alternativesByName(value) : fieldsOf(value)
      return new Map(
        Object.entries(all).map(([name, one], index) => {
          const step = Array.isArray(value) ? String(index) : escaped(name)
          return [name, { value: one, at: `${where.at}/${key}/${step}`, place: [...where.place, name] }]
        }),
      )
    }
  }

  function followed(raw: unknown, spot: Spot): { value: unknown; spot: Spot } {
    const { $ref, ...words } = fieldsOf(raw)
    if (typeof $ref !== 'string' || !$ref.startsWith('#/')) return { value: raw, spot }
    const steps = $ref
      .slice(2)
      .split('/')
      .map((one) => one.replaceAll('~1', '/').replaceAll('~0', '~'))
    const target = steps.reduce<unknown>((node, name) => fieldsOf(node)[name], document)
    if (target === undefined) throw new Error(`${$ref} is not in the contract`)
    const { value, spot: found } = followed(target, { ...spot, at: $ref, place: [steps.at(-1) ?? ''] })
    return { value: Object.keys(words).length > 0 ? { ...fieldsOf(value), ...words } : value, spot: found }
  }
}

function root(name: string, at: string): Spot {
  return { steps: [name], of: 'document', at, place: [name] }
}

function below({ steps, at, place }: Spot, of: string, name: string): Spot {
  return { steps: [...steps, name], of, at: `${at}/${escaped(name)}`, place: [...place, name] }
}

/** A parameter of the path by its position, of a header in any case. */
function keyOfParameter({ in: where, name }: Json, path: string): string {
  if (where !== 'path') return `${where} ${where === 'header' ? String(name).toLowerCase() : name}`
  return `path ${[...path.matchAll(/\{([^}]*)\}/g)].findIndex(([, one]) => one === name) + 1}`
}

/** The sufficient credentials, each alternative in one text. */
function alternatives(security: unknown): string[] {
  const all = listOf(security).map((one) => Object.keys(fieldsOf(one)).sort().join(' and ') || 'no credentials')
  return all.length > 0 ? all.sort() : ['no credentials']
}

/** True if generators make a type of its own of it. */
function isType(schema: unknown): boolean {
  return ['properties', 'enum', 'const', 'oneOf', 'anyOf', 'allOf'].some((key) => key in fieldsOf(schema))
}

function alternativesByName(all: unknown[]): Json {
  return Object.fromEntries(
    all.map((one, index) => {
      const { $ref, title, type, const: only } = fieldsOf(one)
      return [$ref ? nameOf($ref) : String(title ?? only ?? type ?? index), one]
    }),
  )
}

function merge(into: Keywords, from: Keywords): void {
  for (const [key, field] of from) {
    const known = into.get(key)
    if (known?.value instanceof Map && field.value instanceof Map)
      for (const [name, one] of field.value) known.value.set(name, one)
    else if (key === 'required' && known) known.value = [...listOf(known.value), ...listOf(field.value)]
    else into.set(key, field)
  }
}

const setLike = ['required', 'enum', 'type', 'x-enum-varnames']

/** One way to write what can be written in several. */
function normal(keywords: Keywords): Keywords {
  const {
    const: only,
    type,
    exclusiveMinimum,
    exclusiveMaximum,
    nullable,
  } = Object.fromEntries([...keywords].map(([key, { value }]) => [key, value]))
  const constant = keywords.get('const')
  if (constant) keywords.set('enum', { ...constant, value: [only] }).set('const', { ...constant, value: true })
  const rest = keywords.get('additionalProperties')
  if (rest && isObject(rest.value) && Object.keys(rest.value).length === 0) rest.value = true
  const types = new Set(listOf(type ?? []))
  if (type === undefined && keywords.has('enum'))
    for (const one of listOf(keywords.get('enum')?.value)) types.add(typeOfValue(one))
  if (nullable === true) types.add('null')
  const where = keywords.get('type') ?? keywords.get('enum') ?? keywords.get('nullable')
  if (where && types.size > 0) keywords.set('type', { ...where, value: [...types] })
  const isWhole = types.has('integer') && !types.has('number')
  rename('exclusiveMinimum', 'minimum', Number(exclusiveMinimum) + 1, isWhole && typeof exclusiveMinimum === 'number')
  rename('exclusiveMaximum', 'maximum', Number(exclusiveMaximum) - 1, isWhole && typeof exclusiveMaximum === 'number')
  keywords.delete('nullable')
  const constants = keywords.get('x-enum-varnames')
  const values = listOf(keywords.get('enum')?.value)
  if (constants) constants.value = listOf(constants.value).map((name, index) => `${values[index]}: ${name}`)
  return keywords

  function rename(from: string, to: string, value: unknown, applies: boolean): void {
    const field = keywords.get(from)
    if (!applies || !field) return
    keywords.delete(from)
    keywords.set(to, { ...field, value })
  }
}

function typeOfValue(value: unknown): string {
  if (value === null) return 'null'
  return Number.isInteger(value) ? 'integer' : typeof value
}

function isDefault(kind: string, key: string, value: unknown): boolean {
  const usual = defaults[kind]?.[key]
  return usual !== undefined && JSON.stringify(usual) === JSON.stringify(value)
}

/** Without a style, one follows from the place of the parameter, and `explode` from the style. */
function isUsualStyle(parameter: Json, key: string, schema: unknown): boolean {
  const usual = ['query', 'cookie'].includes(String(parameter.in)) ? 'form' : 'simple'
  if (key === 'style') return parameter.style === usual
  const isOne = listOf(fieldsOf(schema).type ?? 'object').every((type) => type !== 'array' && type !== 'object')
  return key === 'explode' && (isOne || parameter.explode === ((parameter.style ?? usual) === 'form'))
}

/** A list of objects by what they are told apart by. */
function byName(all: unknown[]): Json {
  const key = ['name', 'url', 'workflowId', 'stepId', 'condition'].find((key) =>
    all.every((one) => key in fieldsOf(one)),
  )
  return Object.fromEntries(all.map((one, index) => [key ? String(fieldsOf(one)[key]) : String(index), one]))
}

/** Lines are broken as the source happens to break them. */
function leaf(value: unknown): unknown {
  if (typeof value === 'string') return value.trim().replaceAll(/\s+/g, ' ')
  return isObject(value) ? JSON.parse(JSON.stringify(value)) : value
}

function sorted(value: unknown): unknown[] {
  return [...new Set(listOf(value))].sort((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1))
}

export function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : value === undefined ? [] : [value]
}

function fieldsOf(value: unknown): Json {
  return isObject(value) ? value : {}
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function escaped(step: string): string {
  return step.replaceAll('~', '~0').replaceAll('/', '~1')
}
