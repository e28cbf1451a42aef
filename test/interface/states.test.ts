import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { buildApp } from '../support/app.ts'
import { openBrowser } from '../support/browser.ts'
import { change, pullAll } from '../support/changes.ts'
import { setCookies } from '../support/cookies.ts'
import { findStored } from '../support/database.ts'
import { createdExport, endWaits } from '../support/exports.ts'
import { buildWithMock } from '../support/mock-service.ts'
import { pick } from '../support/pick.ts'

const app = await buildApp(t)
const content = { encrypted_data: 'AWVuY3J5cHRlZA==', data_hash: 'hash' }

t.test('Bookmark record | live | DELETE /api/v1/bookmarks/:id | Bookmark exists | deleted', async (t) => {
  const ada = await app.user('ada')
  await ada.call('POST', '/api/v1/bookmarks', { body: { id: 'b1', ...content } })
  const { status, body } = await ada.call('DELETE', '/api/v1/bookmarks/b1')
  t.same([status, body], [200, { success: true }])

  const record = await findStored(app.context, ada.userId)
  t.ok(record.deleted_at !== null && record.deleted_at >= record.created_at, 'deleted_at is set')
  t.hasStrict(record, content, 'soft delete; the record is kept')
  const [event] = (await pullAll(ada)).changes
  t.hasStrict(event, { operation: 'delete', data_hash: 'hash' }, 'other devices receive the deletion')
  t.notHas(event, { encrypted_data: '' }, 'without the ciphertext')

  for (const [method, request] of [['GET'], ['PUT', { body: content }], ['DELETE']] as const) {
    t.equal((await ada.call(method, '/api/v1/bookmarks/b1', request)).status, 404, `${method} of a deleted one`)
  }
  t.same((await ada.call('GET', '/api/v1/bookmarks')).body.data, [], 'it is left out of the list')
  const again = await ada.call('POST', '/api/v1/bookmarks', { body: { id: 'b1', ...content } })
  t.equal(again.status, 409, 'its id stays in use')
})

t.test('Bookmark record | live | PUT /api/v1/bookmarks/:id | Bookmark exists, valid body | live', async (t) => {
  t.teardown(() => app.setClock(undefined))
  const ada = await app.user('ada put')
  app.setClock(1_763_700_000_000)
  const { body: created } = await ada.call('POST', '/api/v1/bookmarks', { body: { id: 'b1', ...content } })
  app.setClock(1_763_700_000_900)
  const next = { encrypted_data: 'bmV4dA==', data_hash: 'next' }
  const { status, body } = await ada.call('PUT', '/api/v1/bookmarks/b1', { body: next })
  t.equal(status, 200)
  const changed = { ...created, ...next, updated_at: 1_763_700_000_900 }
  t.same(body, changed, 'encrypted_data, data_hash and updated_at change, and nothing else')
  t.same((await ada.call('GET', '/api/v1/bookmarks/b1')).body, changed)

  app.setClock(1_763_600_000_000)
  const { body: later } = await ada.call('PUT', '/api/v1/bookmarks/b1', { body: content })
  t.equal(later.updated_at, 1_763_700_000_901, 'the write wins even though the clock was set back')
})

t.test('Bookmark record: restoring a deleted one', async (t) => {
  const ada = await app.user('ada restore')
  for (const id of ['pushed', 'imported']) {
    await ada.call('POST', '/api/v1/bookmarks', { body: { id, ...content } })
    await ada.call('DELETE', `/api/v1/bookmarks/${id}`)
  }
  const event = change({ entity_id: 'pushed', operation: 'update', timestamp: Date.now() + 60_000 })
  await ada.call('POST', '/api/v1/sync/push', { body: { changes: [event] } })
  const { body } = await ada.call('POST', '/api/v1/sync/import', {
    body: { bookmarks: [{ id: 'imported', ...content }] },
  })
  t.equal(body.imported, 1)
  for (const id of ['pushed', 'imported']) {
    const { status, body } = await ada.call('GET', `/api/v1/bookmarks/${id}`)
    t.same([status, body.deleted_at], [200, null], `${id} is live again`)
  }
})

t.test('Export status | (none) | POST /api/v1/exports | Authenticated | processing', async (t) => {
  t.equal((await app.call('POST', '/api/v1/exports')).status, 401, 'authenticated')
  const ada = await app.user('ada export')
  const { status, body } = await ada.call('POST', '/api/v1/exports')
  t.same([status, body.status], [201, 'processing'])
  t.hasStrict(body, { size_bytes: null, bookmark_count: null, expires_at: null })
})

t.test('Export status: download is allowed only when status is completed; otherwise it returns 400.', async (t) => {
  const ada = await app.user('ada download')
  const { id } = await createdExport(ada)
  const path = `/api/v1/exports/${id}`
  t.equal((await ada.call('GET', path)).status, 200)
  await app.context.exportWorker.close()
  for (const status of ['pending', 'processing', 'failed'] as const) {
    await app.context.database.db.updateTable('exports').set({ status }).where('id', '=', id).execute()
    const { status: answered, body } = await ada.call('GET', path)
    t.same([answered, body], [400, { error: 'Export not ready for download' }], status)
  }
})

t.test('Export status: one that cannot be written fails after three attempts, and cannot be downloaded', async (t) => {
  const app = await buildApp(t)
  const ada = await app.user('ada')
  let attempts = 0
  app.context.objects.put = async () => {
    attempts++
    throw new Error('the disk is full')
  }
  const { body } = await ada.call('POST', '/api/v1/exports')
  for (;;) {
    const [found] = (await ada.call('GET', '/api/v1/exports')).body.exports
    if (found.status === 'failed') break
    await endWaits(app.context)
    app.context.exportWorker.wake()
    await sleep(5)
  }
  t.equal(attempts, 3)
  const download = await ada.call('GET', `/api/v1/exports/${body.id}`)
  t.same([download.status, download.body], [400, { error: 'Export not ready for download' }])
  t.same((await ada.call('DELETE', `/api/v1/exports/${body.id}`)).body, { success: true })
})

t.test('Session', async (t) => {
  const { call } = await buildWithMock(t)
  const browser = openBrowser(call)
  const isSignedIn = async () => (await browser.call('GET', '/api/v1/auth/session')).body.authenticated

  t.test('Session | unauthenticated | OAuth callback with valid code | authenticated', async (t) => {
    t.equal(await isSignedIn(), false)
    const answer = await browser.signIn('Ada')
    const names = setCookies(answer).map(({ name }) => name)
    t.same(names, ['service_session', 'service_refresh'], 'both cookies set')
    t.equal(await isSignedIn(), true)
  })
  t.test('Session | authenticated | POST /api/v1/auth/refresh with valid refresh cookie | authenticated', async (t) => {
    const { service_session: before } = browser.cookies()
    const answer = await browser.call('POST', '/api/v1/auth/refresh')
    t.same(pick(setCookies(answer), 'name'), ['service_session'])
    t.not(browser.cookies().service_session, before, 'new session cookie')
    t.equal(await isSignedIn(), true)
  })
  t.test('Session | authenticated | POST /api/v1/auth/logout | unauthenticated', async (t) => {
    const old = Object.entries(browser.cookies()).map((pair) => pair.join('='))
    await browser.call('POST', '/api/v1/auth/logout')
    t.same(Object.keys(browser.cookies()), ['service_login'], 'both cookies cleared')
    t.equal(await isSignedIn(), false)
    const kept = await call('GET', '/api/v1/auth/session', { headers: { cookie: old.join('; ') } })
    t.equal(kept.body.authenticated, false, 'a cookie that was kept no longer works')
  })
})
