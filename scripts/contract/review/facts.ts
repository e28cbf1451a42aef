import { type Contract, methods, nameOf, type Operation } from '../openapi.ts'
import { errorTextsOf } from './error-texts.ts'
import { byUniqueName, escaped, fieldsIn, isObject, type Json, listOf, type Spot } from './nodes.ts'
import { component, type Keywords, schemasOf } from './schema.ts'

/**
 * A contract as facts: its statements about each operation, type and limit, in a normal form. Documents with the same
 * meaning usually have the same facts. References are followed, except to schemas that generators make a type of.
 */
export type Facts = Map<string, Fact>

export interface Fact extends Spot {
  /** A scalar or a list; undefined if the fact contains other facts. */
  value: unknown
}

export const keyOf = (steps: string[]) => steps.join('\n')

/** For each kind of object, the kinds of its fields. `*` stands for all other fields. */
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
  scheme: { 'x-cookie': 'cookie', flows: 'flows' },
  flows: { '*': 'flow' },
  flow: { scopes: 'scopes' },
  servers: { '*': 'server' },
  server: { variables: 'variables', security: 'security' },
  variables: { '*': 'variable' },
  operation: { servers: 'servers', 'x-recent-sign-in': 'recentSignIn', 'x-login-failures': 'failures' },
  workflows: { '*': 'workflow' },
  workflow: { inputs: 'schema', steps: 'steps', outputs: 'outputs' },
}
/** Kinds of components whose names appear in generated code. */
const namedKinds = ['response', 'body', 'parameter']
const schemaHolders = ['items', 'additionalProperties', 'not', 'if', 'then', 'else', 'contains', 'propertyNames']

/** The values that missing fields have by default, for each kind of object. */
const defaults: Record<string, Json> = {
  parameter: { required: false, deprecated: false, allowEmptyValue: false, allowReserved: false },
  body: { required: false },
  response: { headers: {}, links: {} },
  media: { encoding: {}, examples: {} },
  operation: { deprecated: false, parameters: [], tags: [], callbacks: {}, 'x-body-limit': 1024 * 1024 },
  schema: {
    ...{ deprecated: false, readOnly: false, writeOnly: false, nullable: false, uniqueItems: false },
    ...{ minLength: 0, minItems: 0, minProperties: 0, required: [] },
  },
  document: {
    ...{ defaultContentType: 'application/json', jsonSchemaDialect: 'https://spec.openapis.org/oas/3.1/dialect/base' },
    ...{ servers: [{ url: '/' }], tags: [], webhooks: {} },
  },
}

