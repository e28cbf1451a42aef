import { setImmediate as eventLoopTurn } from 'node:timers/promises'
import t from 'tap'
import { unwrap } from '../../../src/client/api/unwrap.ts'
import { SignedOutError } from '../../../src/client/errors.ts'
import { anotherTab, openTab } from './fixture.ts'

const refreshPath = '/api/v1/auth/refresh'

t.test('after a 401 the session is refreshed once and the call repeated, body and all', async (t) => {
  const tab = await openTab()
  tab.jar.service_session = 'gone'
  const body = { encrypted_data: 'AWVuY3J5cHRlZA==', data_hash: 'e3b0c442', id: 'one' }
  const created = unwrap(await tab.client.POST('/api/v1/bookmarks', { body }))
  t.equal(created.id, 'one')
  t.strictSame(tab.sent, ['/api/v1/bookmarks', refreshPath, '/api/v1/bookmarks'])
})

t.test('one refresh serves every call in flight, and those that started before it', async (t) => {
  const tab = await openTab()
  tab.jar.service_session = 'gone'
  const answers = await Promise.all(Array.from({ length: 20 }, () => tab.client.GET('/api/v1/sync/status')))
  t.ok(answers.every(({ response }) => response.status === 200))
  t.equal(tab.sent.filter((path) => path === refreshPath).length, 1)
})

t.test('one refresh serves all tabs', async (t) => {
  const tab = await openTab()
  tab.jar.service_session = 'gone'
  const clients = [tab.client, anotherTab(tab), anotherTab(tab)]
  const answers = await Promise.all(clients.map((client) => client.GET('/api/v1/sync/status')))
  t.strictSame(
    answers.map(({ response }) => response.status),
    [200, 200, 200],
  )
  t.equal(tab.sent.filter((path) => path === refreshPath).length, 1)
})

t.test('a tab whose neighbour failed to refresh refreshes itself', async (t) => {
  const refreshing = Promise.withResolvers<void>()
  const tab = await openTab((send) => async (request) => {
    if (!request.url.endsWith(refreshPath)) return send(request)
    refreshing.resolve()
    await anotherWaits()
    throw new TypeError('fetch failed')
  })
  tab.jar.service_session = 'gone'
  const mine = tab.client.GET('/api/v1/sync/status')
  await refreshing.promise
  const [failed, succeeded] = await Promise.allSettled([mine, anotherTab(tab).GET('/api/v1/sync/status')])
  t.equal(failed.status, 'rejected')
  t.equal(succeeded.status === 'fulfilled' && succeeded.value.response.status, 200)
})

/** Resolves once another tab waits until the one that refreshes has ended. */
async function anotherWaits(): Promise<void> {
  for (;;) {
    const { pending = [] } = await navigator.locks.query()
    if (pending.length > 0) return
    await eventLoopTurn()
  }
}

t.test('without a login the 401 is the answer, and SignedOutError what unwrap makes of it', async (t) => {
  const tab = await openTab()
  Object.assign(tab.jar, { service_session: 'gone', service_refresh: 'gone' })
  const answer = await tab.client.GET('/api/v1/sync/status')
  t.equal(answer.error?.error, 'Invalid or expired session')
  t.throws(() => unwrap(answer), SignedOutError)
  t.strictSame(tab.sent, ['/api/v1/sync/status', refreshPath])
})

t.test('a call that is aborted while the session is refreshed ends; the refresh goes on for the others', async (t) => {
  const [begun, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const tab = await openTab((send) => async (request) => {
    if (request.url.endsWith(refreshPath)) {
      begun.resolve()
      await held.promise
    }
    return send(request)
  })
  tab.jar.service_session = 'gone'
  const controller = new AbortController()
  const aborted = tab.client.GET('/api/v1/sync/status', { signal: controller.signal })
  const other = tab.client.GET('/api/v1/sync/status')
  await begun.promise
  controller.abort(new Error('enough'))
  await t.rejects(aborted, { message: 'enough' })
  held.resolve()
  t.equal((await other).response.status, 200)
})

t.test('a refresh that fails for another reason signs nobody out', async (t) => {
  const tab = await openTab(
    (send) => async (request) =>
      request.url.endsWith(refreshPath)
        ? Response.json({ error: 'Internal server error' }, { status: 500 })
        : send(request),
  )
  tab.jar.service_session = 'gone'
  const answer = await tab.client.GET('/api/v1/sync/status')
  t.throws(() => unwrap(answer), { name: 'ApiError', status: 500, message: 'Internal server error' })
})

t.test('a 401 of signing in or out is left as it is', async (t) => {
  const tab = await openTab()
  Object.assign(tab.jar, { service_session: 'gone', service_refresh: 'gone' })
  const { response } = await tab.client.POST('/api/v1/auth/refresh')
  t.equal(response.status, 401)
  t.strictSame(tab.sent, [refreshPath])
})
