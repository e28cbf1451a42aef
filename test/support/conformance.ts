import assert from 'node:assert/strict'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormatsModule from 'ajv-formats'
import type { Contract } from '../../scripts/contract/openapi.ts'
import { listedErrors, withTexts } from '../../scripts/contract/texts.ts'
import type { Schemas } from '../../src/service/contract/schemas.ts'
import type { Exchange, Message, Opened, Traffic } from './traffic.ts'

/** The contract's two documents, or changed copies of them. */
export interface Documents {
  openapi: object
  asyncapi: object
}

interface Operation {
  operationId: string
  'x-invalid'?: string
  requestBody?: { required?: boolean; content: Content }
  responses: Record<string, ResponseObject>
}

interface ResponseObject {
  $ref?: string
  headers?: Record<string, { $ref?: string; required?: boolean; schema?: object }>
  content?: Content
}

type Content = Record<string, { schema: object }>

const addFormats = addFormatsModule as unknown as typeof addFormatsModule.default

/** The schemas of asyncapi.yaml by message type. The server sends a `message`; a client sends what is `taken`. */
const schemasOfMessages: Record<Message['kind'], Record<string, string>> = {
  message: { connected: 'Connected', sync: 'Sync', ping: 'Ping', pong: 'Pong', error: 'Error' },
  taken: { sync: 'Change', ping: 'Ping', pong: 'Pong' },
}

/** Returns a function that throws an AssertionError if traffic does not match the documents. */
export function openContract(documents: Documents): (traffic: Traffic) => void {
  const { asyncapi } = documents
  const openapi = withTexts(documents.openapi as Contract)
  const listed = listedErrors(openapi)
  const errors = new Map(listed.map(({ code, text }) => [code, text]))
  const codes = new Map(listed.map(({ code, text }) => [text, code]))
  // The linter checks the schemas themselves; compiling the meta-schema would take longer than all else here.
  const options = { strict: false, meta: false, validateSchema: false }
  const ajv = new Ajv2020(options)
  addFormats(ajv)
  // Adds only the schemas, because Ajv would look for schemas in the rest of the documents, too.
  ajv.addSchema({ components: { schemas: withStrictFieldsOnly(schemasOf(openapi)) } }, 'openapi.json')
  ajv.addSchema({ components: { schemas: schemasOf(asyncapi) } }, 'asyncapi.json')
  // Headers are text, so numbers in them are parsed first.
  const headerAjv = new Ajv2020({ ...options, coerceTypes: true })
  addFormats(headerAjv)
  const validators = new Map<object, ValidateFunction>()
  const items = Object.values((openapi as unknown as { paths: Record<string, Record<string, Operation>> }).paths)
  const operations = new Map(items.flatMap((item) => Object.values(item).map((one) => [one.operationId, one])))

  function checkExchange(exchange: Exchange): void {
    const operation = operations.get(exchange.operationId)
    assert.ok(operation, `${exchange.operationId} is not in the contract`)
    const name = `${operation.operationId} ${exchange.status}`
    const response = deref(operation.responses[exchange.status])
    if (!response) assert.fail(`${name}: the status is not in the contract (body ${abbreviated(exchange.body)})`)
    checkSent(name, operation, exchange)
    checkHeaders(name, response, exchange.headers)
    checkBody(name, response, exchange)
  }

  /** An accepted body must be valid. An invalid one must be refused with the operation's own error text, if it has one. */
  function checkSent(name: string, operation: Operation, { status, sent, body }: Exchange): void {
    const schema = operation.requestBody?.content['application/json']?.schema
    if (!schema || sent === undefined || (sent === null && !operation.requestBody?.required)) return
    const validate = compiled(schema)
    if (status < 300) assert.ok(validate(sent), `${name}: ${ajv.errorsText(validate.errors)} was accepted`)
    if (body?.imported) {
      for (const one of imported(sent, body)) checkSchema('openapi.json#/components/schemas/ImportBookmark', one)
    }
    const sentence = errors.get(operation['x-invalid'] ?? '')
    if (status !== 400 || sentence === undefined) return
    if (!validate(sent)) assert.equal(body.error, sentence, `${name}: ${abbreviated(sent)}`)
  }

  function checkHeaders(name: string, response: ResponseObject, headers: Exchange['headers']): void {
    for (const cookies of ['Set-Cookie', 'Clear-Site-Data'])
      assert.ok(
        response.headers?.[cookies] || headers[cookies.toLowerCase()] === undefined,
        `${name}: ${cookies} is not in the contract`,
      )
    for (const [header, reference] of Object.entries(response.headers ?? {})) {
      const { required, schema } = deref(reference) as { required?: boolean; schema?: object }
      const value = headers[header.toLowerCase()]
      assert.ok(value !== undefined || !required, `${name}: the header ${header} is missing`)
      if (value === undefined || !schema) continue
      const validate = compiled(schema, () =>
        headerAjv.compile({ type: 'object', properties: { values: { type: 'array', items: schema } } }),
      )
      const values = [value].flat()
      assert.ok(validate({ values }), `${name}: the header ${header}: ${headerAjv.errorsText(validate.errors)}`)
    }
  }

  function checkBody(name: string, response: ResponseObject, { headers, body, length }: Exchange): void {
    assert.ok(response.content || length === 0, `${name}: a body that is not in the contract`)
    if (!response.content) return
    const type = String(headers['content-type'] ?? '').split(';')[0] ?? ''
    const content = response.content[type]
    assert.ok(content, `${name}: the content type ${type} is not in the contract`)
    if (type !== 'application/json') return
    if (typeof body?.error === 'string')
      assert.equal(headers['x-error-code'], codes.get(body.error) ?? 'BadRequest', `${name}: ${body.error}`)
    const validate = compiled(content.schema)
    if (!validate(body)) assert.fail(`${name}: ${ajv.errorsText(validate.errors)} in ${abbreviated(body)}`)
  }

  function checkMessage({ kind, message }: Message): void {
    const schema = schemasOfMessages[kind][message.type]
    assert.ok(schema, `the message type ${message.type} is not in the contract`)
    checkSchema(`asyncapi.json#/components/schemas/${schema}Message`, message)
  }

  function checkOpened({ schema, value }: Opened): void {
    checkSchema(`openapi.json#/components/schemas/${schema}`, value)
  }

  function checkSchema(ref: string, value: unknown): void {
    const validate = ajv.getSchema(ref)
    assert.ok(validate, `no schema ${ref}`)
    if (!validate(value)) assert.fail(`${ref}: ${ajv.errorsText(validate.errors)}: ${abbreviated(value)}`)
  }

  /** Compiles each schema once, with its references into the documents. */
  function compiled(schema: object, compile = () => ajv.compile(inDocument(schema))): ValidateFunction {
    const validate = validators.get(schema) ?? compile()
    validators.set(schema, validate)
    return validate
  }

  function deref<T extends { $ref?: string }>(object: T | undefined): T | undefined {
    if (!object?.$ref) return object
    const path = object.$ref.slice(2).split('/')
    return path.reduce<unknown>((node, key) => (node as Record<string, unknown>)[key], openapi) as T
  }

  return (traffic) => {
    if (traffic.kind === 'exchange') checkExchange(traffic)
    else if (traffic.kind === 'opened') checkOpened(traffic)
    else checkMessage(traffic)
  }
}

