import t from 'tap'
import fixture from '../fixtures/hostile/content-types.json' with { type: 'json' }
import { snapshot } from '../support/database.ts'
import { buildWithMock } from '../support/mock-service.ts'
import { pick } from '../support/pick.ts'
import { assertPlainError, rawRequest, sendRaw } from './raw.ts'
import { allOperations, type Body, furnish, type Operation } from './requests.ts'

const app = await buildWithMock(t)
const ada = await app.user('ada')
const allOfThem = allOperations(await furnish(ada, 'ada'))
const withBody = allOfThem.filter(({ body }) => body)
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
const operations = allOperations(await furnish(ada, 'ada')).filter(({ body }) => body)
const origin = await app.listen()

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

t.test('The content type does not matter if there is no body to read', async (t) => {
  for (const { operationId, method, path } of allOfThem.filter(({ method }) => method === 'GET')) {
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

const noTexts = [null, 5, true, [], {}, ['text'], { $gt: '' }]
const noIntegers = [null, '5', '', true, [], {}, [5], -1, 1.5, 2 ** 53, 1e300]
/** Characters that no text in a request may contain: control characters and everything that is not ASCII. */
const strangers = ['\0', '\n', '\r', '\t', '\x1b', '\x7f', '\x80', 'é', '\u2028', '\u202e', '\ud800', '😀', '\ufeff']
const text = (longest: number) => [...noTexts, '', 'x'.repeat(longest + 1), ...strangers.map((it) => `a${it}b`)]
const choice = [...noTexts, '', 'none', 'BOOKMARK', 'Create', 'login ', '__proto__', 'toString']

const change = {
  id: text(128),
  user_id: [...noTexts, 'x'.repeat(129), ...strangers],
  entity_type: choice,
  entity_id: text(128),
  operation: choice,
  timestamp: noIntegers,
  device_id: text(128),
  encrypted_data: text(262_144),
  data_hash: text(128),
  base: noIntegers,
}
const content = { encrypted_data: text(262_144), data_hash: text(128) }
const key = (base64: string) => base64.padEnd(43, 'A')
const faults: Record<string, Record<string, unknown[]>> = {
  startLogin: { returnTo: [...noTexts, 'x'.repeat(2049)], prompt: choice },
  createBookmark: { id: text(128), ...content },
  updateBookmark: content,
  restoreBookmark: { version_id: text(128) },
  pullChanges: { since: noIntegers, limit: [...noIntegers, 0, 10_001] },
  pushChanges: {
    changes: [null, 5, '[]', true, {}, { length: 1 }, [null], [[]], ['x'], [5], [{}], Array(10_001).fill({})],
  },
  importBookmarks: { bookmarks: [null, 5, '[]', {}, [null], [[]], ['x'], [{}], ...text(128).map((id) => [{ id }])] },
  rewindBookmarks: {
    to: noIntegers,
    dry_run: [null, 'true', 0, 1, [], {}],
    cursor: [
      null,
      5,
      '',
      'x',
      'bookmark',
      'bookmark/',
      'folder/x',
      'bookmark/é',
      `bookmark/${'x'.repeat(129)}`,
      ['bookmark/x'],
    ],
  },
  setExportKey: {
    key: [
      ...text(44),
      'A'.repeat(44),
      `${key('')}`,
      `${key('')}==`,
      `${key('-_')}=`,
      `${key('')} `,
      `${'A'.repeat(42)}B=`,
    ],
  },
  setKeyring: { keyring: text(16_384), revision: [...noIntegers, 0] },
  sendToPairing: { step: [...noIntegers, -1, 10], message: [...text(16_384), 'AAA', 'AAA-', '====', 'AAAA==='] },
}

t.test('A field of a wrong type, length or character: 400, and nothing changed', async (t) => {
  t.same(Object.keys(faults), pick(operations, 'operationId'), 'every operation with a body')
  for (const operation of operations) {
    const before = await snapshot(app.context)
    for (const [field, values] of Object.entries(faults[operation.operationId] ?? {})) {
      for (const value of values) await refused(t, operation, { ...operation.body, [field]: value }, field, value)
    }
    t.equal(await snapshot(app.context), before, `${operation.operationId}: nothing changed`)
  }
})

t.test('A required field left out: 400, and nothing changed', async (t) => {
  const before = await snapshot(app.context)
  for (const operation of operations.filter(({ isBodyRequired }) => isBodyRequired)) {
    for (const field of Object.keys(operation.body ?? {}).filter((name) => name !== 'id')) {
      const { [field]: _, ...rest } = operation.body as Body
      await refused(t, operation, rest, field, 'left out')
    }
  }
  t.equal(await snapshot(app.context), before)
})

t.test('One malformed change among good ones: 400 Invalid changes format, nothing applied', async (t) => {
  const push = operations.find(({ operationId }) => operationId === 'pushChanges') as Operation
  const good = (push.body?.changes as Body[] | undefined)?.[0]
  const before = await snapshot(app.context)
  for (const [field, values] of Object.entries(change)) {
    for (const value of values) {
      await refused(t, push, { changes: [good, { ...good, id: 'e2', entity_id: 'b2', [field]: value }] }, field, value)
    }
  }
  t.equal(await snapshot(app.context), before)
})

t.test('A fault in one element of an import is reported for that element only, and names the field', async (t) => {
  const seconds = [null, '5', true, [], {}, -1, 1.5, 253_402_300_800, Date.now()]
  const elements: Body[] = Object.entries({ ...content, date_added: seconds, date_modified: seconds }).flatMap(
    ([field, values]) =>
      values.map((value, index) => ({
        id: `${field} ${index}`,
        ...{ encrypted_data: 'data', data_hash: 'hash' },
        [field]: value,
      })),
  )
  const { status, body } = await ada.call('POST', '/api/v1/sync/import', { body: { bookmarks: elements } })
  t.equal(status, 200)
  t.same(body.imported_ids, [])
  t.same(
    pick(body.errors, 'id'),
    elements.map(({ id }) => id),
  )
  for (const { id, error } of body.errors as { id: string; error: string }[]) {
    t.ok(error.startsWith(`${id.split(' ')[0]} `), `${id}: ${error}`)
  }
})

type Test = typeof t

async function refused(t: Pick<Test, 'same' | 'ok'>, operation: Operation, body: Body, field: string, value: unknown) {
  const { operationId, method, path, invalid } = operation
  const answer = await ada.call(method, path, { body })
  const name = `${operationId}: ${field} = ${escape(JSON.stringify(value)).slice(0, 40)}`
  t.same([answer.status, typeof answer.body?.error], [400, 'string'], name)
  if (invalid) t.same(answer.body, { error: invalid }, name)
  else t.ok(answer.body?.error.startsWith(`${field} must be an integer from `), `${name}: ${answer.body?.error}`)
}
const types: (string | undefined)[] = [undefined, ...fixture.values]

/** Each field has the wrong type, or the body itself: a handler that received this would fail, or write nonsense. */
function broken({ body }: Operation): string {
  const fields = Object.keys(body ?? {})
  return JSON.stringify(fields.length > 0 ? Object.fromEntries(fields.map((field) => [field, { not: 'valid' }])) : [])
}

t.test('A body that breaks the schema gives 400 or 415 under every content type, and nothing changed', async (t) => {
  t.equal(fixture.values.length, 35)
  const before = await snapshot(app.context)
  for (const operation of operations) {
    const { operationId, method, path, invalid } = operation
    for (const type of types) {
      const headers = type === undefined ? {} : { 'content-type': type }
      const { status, body } = await ada.call(method, path, { headers, payload: broken(operation) })
      if (status === 415 || (status === 400 && (!invalid || body.error === invalid))) continue
      t.fail(`${operationId}: ${type?.slice(0, 50)}: ${status} ${body?.error}`)
    }
  }
  t.equal(await snapshot(app.context), before)
})

t.test('The same holds for the bytes of a real request', async (t) => {
  const before = await snapshot(app.context)
  for (const operation of operations) {
    const { operationId, method, path } = operation
    const payload = broken(operation)
    for (const type of types) {
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

t.test('Given two content types, validation uses the one that the parser used', async (t) => {
  const before = await snapshot(app.context)
  for (const operation of operations) {
    const { operationId, method, path } = operation
    const payload = broken(operation)
    for (const [first, second] of [
      ['application/json', 'text/plain'],
      ['text/plain', 'application/json'],
    ]) {
      const lengths = [`Cookie: ${ada.cookie}`, `Content-Length: ${payload.length}`]
      const headers = [...lengths, `Content-Type: ${first}`, `Content-Type: ${second}`]
      const { status } = await sendRaw(origin, rawRequest(`${method} ${path}`, headers, payload))
      t.ok(status === 400 || status === 415, `${operationId}: ${first}, ${second}: ${status}`)
    }
  }
  t.equal(await snapshot(app.context), before)
})