/** `renamed` maps names of types to their names in the other contract. */
export function factsOf(contract: Contract, renamed: ReadonlyMap<string, string> = new Map()): Facts {
  const facts: Facts = new Map()
  const document = contract as unknown as Json
  const { followed, keywordsOf } = schemasOf(document, renamed)
  const { paths, components, channels, operations, security, info, ...rest } = document
  const { schemas, securitySchemes } = fieldsIn(components)
  const { version: _, ...about } = fieldsIn(info)

  walk('info', about, root('info', '#/info'))
  for (const [key, value] of Object.entries(rest))
    if (!isDefault('document', key, value)) walk(key, value, { ...root(key, `#/${escaped(key)}`), of: 'document' })
  for (const [path, item] of Object.entries(fieldsIn(paths))) ofPath(path, item)
  for (const [name, channel] of Object.entries(fieldsIn(channels))) {
    const { messages: _, ...own } = fieldsIn(channel)
    walk('channel', own, root(name, `#/channels/${escaped(name)}`))
  }
  for (const [name, operation] of Object.entries(fieldsIn(operations))) ofSocket(name, fieldsIn(operation))
  walk('credentials', fieldsIn(securitySchemes), { ...root('credentials', '#/components/securitySchemes'), place: [] })
  for (const [name, schema] of Object.entries(fieldsIn(schemas))) {
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
    const { $ref } = fieldsIn(raw)
    if ($ref && namedKinds.includes(of)) put({ steps: [...steps, component], of, at, place }, nameOf($ref))
  }

  function walk(kind: string, raw: unknown, where: Spot): void {
    if (kind === 'schema') {
      ofSchema(raw, where)
      return
    }
    if (kind === 'security') {
      put(where, alternatives(listOf(raw).map((one) => ({ [nameOf(fieldsIn(one).$ref)]: [] }))))
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
    const item = fieldsIn(value)
    for (const method of methods.filter((name) => isObject(item[name]))) {
      const { parameters, security: wanted, responses, requestBody, ...fields } = fieldsIn(item[method])
      if (item.servers) fields.servers ??= item.servers
      const name = method.toUpperCase()
      // Renaming a path parameter does not change the path for clients, so the path is compared without names.
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
      // Generators put the path's parameters after the operation's own, which override them.
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
        order.set('the body', fieldsIn(followed(requestBody, own).value).required)
      }
      // Generated functions take required arguments first.
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
      const parameter = fieldsIn(value)
      const place = spot.place === owner.place ? [...owner.place, 'parameters', String(parameter.name)] : spot.place
      return { raw: one, parameter, spot: { ...spot, place } }
    })
  }

  function ofSocket(name: string, { channel, messages, security: wanted, ...fields }: Json): void {
    const own = { ...root(name, `#/operations/${escaped(name)}`), of: 'calls' }
    const target = String(fieldsIn(channel).$ref)
    walk('operation', fields, own)
    put(below(own, 'operation', 'channel'), nameOf(target))
    walk('security', wanted, below(own, 'operation', 'security'))
    const carried = fieldsIn(fieldsIn(followed(channel, own).value).messages)
    const listed = listOf(messages).map((one) => nameOf(fieldsIn(one).$ref))
    const all = messages ? listed : Object.keys(carried)
    walk('messages', Object.fromEntries(all.map((one) => [one, carried[one]])), below(own, 'operation', 'messages'))
  }

  function ofSchema(raw: unknown, where: Spot): void {
    const { keywords, spot } = keywordsOf(raw, where)
    put(spot)
    for (const [key, { value, at, also = [], place }] of keywords) {
      if (isDefault('schema', key, value)) continue
      const own = { steps: [...spot.steps, key], of: 'schema', at, also, place }
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
}

function root(name: string, at: string): Spot {
  return { steps: [name], of: 'document', at, place: [name] }
}

function below({ steps, at, place }: Spot, of: string, name: string): Spot {
  return { steps: [...steps, name], of, at: `${at}/${escaped(name)}`, place: [...place, name] }
}

/** The key of a parameter: `path` and its position there, or else `in` and its name, in lower case for headers. */
function keyOfParameter({ in: where, name }: Json, path: string): string {
  if (where !== 'path') return `${where} ${where === 'header' ? String(name).toLowerCase() : name}`
  return `path ${[...path.matchAll(/\{([^}]*)\}/g)].findIndex(([, one]) => one === name) + 1}`
}

/** Each sufficient combination of credentials as a text. Scopes count as additional credentials. */
function alternatives(security: unknown): string[] {
  const all = listOf(security).map((one) => {
    const schemes = Object.entries(fieldsIn(one))
    const scopes = schemes.flatMap(([name, scopes]) => listOf(scopes).map((scope) => `${scope} of ${name}`))
    return [...schemes.map(([name]) => name), ...scopes].sort().join(' and ') || 'no credentials'
  })
  return all.length > 0 ? all.sort() : ['no credentials']
}

const setLike = ['required', 'enum', 'type', 'x-enum-varnames']

/** True if the value is this field's default in some kind of object. */
export function isUsual(key: string, value: unknown): boolean {
  return Object.keys(defaults).some((kind) => isDefault(kind, key, value))
}

function isDefault(kind: string, key: string, value: unknown): boolean {
  const usual = defaults[kind]?.[key]
  return usual !== undefined && JSON.stringify(usual) === JSON.stringify(value)
}

/** True if `style` or `explode` has its default, which depends on where the parameter is (`in`) and on `style`. */
function isUsualStyle(parameter: Json, key: string, schema: unknown): boolean {
  const usual = ['query', 'cookie'].includes(String(parameter.in)) ? 'form' : 'simple'
  if (key === 'style') return parameter.style === usual
  const isOne = listOf(fieldsIn(schema).type ?? 'object').every((type) => type !== 'array' && type !== 'object')
  return key === 'explode' && (isOne || parameter.explode === ((parameter.style ?? usual) === 'form'))
}

/** A list of objects as an object, by the field that identifies each. */
function byName(all: unknown[]): Json {
  const key = ['name', 'url', 'workflowId', 'stepId', 'condition'].find((key) =>
    all.every((one) => key in fieldsIn(one)),
  )
  return Object.fromEntries(byUniqueName(all, (one, index) => String(key ? fieldsIn(one)[key] : index)))
}

/** A value to compare. Line breaks of the source become spaces, because they have no meaning. */
function leaf(value: unknown): unknown {
  if (typeof value === 'string') return value.trim().replaceAll(/\s+/g, ' ')
  return isObject(value) ? JSON.parse(JSON.stringify(value)) : value
}

function sorted(value: unknown): unknown[] {
  return [...new Set(listOf(value))].sort((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1))
}
