import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { ImportRequest, PullRequest, PushRequest } from '../../generated/limits.ts'
import openapi from '../../generated/openapi.json' with { type: 'json' }
import fixture from '../fixtures/hostile/content-types.json' with { type: 'json' }
import { snapshot } from '../support/database.ts'
import { buildWithMock } from '../support/mock-service.ts'
import { assertPlainError, rawRequest, sendRaw } from './raw.ts'
import { allOperations, type Body, furnish, type Operation } from './requests.ts'

const app = await buildWithMock(t)
const ada = await app.user('ada')
const allOfThem = allOperations(await furnish(ada, 'ada'))
const withBody = allOfThem.filter(({ body }) => body)
/** A nesting depth just below the limit of 10,000 JSON tokens, or less if the operation accepts only 8 KiB. */
const deepOf = ({ maxBytes }: Operation) => (maxBytes < 100_000 ? 1_000 : 9_900)
const json = { 'content-type': 'application/json' }

/** Bodies that are not a JSON object. */
const notObjects: [name: string, payload: string | Buffer][] = [
  ['an array', '[]'],
  ['an array of objects', '[{}]'],
  ['a text', '"text"'],
  ['a number', '5'],
  ['a boolean', 'true'],
  ['a truncated object', '{"changes": [{"id": "e1'],
  ['an opening brace', '{'],
  ['blanks', '  \n'],
  ['no JSON', 'garbage'],
  ['a form', 'returnTo=%2F&encrypted_data=x'],
  ['a comment', '{/* */}'],
  ['single quotes', "{'id': 1}"],
  ['NaN', '{"since": NaN}'],
  ['two values', '{}{}'],
  ['a zero byte', '\0'],
  ['UTF-16', Buffer.from('{}', 'utf16le')],
  ['invalid UTF-8', Buffer.from('{"id": "\xff\xfe"', 'latin1')],
  ['nested arrays', '['.repeat(3_000) + ']'.repeat(3_000)],
  ['arrays never closed', '['.repeat(3_000)],
]
const origin = await app.listen()

t.test('A body that is not a JSON object gets 400 and changes nothing', async (t) => {
  for (const operation of withBody) {
    const { operationId, invalid } = operation
    const before = await snapshot(app.context)
    const answers: Record<string, unknown> = {}
    for (const [name, payload] of notObjects) {
      const { status, body } = await send(operation, payload)
      answers[name] = [status, body.error]
    }
    const refusal = [400, invalid ?? /^body must be (JSON|of type object)$/]
    const expected = Object.fromEntries(notObjects.map(([name]) => [name, refusal]))
    if (invalid) t.same(answers, expected, operationId)
    else t.match(answers, expected, operationId)
    t.equal(await snapshot(app.context), before, `${operationId}: nothing changed`)
  }
})

t.test('A byte order mark before the body is ignored', async (t) => {
  const { status } = await ada.call('POST', '/api/v1/sync/pull', { headers: json, payload: '\ufeff{"since":0}' })
  t.equal(status, 200)
})

t.test('A missing, empty or null body gets 400 where a body is required, and counts as {} otherwise', async (t) => {
  for (const operation of withBody) {
    const { operationId, method, path, isBodyRequired, invalid } = operation
    const expected = isBodyRequired ? [400, { error: invalid }] : [200]
    const answers = [
      await ada.call(method, path),
      await ada.call(method, path, { headers: json }),
      await send(operation, 'null'),
      await ada.call(method, path, { headers: json, payload: '' }),
      await send(operation, '{}'),
    ]
    for (const { status, body } of answers) t.same(isBodyRequired ? [status, body] : [status], expected, operationId)
  }
})

t.test('__proto__ and constructor are refused, wherever they occur', async (t) => {
  for (const operation of withBody) {
    const { operationId, body, invalid } = operation
    const before = await snapshot(app.context)
    const members = JSON.stringify(body).slice(1)
    for (const poison of [
      '"__proto__": {"limit": 5}',
      '"__proto__": null',
      '"\\u005f_proto__": {"limit": 5}',
      '"constructor": {"prototype": {"limit": 5}}',
      '"\\u0063onstruct\\u006Fr" :{"prototype": 1}',
      '"unknown": {"deeper": [{"__proto__": {}}]}',
    ]) {
      const { status, body } = await send(operation, `{${poison}, ${members}`)
      t.same([status, body.error], [400, invalid ?? 'body must be JSON'], `${operationId}: ${poison}`)
    }
    t.equal(await snapshot(app.context), before, `${operationId}: nothing changed`)
  }
  t.equal((Object.prototype as { limit?: unknown }).limit, undefined)
})

