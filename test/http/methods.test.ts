/** HTTP's own rules for methods: HEAD wherever GET is, and 405 with `Allow`. */
import t from 'tap'
import { allOperations } from '../hostile/requests.ts'
import { buildApp } from '../support/app.ts'
import { change } from '../support/changes.ts'
import { createdExport } from '../support/exports.ts'

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'QUERY']

const app = await buildApp(t)
const ada = await app.user('ada')
await ada.call('POST', '/api/v1/bookmarks', { body: { id: 'a', encrypted_data: 'eA==', data_hash: 'x' } })
await ada.call('PUT', '/api/v1/account/keyring', { body: { keyring: 'one', revision: 1 } })
const file = await createdExport(ada)
const operations = allOperations({ bookmark: 'a', export: file.id })

t.test('A HEAD gets the status and the headers of the GET, and no body', async (t) => {
  const paths = ['/api/v1/nothing', '/livez', '/openapi.yaml', '/docs', '/login', '/api/v1/bookmarks?limit=0']
  const reads = operations.filter(({ method, operationId }) => method === 'GET' && operationId !== 'completeLogin')
  for (const path of [...reads.map(({ path }) => path), ...paths]) {
    const ask = async (method: string) => {
      const { status, headers, raw } = await ada.call(method, path)
      const { date: _, 'x-request-id': __, 'transfer-encoding': ___, ...same } = headers
      return { status, same, length: raw.length }
    }
    const [get, head] = [await ask('GET'), await ask('HEAD')]
    t.same(head, { ...get, length: 0 }, path)
  }
})

t.test('A HEAD of a list or a download of many bytes reads none of them', async (t) => {
  const changes = Array.from({ length: 8 }, (_, index) => {
    return change({ id: `e${index}`, entity_id: `b${index}`, encrypted_data: 'x'.repeat(262_144) })
  })
  const bob = await app.user('bob')
  await bob.call('POST', '/api/v1/sync/push', { body: { changes } })
  const { id, size_bytes } = await createdExport(bob)
  const answers = await Promise.all(
    ['/api/v1/bookmarks?limit=1000', `/api/v1/exports/${id}`].map((path) => bob.call('HEAD', path)),
  )
  t.same(
    answers.map(({ status, raw }) => [status, raw.length]),
    [
      [200, 0],
      [200, 0],
    ],
  )
  t.equal(answers[1]?.headers['content-length'], `${size_bytes}`)
  t.ok(Number(size_bytes) > 2_000_000)
})

t.test('A method that a path does not have gets 405 and those that it has; an unknown path gets 404', async (t) => {
  const known = Map.groupBy(operations, ({ path }) => path)
  for (const [path, own] of known) {
    const has = own.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : method))
    const others = methods.filter((method) => !has.includes(method))
    const answers = await Promise.all(others.map((method) => ada.call(method, `${path}?x=1`)))
    const allow = [...has, 'OPTIONS'].sort().join(', ')
    t.same(
      answers.map(({ status, headers, body }) => [status, headers.allow, body?.error]),
      others.map((method) => [405, allow, method === 'HEAD' ? undefined : 'Method not allowed']),
      path,
    )
  }
  const nowhere = await Promise.all(methods.map((method) => ada.call(method, '/api/v1/nothing')))
  t.same(new Set(nowhere.map(({ status, headers }) => [status, headers.allow].join())), new Set(['404,']))
})
