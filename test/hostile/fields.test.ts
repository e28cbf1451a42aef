import t from 'tap'
import { snapshot } from '../support/database.ts'
import { buildWithMock } from '../support/mock-service.ts'
import { allOperations, type Body, furnish, type Operation } from './requests.ts'

const app = await buildWithMock(t)
const ada = await app.user('ada')
const operations = allOperations(await furnish(ada, 'ada')).filter(({ body }) => body)

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
}

t.test('A field of a wrong type, length or character: 400, and nothing changed', async (t) => {
  t.same(
    Object.keys(faults),
    operations.map(({ operationId }) => operationId),
    'every operation with a body',
  )
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
    body.errors.map(({ id }: { id: string }) => id),
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