t.test('Unknown fields are ignored, however deep they are nested', async (t) => {
  for (const operation of withBody) {
    const deep = deepOf(operation)
    const unknown = `${'{"a":'.repeat(deep)}1${'}'.repeat(deep)}`
    const members = JSON.stringify({ ...operation.body, other: 1 }).slice(1)
    const { status } = await send(operation, `{"unknown": ${unknown}, "toString": 1, "": null, ${members}`)
    t.ok(status === 200 || status === 201, `${operation.operationId}: ${status}`)
  }
})

t.test('A deeply nested value in a known field gets 400 and changes nothing', async (t) => {
  const before = await snapshot(app.context)
  for (const operation of withBody) {
    const deep = deepOf(operation)
    const nested = '['.repeat(deep) + ']'.repeat(deep)
    for (const field of Object.keys(operation.body ?? {})) {
      const members = JSON.stringify({ ...operation.body, [field]: 0 }).replace(`"${field}":0`, `"${field}":${nested}`)
      t.equal((await send(operation, members)).status, 400, `${operation.operationId}: ${field}`)
    }
  }
  t.equal(await snapshot(app.context), before)
})

t.test('Operations without a body refuse one that is not JSON, and change nothing', async (t) => {
  const bodiless = allOfThem.filter(({ body, method }) => !body && method !== 'GET')
  const before = await snapshot(app.context)
  for (const operation of bodiless) {
    const { operationId, method, path, security } = operation
    const cookie = security === 'refreshCookie' ? { cookie: `service_refresh=${ada.refresh}` } : {}
    for (const [type, payload, status] of [
      ['application/json', '{"truncated', 400],
      ['application/json', '{"__proto__": 1}', 400],
      ['text/plain', 'x', 415],
    ] as const) {
      const answer = await ada.call(method, path, { headers: { 'content-type': type, ...cookie }, payload })
      t.equal(answer.status, status, `${operationId}: ${payload}`)
    }
  }
  t.equal(await snapshot(app.context), before)
})

function send({ method, path }: Operation, payload: string | Buffer) {
  return ada.call(method, path, { headers: json, payload })
}

const { schemas } = openapi.components
const ajv = new Ajv2020({ strict: false, validateSchema: false }).addSchema({ components: { schemas } }, 'openapi.json')
const isValid = (schema: string, value: unknown) =>
  ajv.getSchema(`openapi.json#/components/schemas/${schema}`)?.(JSON.parse(JSON.stringify(value))) === true
const fieldsOf = (schema: string) =>
  Object.keys((schemas as Record<string, { properties?: object }>)[schema]?.properties ?? {})

/** Characters that no text in a request but `returnTo` may contain: control characters and those beyond ASCII. */
const strangers = ['\0', '\n', '\r', '\t', '\x1b', '\x7f', '\x80', 'é', '\u2028', '\u202e', '\ud800', '😀', '\ufeff']
const limits = (keyword: string) =>
  new Set(
    Array.from(JSON.stringify(schemas).matchAll(new RegExp(`"${keyword}":(\\d+)`, 'g')), ([, most]) => Number(most)),
  )
/** Each of these is sent as the value of every field whose schema does not allow it. */
const oddities: unknown[] = [
  ...[undefined, null, true, 5, -1, 1.5, 1e300, [], {}, [5], ['text'], [[]], [null], [{}], { $gt: '' }, { length: 1 }],
  ...['', '5', 'text', 'BOOKMARK', 'login ', '__proto__', 'toString', ...strangers.map((it) => `a${it}b`)],
  // These look like a key, a sealed message or a place in a list, and are invalid.
  ...['A'.repeat(44), `${'A'.repeat(42)}B=`, `${'A'.repeat(41)}-_=`, `${'A'.repeat(43)} `, 'AAA-', '====', 'AAAA===='],
  ...['bookmark', 'bookmark/', 'folder/x', 'bookmark/é', `bookmark/${'x'.repeat(129)}`],
  ...['/bookmark/a', `${'9'.repeat(17)}/bookmark/a`, '-1/bookmark/a', '1/2/bookmark/a', '1/other/a', '1/bookmark/'],
  ...Array.from(limits('maximum'), (most) => most + 1),
  ...Array.from(limits('maxLength'), (most) => 'x'.repeat(most + 1)),
]

