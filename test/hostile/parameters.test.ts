import t from 'tap'
import { buildApp } from '../support/app.ts'
import type { Answered } from '../support/contract.ts'
import { snapshot } from '../support/database.ts'
import { allOperations, furnish } from './requests.ts'

const app = await buildApp(t)
const ada = await app.user('ada')
const ids = await furnish(ada, 'ada')
const operations = allOperations(ids)

const notIntegers = [
  ...['', '-1', '-0', '+5', '05', '00', '5.0', '1.5', '.5', '5.', '1e2', '1E2', '0x10', '0b1', '1_0', '5n', '5,0'],
  ...['%205', '5%20', '%095', '5%0A', '5%00', '%00', '%EF%BC%95', '%D9%A5', 'NaN', 'Infinity', 'null', 'true', 'five'],
  ...['9'.repeat(16), '9'.repeat(400), '9007199254740993', '1e400', '[5]', '{}', '1;DROP', '5%zz', '%ff'],
]

t.test('A page or limit that is not a plain integer in range gets 400 with its name and range', async (t) => {
  for (const [name, most] of [
    ['limit', 1000],
    ['page', 1_000_000],
  ] as const) {
    const error = `${name} must be an integer from 1 to ${most}`
    for (const value of [...notIntegers, '0', String(most + 1)]) {
      t.same(await list(`${name}=${value}`), [400, { error }], `${name}=${value.slice(0, 30)}`)
    }
    for (const query of [`${name}=1&${name}=2`, `${name}=1&${name}=1`, `${name}=5&${name}=`]) {
      t.same(await list(query), [400, { error }], query)
    }
    for (const value of [1, most]) t.equal((await list(`${name}=${value}`))[0], 200, `${name}=${value}`)
  }
  const [, both] = await list('page=0&limit=0')
  t.match(both, { error: /^(page|limit) must be an integer from 1 to / })
})

t.test('Parameters that the contract does not know are ignored', async (t) => {
  for (const query of [
    ...['__proto__=5', '__proto__[limit]=5', 'constructor=5', 'constructor.prototype.limit=5', 'toString=x'],
    ...['LIMIT=0', 'limit[]=0', 'limit.=0', '=0', '&&&', '%00=1', 'user_id=x', '?limit=0', 'x'.repeat(8000)],
    `${'a=b&'.repeat(1500)}`,
  ]) {
    const [status, body] = await list(query)
    t.same([status, (body as Answered['body']).meta], [200, { total: 2, page: 1, limit: 100 }], query.slice(0, 30))
  }
})

t.test('A page past the end is empty', async (t) => {
  const [status, body] = await list('page=1000000&limit=1000')
  t.same([status, body], [200, { data: [], meta: { total: 2, page: 1_000_000, limit: 1000 } }])
})

t.test('An invalid limit of a list gets 400 with the valid range', async (t) => {
  for (const path of [
    '/api/v1/bookmarks/x/versions',
    '/api/v1/trash',
    '/api/v1/sync/conflicts',
    '/api/v1/account/devices',
  ]) {
    for (const limit of ['0', '1001', '-1', 'ten', '']) {
      const { status, body } = await ada.call('GET', `${path}?limit=${limit}`)
      t.same([status, body], [400, { error: 'limit must be an integer from 1 to 1000' }], `${path} ${limit}`)
    }
  }
})

t.test('An invalid place in a list gets 400 with the valid form', async (t) => {
  for (const path of ['/api/v1/bookmarks/x/versions', '/api/v1/trash', '/api/v1/sync/conflicts']) {
    for (const after of ['', 'abc', '-1', '1'.repeat(17), '1&after=2']) {
      const { status, body } = await ada.call('GET', `${path}?after=${after}`)
      t.same([status, body], [400, { error: 'after must be a string of 1 to 16 digits' }], `${path} ${after}`)
    }
  }
})

t.test('An invalid X-Device-ID gets 400 on every operation that reads it, and changes nothing', async (t) => {
  const reading = ['createBookmark', 'updateBookmark', 'deleteBookmark', 'getSyncStatus', 'pullChanges', 'pushChanges']
  const error = 'x-device-id must be a string of 1 to 128 printable ASCII characters'
  const before = await snapshot(app.context)
  for (const operationId of [...reading, 'importBookmarks', 'restoreBookmark', 'rewindBookmarks', 'listDevices']) {
    const operation = operations.find((it) => it.operationId === operationId)
    if (!operation) throw new Error(`no operation ${operationId}`)
    const { method, path, body } = operation
    for (const id of [
      '',
      'x'.repeat(129),
      'caf\xe9',
      'a\tb',
      'a\x7fb',
      'a\0b',
      'a\nb',
      '\x1b[31m',
      '\u20ac',
      '\u{1f600}',
    ]) {
      const answer = await ada.call(method, path, { headers: { 'x-device-id': id }, ...(body && { body }) })
      t.same([answer.status, answer.body], [400, { error }], `${operationId}: ${encodeURIComponent(id)}`)
    }
  }
  t.equal(await snapshot(app.context), before)
})

t.test('A device id of 128 characters, or with any printable character, is stored unchanged', async (t) => {
  for (const id of [
    'x'.repeat(128),
    '!"#$%&()*+,-./:;<=>?@[]^_`{|}~',
    "' OR 1=1 --",
    '__proto__',
    'constructor',
    '0',
  ]) {
    const headers = { 'x-device-id': id }
    const { body } = await ada.call('POST', '/api/v1/bookmarks', {
      headers,
      body: { encrypted_data: 'data', data_hash: 'hash' },
    })
    const pulled = await ada.call('POST', '/api/v1/sync/pull', { headers })
    const found = pulled.body.changes.find((it: { entity_id: string }) => it.entity_id === body.id)
    t.equal(found.device_id, id)
    t.equal((await ada.call('GET', '/api/v1/sync/status', { headers })).body.pending_changes, 0)
  }
})

t.test('Faulty headers and queries of downloads and keys are ignored or get 400', async (t) => {
  const path = `/api/v1/exports/${ids.export}`
  for (const range of [
    'x'.repeat(256),
    'bytes=',
    'bytes=-',
    'bytes=1-0',
    'bytes=0-1,2-3',
    'lines=1-2',
    'bytes=0x1-',
    ...['bytes', 'bytes=a-b', 'bytes=1--2', 'bytes=+1-2', 'bytes=1.5-2', 'bytes=0 - 1', 'bytes=0-1, ', 'xbytes=0-1'],
    'bytes=\xe9',
  ]) {
    t.equal((await ada.call('GET', path, { headers: { range } })).status, 200, `${range}: the whole file`)
  }
  for (const range of ['bytes=99999999-', 'bytes=-0', `bytes=${'9'.repeat(100)}-`]) {
    t.equal((await ada.call('GET', path, { headers: { range } })).status, 416, range)
  }
  const long = 'x'.repeat(257)
  for (const name of ['range', 'if-range']) {
    const { status, body } = await ada.call('GET', path, { headers: { [name]: long } })
    t.same([status, body.error], [400, `${name} must be a string of 0 to 256 characters`])
  }
  const error = 'export must be a string of 1 to 128 printable ASCII characters'
  for (const value of ['', 'x'.repeat(129), '%00', '%C3%A9', '%0A', `${ids.export}&export=${ids.export}`]) {
    const answer = await ada.call('GET', `/api/v1/account/export-key?export=${value}`)
    t.same([answer.status, answer.body], [400, { error }], value)
  }
})

async function list(query: string): Promise<[number, unknown]> {
  const { status, body } = await ada.call('GET', `/api/v1/bookmarks?${query}`)
  return [status, body]
}
