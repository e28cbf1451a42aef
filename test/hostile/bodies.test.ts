import t from 'tap'
import { snapshot } from '../support/database.ts'
import { buildWithMock } from '../support/mock-service.ts'
import { allOperations, furnish, type Operation } from './requests.ts'

const app = await buildWithMock(t)
const ada = await app.user('ada')
const operations = allOperations(await furnish(ada, 'ada'))
const withBody = operations.filter(({ body }) => body)
/** Deeper than any recursion can go, unless the operation takes only 8 KiB. */
const deepOf = ({ path }: Operation) => (path.startsWith('/api/v1/auth/') ? 1_000 : 20_000)
const json = { 'content-type': 'application/json' }

/** Bodies that are not a JSON object. */
const noObjects: [name: string, payload: string | Buffer][] = [
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
  ['no UTF-8', Buffer.from('{"id": "\xff\xfe"', 'latin1')],
  ['nested arrays', '['.repeat(3_000) + ']'.repeat(3_000)],
  ['arrays never closed', '['.repeat(3_000)],
]

t.test('A body that is not a JSON object: 400, and nothing changed', async (t) => {
  for (const operation of withBody) {
    const { operationId, invalid } = operation
    const before = await snapshot(app.context)
    const answers: Record<string, unknown> = {}
    for (const [name, payload] of noObjects) {
      const { status, body } = await send(operation, payload)
      answers[name] = [status, body.error]
    }
    const refusal = [400, invalid ?? /^body must be (JSON|of type object)$/]
    const expected = Object.fromEntries(noObjects.map(([name]) => [name, refusal]))
    if (invalid) t.same(answers, expected, operationId)
    else t.match(answers, expected, operationId)
    t.equal(await snapshot(app.context), before, `${operationId}: nothing changed`)
  }
})

t.test('A byte order mark before the body is ignored', async (t) => {
  const { status } = await ada.call('POST', '/api/v1/sync/pull', { headers: json, payload: '\ufeff{"since":0}' })
  t.equal(status, 200)
})

t.test('A missing, empty or null body: 400 where one is required, otherwise the same as {}', async (t) => {
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

t.test('A known field nested however deep: 400, and nothing changed', async (t) => {
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

t.test('Operations without a body refuse one that is not JSON, and nothing changed', async (t) => {
  const bodiless = operations.filter(({ body, method }) => !body && method !== 'GET')
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

t.test('The content type does not matter if there is no body to read', async (t) => {
  for (const { operationId, method, path } of operations.filter(({ method }) => method === 'GET')) {
    const expected = (await ada.call(method, path)).status
    for (const type of ['text/plain', 'application/octet-stream', 'garbage']) {
      const { status } = await ada.call(method, path, { headers: { 'content-type': type } })
      t.equal(status, expected, `${operationId}: ${type}`)
    }
  }
})

t.test('Without a session, a caller learns nothing about bodies', async (t) => {
  const answers = new Set<string>()
  for (const { method, path, security } of withBody) {
    if (security !== 'sessionCookie') continue
    for (const headers of [json, {}, { 'content-type': 'text/plain' }, { ...json, 'content-encoding': 'gzip' }]) {
      for (const payload of ['{}', '[', 'x'.repeat(1_100_000)]) {
        const { status, body } = await app.call(method, path, { headers, payload })
        answers.add(`${status} ${body.error}`)
      }
    }
  }
  t.same([...answers], ['401 Authentication required'])
})

function send({ method, path }: Operation, payload: string | Buffer) {
  return ada.call(method, path, { headers: json, payload })
}
