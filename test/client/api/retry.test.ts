import { mock } from 'node:test'
import { setImmediate as eventLoopTurn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { type Client, SignedOutError, unwrap } from '../../../src/client/index.ts'
import { anotherTab, openTab, type Tab } from '../connection.ts'
import { turns } from '../sync/clock.ts'

const busy = (status: number, seconds: string | undefined) =>
  Response.json(
    { error: 'Service unavailable' },
    { status, headers: { 'x-error-code': 'Unavailable', ...(seconds && { 'retry-after': seconds }) } },
  )

/** A tab whose service refuses the first `times` calls. */
function refusing(times: number, refusal: () => Response) {
  let left = times
  return openTab((send) => async (request) => (left-- > 0 ? refusal() : send(request)))
}

for (const status of [429, 503]) {
  t.test(`after a ${status} the client waits as Retry-After says, and repeats the call`, async (t) => {
    const tab = await refusing(2, () => busy(status, '0'))
    const page = unwrap(await tab.client.POST('/api/v1/sync/pull', { body: { since: 0, limit: 1 } }))
    t.equal(page.has_more, false)
    t.equal(tab.sent.length, 1)
  })
}

t.test('the client waits as long as Retry-After says, and up to a quarter more', async (t) => {
  let calls = 0
  const tab = await openTab(() => async () => (calls++ === 0 ? busy(503, '1') : Response.json({ user_id: 'ann' })))
  mockTimers(t)
  const answer = tab.client.GET('/api/v1/sync/status')
  await turns()
  mock.timers.tick(999)
  await turns()
  t.equal(calls, 1)
  mock.timers.tick(251)
  unwrap(await answer)
  t.equal(calls, 2)
})

t.test('the client retries three times, and returns the fourth refusal', async (t) => {
  const tab = await refusing(4, () => busy(503, '0'))
  const { response, error } = await tab.client.GET('/api/v1/sync/status')
  t.equal(response.status, 503)
  t.same(error, { error: 'Service unavailable' })
})

t.test('the client waits for a minute, the most that the service asks for', async (t) => {
  const tab = await refusing(1, () => busy(429, '60'))
  mockTimers(t)
  const answer = tab.client.GET('/api/v1/sync/status').then(({ response }) => response.status)
  await turns()
  mock.timers.tick(60_250)
  mock.timers.reset()
  t.equal(await answer, 200)
})

t.test('the client does not wait more than a minute, but tells the caller how long to wait', async (t) => {
  const tab = await refusing(1, () => busy(429, '61'))
  const answer = await tab.client.GET('/api/v1/sync/status')
  t.throws(() => unwrap(answer), { name: 'ApiError', status: 429, retryAfterMs: 61_000 })
})

t.test("an error has the service's error code, if it sends one", async (t) => {
  const tab = await openTab()
  const path = { params: { path: { id: 'nowhere' } } }
  const answer = await tab.client.GET('/api/v1/bookmarks/{id}', path)
  t.throws(() => unwrap(answer), { name: 'ApiError', status: 404, code: 'BookmarkNotFound' })
  const error = { error: 'Service unavailable' }
  t.throws(() => unwrap({ error, response: Response.json(error, { status: 503 }) }), { status: 503, code: undefined })
})

t.test('several waits of more than a minute together are left to the caller', async (t) => {
  let calls = 0
  const tab = await openTab(() => async () => {
    calls++
    return busy(429, '40')
  })
  mockTimers(t)
  const answer = tab.client.GET('/api/v1/sync/status').then(({ response }) => response.status)
  await turns()
  mock.timers.tick(40_250)
  await turns()
  t.equal(await Promise.race([answer, 'waits again']), 429)
  t.equal(calls, 2)
})

t.test('calls without Retry-After, or with another status, are not repeated', async (t) => {
  const without = await refusing(1, () => busy(503, undefined))
  t.equal((await without.client.GET('/api/v1/sync/status')).response.status, 503)
  const other = await refusing(1, () => busy(500, '0'))
  t.equal((await other.client.GET('/api/v1/sync/status')).response.status, 500)
})

t.test('a wait ends when its signal aborts', async (t) => {
  const controller = new AbortController()
  const tab = await refusing(1, () => {
    setImmediate(() => controller.abort())
    return busy(503, '50')
  })
  await t.rejects(tab.client.GET('/api/v1/sync/status', { signal: controller.signal }), { name: 'AbortError' })
})

t.test('the device id is sent only to operations that take it', async (t) => {
  const seen: Record<string, string | null> = {}
  const tab = await openTab((send) => (request) => {
    seen[new URL(request.url).pathname] = request.headers.get('x-device-id')
    return send(request)
  })
  await tab.client.GET('/api/v1/sync/status')
  await tab.client.GET('/api/v1/auth/session')
  await tab.client.GET('/api/v1/exports')
  await tab.client.GET('/api/v1/bookmarks')
  await tab.client.DELETE('/api/v1/bookmarks/{id}', { params: { path: { id: 'none' } } })
  t.strictSame(seen, {
    '/api/v1/sync/status': 'laptop',
    '/api/v1/auth/session': null,
    '/api/v1/exports': null,
    '/api/v1/bookmarks': null,
    '/api/v1/bookmarks/none': 'laptop',
  })
})

const refreshPath = '/api/v1/auth/refresh'

t.test('after a 401 the session is refreshed once, and the call repeated with its body', async (t) => {
  const tab = await openTab()
  tab.jar.service_session = 'gone'
  const body = { encrypted_data: 'AWVuY3J5cHRlZA==', data_hash: 'e3b0c442', id: 'one' }
  const created = unwrap(await tab.client.POST('/api/v1/bookmarks', { body }))
  t.equal(created.id, 'one')
  t.strictSame(tab.sent, ['/api/v1/bookmarks', refreshPath, '/api/v1/bookmarks'])
})

for (const [what, clientsOf] of [
  ['every call in flight, and those that started before it', ({ client }) => Array(20).fill(client)],
  ['all tabs', (tab) => [tab.client, anotherTab(tab), anotherTab(tab)]],
] satisfies [string, (tab: Tab) => Client[]][]) {
  t.test(`one refresh serves ${what}`, async (t) => {
    const tab = await openTab()
    tab.jar.service_session = 'gone'
    const answers = await Promise.all(clientsOf(tab).map((client) => client.GET('/api/v1/sync/status')))
    t.ok(answers.every(({ response }) => response.status === 200))
    t.equal(tab.sent.filter((path) => path === refreshPath).length, 1)
  })
}

t.test('if another tab failed to refresh, a tab refreshes itself', async (t) => {
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

/** Resolves when another tab waits for the tab that refreshes. */
async function anotherWaits(): Promise<void> {
  for (;;) {
    const { pending = [] } = await navigator.locks.query()
    if (pending.length > 0) return
    await eventLoopTurn()
  }
}

t.test('without a session the 401 is returned, and unwrap throws SignedOutError', async (t) => {
  const tab = await openTab()
  Object.assign(tab.jar, { service_session: 'gone', service_refresh: 'gone' })
  const answer = await tab.client.GET('/api/v1/sync/status')
  t.equal(answer.error?.error, 'Invalid or expired session')
  t.throws(() => unwrap(answer), SignedOutError)
  t.strictSame(tab.sent, ['/api/v1/sync/status', refreshPath])
})

t.test('an aborted call ends during a refresh, which goes on for other calls', async (t) => {
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

t.test('a refresh that fails for another reason does not sign the user out', async (t) => {
  const tab = await openTab(
    (send) => async (request) =>
      request.url.endsWith(refreshPath)
        ? Response.json({ error: 'Internal server error' }, { status: 500, headers: { 'x-error-code': 'Internal' } })
        : send(request),
  )
  tab.jar.service_session = 'gone'
  const answer = await tab.client.GET('/api/v1/sync/status')
  t.throws(() => unwrap(answer), { name: 'ApiError', status: 500, message: 'Internal server error' })
})

t.test('a 401 of a sign-in or sign-out causes no refresh', async (t) => {
  const tab = await openTab()
  Object.assign(tab.jar, { service_session: 'gone', service_refresh: 'gone' })
  const { response } = await tab.client.POST('/api/v1/auth/refresh')
  t.equal(response.status, 401)
  t.strictSame(tab.sent, [refreshPath])
})

function mockTimers(t: Test): void {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
}
