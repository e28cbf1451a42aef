import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { buildApp } from '../support/app.ts'
import { createdExport } from '../support/exports.ts'

const app = await buildApp(t)
const notFound = { error: 'Export not found' }
const files = () => readdir(join(app.dataDir, 'exports'))

t.test('GET /api/v1/exports | 200: {exports: export[]}', async (t) => {
  const ada = await app.user('ada list')
  t.same((await ada.call('GET', '/api/v1/exports')).body, { exports: [] })
  const made = [await createdExport(ada), await createdExport(ada)]
  t.same((await ada.call('GET', '/api/v1/exports')).body, { exports: made.reverse() }, 'newest first')
})

t.test('POST /api/v1/exports | No body | 201: export (status processing)', async (t) => {
  const ada = await app.user('ada create')
  const { status, body } = await ada.call('POST', '/api/v1/exports')
  t.equal(status, 201)
  t.hasStrict(body, { status: 'processing', size_bytes: null, bookmark_count: null, expires_at: null })
  const empty = await ada.call('POST', '/api/v1/exports', {
    payload: '',
    headers: { 'content-type': 'application/json' },
  })
  t.equal(empty.status, 201, 'an empty body counts as none')
})

t.test('GET /api/v1/exports/:id | 200: binary body, application/octet-stream, attachment, .dat', async (t) => {
  const ada = await app.user('ada download')
  const { id, size_bytes, created_at } = await createdExport(ada)
  const { status, headers, raw } = await ada.call('GET', `/api/v1/exports/${id}`)
  t.equal(status, 200)
  t.equal(raw.length, size_bytes)
  const day = new Date(created_at).toISOString().slice(0, 10)
  t.hasStrict(headers, {
    'content-type': 'application/octet-stream',
    'content-disposition': `attachment; filename="bookmarks-${day}.dat"`,
    'cache-control': 'private, no-store',
  })
})

t.test('GET /api/v1/exports/:id | 404: {error}. 400: {error} when not completed', async (t) => {
  const ada = await app.user('ada errors')
  for (const id of ['unknown', '%00', 'a'.repeat(129)]) {
    const { status, body } = await ada.call('GET', `/api/v1/exports/${id}`)
    t.same([status, body], [404, notFound], id.slice(0, 9))
  }
  const { id } = await createdExport(ada)
  const { database } = app.context
  await database.db.updateTable('exports').set({ status: 'failed' }).where('id', '=', id).execute()
  const failed = await ada.call('GET', `/api/v1/exports/${id}`)
  t.same([failed.status, failed.body], [400, { error: 'Export not ready for download' }])
})

t.test('DELETE /api/v1/exports/:id | 200: {success: true}; the file is removed. 404: {error}', async (t) => {
  const ada = await app.user('ada delete')
  const before = await files()
  const { id } = await createdExport(ada)
  t.equal((await files()).length, before.length + 1)
  const { status, body } = await ada.call('DELETE', `/api/v1/exports/${id}`)
  t.same([status, body], [200, { success: true }])
  t.same(await files(), before, 'the file is removed from storage')
  for (const [method, unknown] of [
    ['DELETE', id],
    ['GET', id],
    ['DELETE', 'unknown'],
    ['DELETE', '%00'],
  ] as const) {
    const { status, body } = await ada.call(method, `/api/v1/exports/${unknown}`)
    t.same([status, body], [404, notFound], `${method} ${unknown}`)
  }
})

t.test('Exports: all require session', async (t) => {
  for (const [method, path] of [
    ['GET', ''],
    ['POST', ''],
    ['GET', '/x'],
    ['DELETE', '/x'],
  ] as const) {
    const { status, body } = await app.call(method, `/api/v1/exports${path}`)
    t.same([status, body], [401, { error: 'Authentication required' }], `${method} ${path}`)
  }
})