function schemasOf(document: object): Record<string, ObjectSchema> {
  return (document as { components: { schemas: Record<string, ObjectSchema> } }).components.schemas
}

/** A request fails as a whole only for the `x-strict-fields` of its elements, so only these decide if it is accepted. */
function withStrictFieldsOnly(documented: Record<string, ObjectSchema>): Record<string, ObjectSchema> {
  const schemas = structuredClone(documented)
  for (const array of Object.values(schemas).flatMap(({ properties = {} }) => Object.values(properties))) {
    const { 'x-strict-fields': required, items } = array
    const { properties = {} } = schemas[items?.$ref?.split('/').at(-1) ?? ''] ?? {}
    const strict = Object.entries(properties).filter(([name]) => required?.includes(name))
    if (required) array.items = { required, properties: Object.fromEntries(strict) }
  }
  return schemas
}

interface ObjectSchema {
  $ref?: string
  required?: string[]
  properties?: Record<string, ObjectSchema>
  items?: ObjectSchema
  'x-strict-fields'?: string[]
}

/** The sent bookmarks whose ids were not refused. */
function imported(sent: unknown, { errors }: Schemas['ImportResponse']): unknown[] {
  const { bookmarks } = sent as Schemas['ImportRequest']
  const refused = new Set(errors.map(({ id }) => id))
  return bookmarks.filter(({ id }) => !refused.has(id))
}

function inDocument(schema: object): object {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/components/', '"openapi.json#/components/'))
}

function abbreviated(value: unknown): string {
  return JSON.stringify(value)?.slice(0, 300) ?? 'nothing'
}
