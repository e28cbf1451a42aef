import t from 'tap'
import routes from '../../generated/routes.json' with { type: 'json' }
import { type ErrorCode, ServiceError } from '../../src/service/contract/errors.ts'
import { buildApp } from '../support/app.ts'
import { change, pullAll } from '../support/changes.ts'
import { snapshot } from '../support/database.ts'

const content = { encrypted_data: 'data', data_hash: 'hash' }
const app = await buildApp(t)

/** Ids of printable ASCII that look like paths, queries or object keys. The service must use them as plain names. */
const strangeIds = [
  'x'.repeat(128),
  '%'.repeat(128),
  ' ',
  '  a  ',
  'a/b',
  '/',
  '//',
  '../b',
  'a/../b',
  '...',
  '%2F',
  '%252F',
  '%00',
  '%zz',
  '?limit=1',
  '#',
  'a;b=c',
  'a:b',
  '*',
  ':id',
  '{id}',
  '\\',
  '"',
  "' OR 1=1 --",
  "'); DROP TABLE records; --",
  '<script>alert(1)</script>',
  '__proto__',
  'constructor',
  'toString',
  'null',
  'undefined',
  '0',
  '-1',
  '~',
]

t.test('Every printable id of 1 to 128 characters makes the round trip through paths and bodies', async (t) => {
  const ada = await app.user('ada')
  for (const id of strangeIds) {
    const path = `/api/v1/bookmarks/${encodeURIComponent(id)}`
    t.equal((await ada.call('POST', '/api/v1/bookmarks', { body: { id, ...content } })).status, 201, id)
    t.equal((await ada.call('GET', path)).body.id, id)
    t.equal((await ada.call('PUT', path, { body: { ...content, data_hash: 'next' } })).body.data_hash, 'next')
  }
  const { changes } = await pullAll(ada)
  t.same(new Set(changes.map(({ entity_id }) => entity_id)), new Set(strangeIds))
  t.ok(
    changes.every(({ data_hash }) => data_hash === 'next'),
    'each is a separate bookmark',
  )
  for (const id of strangeIds) {
    const path = `/api/v1/bookmarks/${encodeURIComponent(id)}`
    t.equal((await ada.call('DELETE', path)).status, 200)
    t.equal((await ada.call('GET', path)).status, 404)
  }
})

const withId = routes.filter(({ url }) => url.includes(':id'))

t.test('An id in a path that cannot exist is not found in every operation', async (t) => {
  const ada = await app.user('ada paths')
  const before = await snapshot(app.context)
  const impossible = [
    ...['x'.repeat(129), 'x'.repeat(1000), '%41'.repeat(129), '%41'.repeat(1000), 'x'.repeat(8000)],
    ...['%00', 'a%00', '%0A', '%0D%0AX:%20y', '%09', '%1B', '%7F', '%C3%A9', '%E2%82%AC', '%F0%9F%98%80', '%EF%BB%BF'],
  ]
  for (const id of impossible) {
    for (const { method, url, schema } of withId) {
      const path = url.replace(':id', id)
      const answer = await ada.call(method, path, schema.body ? { body: {} } : {})
      const { message } = new ServiceError(schema['x-not-found'] as ErrorCode)
      t.same([answer.status, answer.body], [404, { error: message }], `${method} ${path.slice(0, 60)}`)
    }
  }
  t.equal(await snapshot(app.context), before)
})

t.test('The ids . and .. are refused in paths, bodies and headers', async (t) => {
  const ada = await app.user('ada steps')
  const before = await snapshot(app.context)
  const push = (fields: object) => ({ body: { changes: [{ ...change({ entity_id: 'a' }), ...fields }] } })
  for (const id of ['.', '..']) {
    const answers = await Promise.all([
      ada.call('POST', '/api/v1/bookmarks', { body: { id, ...content } }),
      ada.call('POST', '/api/v1/sync/push', push({ entity_id: id })),
      ada.call('POST', '/api/v1/sync/push', push({ id })),
      ada.call('POST', '/api/v1/sync/push', push({ device_id: id })),
      ada.call('POST', '/api/v1/sync/import', { body: { bookmarks: [{ id, ...content }] } }),
      ada.call('GET', '/api/v1/sync/status', { headers: { 'x-device-id': id } }),
    ])
    t.same(
      answers.map(({ status, body }) => [status, body.error]),
      [
        [400, 'Invalid request body'],
        [400, 'Invalid changes format'],
        [400, 'Invalid changes format'],
        [400, 'Invalid changes format'],
        [400, 'Invalid bookmarks format'],
        [400, 'x-device-id must be neither . nor ..'],
      ],
    )
  }
  t.equal(await snapshot(app.context), before)
})

t.test('A URL that cannot be decoded gets 400, with and without a session', async (t) => {
  const ada = await app.user('ada urls')
  for (const id of ['%', '%2', '%zz', '%ff', '%C3', '%E2%82', '%C0%AF', '%ED%A0%80', 'a%', '%u0041']) {
    for (const method of ['GET', 'PUT', 'DELETE']) {
      for (const path of ['/api/v1/bookmarks/', '/api/v1/exports/', '/nowhere/', '/docs']) {
        const { status, body } = await ada.call(method, path + id)
        const known = path.startsWith('/api') && !(method === 'PUT' && path.includes('exports'))
        if (known) t.same([status, body], [400, { error: 'Malformed URL' }], `${method} ${path}${id}`)
        else t.match([status, body], [/^40[04]$/, { error: String }], `${method} ${path}${id}`)
      }
    }
  }
})

t.test('Other spellings of a path match no operation', async (t) => {
  const ada = await app.user('ada spellings')
  for (const path of [
    ...['/api/v1/bookmarks/', '/API/v1/bookmarks', '/api/v1//bookmarks', '/api/v2/bookmarks', '/api/v1/bookmarks;x=1'],
    ...['/api/v1/bookmarks%2F', '/api%2Fv1%2Fbookmarks', '/api/v1/bookmarks/a/b', '/api/v1/bookmarks%00', '/bookmarks'],
    ...['/api/v1', '/.env', '/data/bookmarks.db', '/docs/%2e%2e%2fpackage.json', '/docs/..%2f..%2fpackage.json'],
    ...[
      '/docs/../../package.json',
      '/docs/..%5c..%5cpackage.json',
      '/docs/index.html%00',
      '/docs/*',
      '/docs/.git/config',
    ],
  ]) {
    const { status, body } = await ada.call('GET', path)
    t.equal(status, 404, path)
    t.match(body.error, /^(Not|Bookmark not) found$/)
  }
  for (const method of ['PATCH', 'TRACE', 'PROPFIND', 'POST']) {
    t.equal((await ada.call(method, '/api/v1/account/keyring')).status, 405, method)
  }
})