t.test('A field that is missing or has a wrong type, length or character gets 400 and changes nothing', async (t) => {
  for (const operation of withBody) {
    const { operationId, body, schema, maxBytes } = operation
    const before = await snapshot(app.context)
    let sent = 0
    for (const field of fieldsOf(schema)) {
      for (const value of oddities) {
        const odd = { ...body, [field]: value }
        if (isValid(schema, odd) || JSON.stringify(odd).length > maxBytes) continue
        await refused(t, operation, odd, field, value)
        sent++
      }
    }
    t.ok(sent > 15, `${operationId}: ${sent}`)
    t.equal(await snapshot(app.context), before, `${operationId}: nothing changed`)
  }
})

t.test('One malformed element among good ones, or one element too many, gets 400; none is applied', async (t) => {
  for (const [operationId, list, schema, fields] of [
    ['pushChanges', 'changes', 'Change', fieldsOf('Change')],
    ['importBookmarks', 'bookmarks', 'ImportBookmark', ['id']],
  ] as const) {
    const operation = withBody.find((it) => it.operationId === operationId) as Operation & { body: Body }
    const [good] = operation.body[list] as [Body]
    const before = await snapshot(app.context)
    for (const field of fields) {
      for (const value of oddities) {
        const odd = { ...good, [field]: value }
        if (!isValid(schema, odd)) await refused(t, operation, { [list]: [good, odd] }, field, value)
      }
    }
    const { maxItems } = operationId === 'pushChanges' ? PushRequest.changes : ImportRequest.bookmarks
    const tooMany = Array.from({ length: maxItems + 1 }, (_, index) => ({
      ...good,
      id: `e${index}`,
      entity_id: `b${index}`,
    }))
    await refused(t, operation, { [list]: tooMany }, list, maxItems + 1)
    t.equal(await snapshot(app.context), before)
  }
})

type Test = typeof t

async function refused(t: Pick<Test, 'same'>, operation: Operation, body: Body, field: string, value: unknown) {
  const { operationId, method, path, invalid } = operation
  const answer = await ada.call(method, path, { body })
  const { minimum, maximum } = (PullRequest as Record<string, { minimum?: number; maximum?: number }>)[field] ?? {}
  const isElement = field === 'entity_types' && Array.isArray(value) && value.length > 0
  const form = minimum === undefined ? 'array of 1 to 3 elements' : `integer from ${minimum} to ${maximum}`
  const types = isElement && 'entity_types.0 must be one of: bookmark, history, group'
  const error = invalid ?? (types || `${field} must be an ${form}`)
  const name = `${operationId}: ${field} = ${escape(JSON.stringify(value) ?? 'left out').slice(0, 40)}`
  t.same([answer.status, answer.body], [400, { error }], name)
}

const contentTypes: (string | undefined)[] = [undefined, ...fixture.values]

/** A body in which each field, or the body itself, has a wrong type: a handler would fail or write nonsense. */
function broken({ body }: Operation): string {
  const fields = Object.keys(body ?? {})
  return JSON.stringify(fields.length > 0 ? Object.fromEntries(fields.map((field) => [field, { not: 'valid' }])) : [])
}

t.test('A body that breaks the schema gets 400 or 415 with every content type, and changes nothing', async (t) => {
  t.equal(fixture.values.length, 35)
  const before = await snapshot(app.context)
  for (const operation of withBody) {
    const { operationId, method, path } = operation
    const payload = broken(operation)
    for (const type of contentTypes) {
      const typed = type === undefined ? [] : [`Content-Type:${type}`]
      const headers = [`Cookie: ${ada.cookie}`, `Content-Length: ${payload.length}`, ...typed]
      const answer = await sendRaw(origin, rawRequest(`${method} ${path}`, headers, payload))
      assertPlainError(answer, operationId)
      const { status } = answer
      if (status !== 400 && status !== 415) t.fail(`${operationId}: ${type?.slice(0, 50)}: ${status}`)
    }
  }
  t.equal(await snapshot(app.context), before)
})
