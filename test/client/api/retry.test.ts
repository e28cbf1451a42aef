import { mock } from 'node:test'
import t from 'tap'
import { unwrap } from '../../../src/client/api/unwrap.ts'
import { turns } from '../sync/turns.ts'
import { openTab } from './fixture.ts'

const busy = (status: number, seconds: string | undefined) =>
  Response.json({ error: 'Service unavailable' }, { status, ...(seconds && { headers: { 'retry-after': seconds } }) })

/** A tab whose service refuses so many calls before it answers. */
function refusing(times: number, refusal: () => Response) {
  let left = times
  return openTab((send) => async (request) => (left-- > 0 ? refusal() : send(request)))
}

for (const status of [429, 503]) {
  t.test(`after a ${status} waits as Retry-After says, and sends the same again`, async (t) => {
    const tab = await refusing(2, () => busy(status, '0'))
    const page = unwrap(await tab.client.POST('/api/v1/sync/pull', { body: { since: 0, limit: 1 } }))
    t.equal(page.has_more, false)
    t.equal(tab.sent.length, 1)
  })
}

t.test('waits for as many seconds as Retry-After says, and up to a quarter more', async (t) => {
  let calls = 0
  const tab = await openTab(() => async () => (calls++ === 0 ? busy(503, '1') : Response.json({})))
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const answer = tab.client.GET('/api/v1/sync/status')
  await turns()
  mock.timers.tick(999)
  await turns()
  t.equal(calls, 1)
  mock.timers.tick(251)
  unwrap(await answer)
  t.equal(calls, 2)
})

t.test('the fourth refusal is the answer', async (t) => {
  const tab = await refusing(4, () => busy(503, '0'))
  const { response, error } = await tab.client.GET('/api/v1/sync/status')
  t.equal(response.status, 503)
  t.same(error, { error: 'Service unavailable' })
})

t.test('a wait of more than a minute is the caller’s to decide', async (t) => {
  const tab = await refusing(1, () => busy(429, '61'))
  t.equal((await tab.client.GET('/api/v1/sync/status')).response.status, 429)
})

t.test('so are several that come to more than a minute', async (t) => {
  let calls = 0
  const tab = await openTab(() => async () => {
    calls++
    return busy(429, '40')
  })
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const answer = tab.client.GET('/api/v1/sync/status').then(({ response }) => response.status)
  await turns()
  mock.timers.tick(40_250)
  await turns()
  t.equal(await Promise.race([answer, 'waits again']), 429)
  t.equal(calls, 2)
})

t.test('without Retry-After nothing is repeated, nor any other status', async (t) => {
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

t.test('the device is named where the contract takes it, and nowhere else', async (t) => {
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
