import assert from 'node:assert/strict'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormatsModule from 'ajv-formats'
import asyncapi from '../../generated/asyncapi.json' with { type: 'json' }
import openapi from '../../generated/openapi.json' with { type: 'json' }

/** An answer that was found to keep the contract. */
export interface Answered {
  status: number
  headers: Record<string, string | string[] | number | undefined>
  // biome-ignore lint/suspicious/noExplicitAny: tests read the fields that the contract was just checked for
  body: any
  raw: Buffer
}

interface ResponseObject {
  $ref?: string
  headers?: Record<string, { $ref?: string; required?: boolean; schema?: object }>
  content?: Record<string, { schema: object }>
}

const addFormats = addFormatsModule as unknown as typeof addFormatsModule.default
const ajv = new Ajv2020({ strict: false, allErrors: true, coerceTypes: false })
addFormats(ajv)
ajv.addSchema(openapi, 'openapi.json')
ajv.addSchema(asyncapi, 'asyncapi.json')
// Headers are text on the wire: numbers among them are read first.
const headerAjv = new Ajv2020({ strict: false, coerceTypes: true })

/** Checks an answer of an operation against openapi.yaml: status documented, body, headers. Other paths pass unchecked. */
export function checkAnswer(
  method: string,
  url: string,
  status: number,
  headers: Answered['headers'],
  raw: Buffer,
): Answered {
  const isJson = String(headers['content-type'] ?? '').startsWith('application/json')
  const body = isJson && raw.length > 0 ? JSON.parse(raw.toString()) : undefined
  const operation = findOperation(method, url)
  if (operation) {
    const name = `${operation.operationId} ${status}`
    const response = deref<ResponseObject>(operation.responses[status])
    assert.ok(response, `${name}: the status is not in the contract (body ${raw.toString().slice(0, 200)})`)
    checkHeaders(name, response, headers)
    checkBody(name, response, headers, body, raw)
  }
  return { status, headers, body, raw }
}

/** Checks what the server sent over the realtime channel against asyncapi.yaml. */
// biome-ignore lint/suspicious/noExplicitAny: tests read the fields that the contract was just checked for
export function checkMessage(text: string): any {
  const message = JSON.parse(text)
  const names = { connected: 'Connected', sync: 'Sync', ping: 'Ping', pong: 'Pong', error: 'Error' } as Record<
    string,
    string
  >
  const name = names[message.type]
  assert.ok(name, `the message type ${message.type} is not in the contract`)
  check(`asyncapi.json#/components/schemas/${name}Message`, message, `message ${message.type}`)
  return message
}

interface Operation {
  operationId: string
  responses: Record<string, ResponseObject>
}

function findOperation(method: string, url: string): Operation | undefined {
  const path = url.split('?', 1)[0] ?? ''
  for (const [template, item] of Object.entries(openapi.paths)) {
    const pattern = new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`)
    if (pattern.test(path)) return (item as unknown as Record<string, Operation>)[method.toLowerCase()]
  }
  return undefined
}

function checkHeaders(name: string, response: ResponseObject, headers: Answered['headers']): void {
  assert.ok(
    response.headers?.['Set-Cookie'] || headers['set-cookie'] === undefined,
    `${name}: a cookie that is not in the contract`,
  )
  for (const [header, reference] of Object.entries(response.headers ?? {})) {
    const { required, schema } = deref(reference) as { required?: boolean; schema?: object }
    const value = headers[header.toLowerCase()]
    assert.ok(value !== undefined || !required, `${name}: the header ${header} is missing`)
    if (value === undefined || !schema) continue
    for (const single of [value].flat()) {
      const validate = compiled(headerAjv, schema, () => ({ type: 'object', properties: { value: schema } }))
      assert.ok(
        validate({ value: single }),
        `${name}: the header ${header} is ${single}: ${headerAjv.errorsText(validate.errors)}`,
      )
    }
  }
}

function checkBody(
  name: string,
  response: ResponseObject,
  headers: Answered['headers'],
  body: unknown,
  raw: Buffer,
): void {
  if (!response.content) {
    assert.equal(raw.length, 0, `${name}: a body that is not in the contract`)
    return
  }
  const type = String(headers['content-type'] ?? '').split(';')[0] ?? ''
  const content = response.content[type]
  assert.ok(content, `${name}: the content type ${type} is not in the contract`)
  if (type !== 'application/json') return
  const validate = compiled(ajv, content.schema, () => inDocument(content.schema))
  assert.ok(validate(body), `${name}: ${ajv.errorsText(validate.errors)} in ${raw.toString().slice(0, 300)}`)
}

function check(ref: string, value: unknown, name: string): void {
  const validate = ajv.getSchema(ref)
  assert.ok(validate, `${name}: no schema ${ref}`)
  assert.ok(validate(value), `${name}: ${ajv.errorsText(validate.errors)} in ${JSON.stringify(value).slice(0, 300)}`)
}

function deref<T extends { $ref?: string }>(object: T | undefined): T | undefined {
  if (!object?.$ref) return object
  const path = object.$ref.slice(2).split('/')
  return path.reduce<unknown>((node, key) => (node as Record<string, unknown>)[key], openapi) as T
}

/** A schema out of the document keeps its references into it. */
function inDocument(schema: object): object {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/components/', '"openapi.json#/components/'))
}

const validators = new WeakMap<object, ValidateFunction>()

/** Each schema of the contract is compiled once. */
function compiled(compiler: Ajv2020, schema: object, toCompile: () => object): ValidateFunction {
  const validate = validators.get(schema) ?? compiler.compile(toCompile())
  validators.set(schema, validate)
  return validate
}
