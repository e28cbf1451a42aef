import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { WebSocket } from 'ws'
import { operations as contract } from '../../generated/operations.ts'
import { openDevice, realtimeUrl } from '../realtime/device.ts'
import { buildApp, type TestUser } from '../support/app.ts'
import { change, pullAll, push } from '../support/changes.ts'
import type { Answered } from '../support/contract.ts'
import { allOperations, furnish, type Ids } from './requests.ts'

const content = { encrypted_data: 'data-of-bob', data_hash: 'hash-of-bob' }

const app = await buildApp(t)
let pairs = 0

/** Makes two new users. Ada has what `furnish` creates. */
async function open() {
  pairs++
  const [ada, bob] = [await app.user(`ada-${pairs}`), await app.user(`bob-${pairs}`)]
  const ids = await furnish(ada, 'ada')
  return { app, ada, bob, ids }
}

/** Responses with Ada's data, requested by Ada. */
async function ownOf({ call }: TestUser, ids: Ids): Promise<Answered[]> {
  return Promise.all([
    ...['/api/v1/bookmarks', '/api/v1/bookmarks/b1', `/api/v1/bookmarks/${ids.bookmark}`, '/api/v1/exports'].map(get),
    ...[`/api/v1/exports/${ids.export}`, '/api/v1/account/export-key', '/api/v1/account/keyring'].map(get),
    get(`/api/v1/account/export-key?export=${ids.export}`),
    get('/api/v1/auth/session'),
    get('/api/v1/account/devices'),
    call('POST', '/api/v1/sync/pull', { headers: { 'x-device-id': 'unknown' } }),
    get('/api/v1/sync/status'),
  ])
  function get(path: string) {
    return call('GET', path)
  }
}

/** Texts that belong only to Ada. No response to another user may contain them. */
async function secretsOf(ada: TestUser, ids: Ids): Promise<string[]> {
  const { raw } = await ada.call('GET', `/api/v1/exports/${ids.export}`)
  const { body } = await ada.call('GET', '/api/v1/account/export-key')
  const file = [raw.subarray(0, 32).toString('latin1'), raw.subarray(-16).toString('latin1')]
  return ['of-ada', `ada-${pairs}@example.org`, ada.userId, ada.loginId, ada.session, ada.refresh, body.key, ...file]
}

function leaks(secrets: string[], { raw, headers }: Pick<Answered, 'raw' | 'headers'>): string[] {
  const seen = raw.toString('latin1') + JSON.stringify(headers)
  return secrets.filter((secret) => seen.includes(secret))
}

function withoutRequestId(answers: Answered[]): unknown[] {
  // This number falls as time passes.
  const text = (raw: Buffer) => raw.toString('latin1').replace(/"recent_sign_in_seconds_left":\d+/, '')
  return answers.map(({ status, raw }) => [status, text(raw)])
}

t.test("Operations with another user's ids find nothing or own data, and get 403 with that X-User-ID", async (t) => {
  const { ada, bob, ids } = await open()
  const secrets = await secretsOf(ada, ids)
  t.same(leaks(secrets, (await ada.call('GET', '/api/v1/account/export-key')) as Answered), [secrets[6]], 'leaks show')
  const before = withoutRequestId(await ownOf(ada, ids))
  const headers = { 'x-user-id': ada.userId, 'x-device-id': 'device-a' }
  const notFound = ['getBookmark', 'updateBookmark', 'deleteBookmark', 'downloadExport', 'deleteExport']
  notFound.push('listVersions', 'restoreBookmark', 'purgeBookmark', 'settleConflict', 'restoreKeyring')
  notFound.push('getPairing', 'sendToPairing', 'renameDevice', 'forgetDevice')

  const tried: string[] = []
  for (const { operationId, method, path, security, body } of allOperations(ids)) {
    if (security === 'none' || security === 'refreshCookie' || operationId === 'openRealtime') continue
    const query = operationId === 'getExportKey' ? `?export=${ids.export}` : ''
    for (const sent of [headers, {}]) {
      const answer = await bob.call(method, path + query, { headers: sent, ...(body && { body }) })
      if (sent === headers) {
        t.same([answer.status, answer.body], [403, { error: 'Forbidden user' }], operationId)
        continue
      }
      const isNone = notFound.includes(operationId) || query !== '' || operationId === 'getKeyring'
      if (isNone) t.equal(answer.status, 404, operationId)
      t.same(leaks(secrets, answer), [], operationId)
    }
    tried.push(operationId)
  }
  const others = [
    'startLogin',
    'completeLogin',
    'logout',
    'refreshSession',
    'getHealth',
    'reservePairing',
    'openRealtime',
  ]
  t.same([...tried, ...others].sort(), Object.keys(contract).sort(), 'every operation of the contract')
  t.same(withoutRequestId(await ownOf(ada, ids)), before, 'her data is unchanged')
})

t.test('Opening the realtime channel as another user gets 403, and none of her data is sent to him', async (t) => {
  const { app, ada, bob } = await open()
  const origin = await app.listen()
  for (const [headers, query] of [
    [{ 'x-user-id': ada.userId, 'x-device-id': 'device-a' }, ''],
    [{}, `?user_id=${ada.userId}&device_id=device-a&since=0`],
    [{ 'x-user-id': ada.userId, 'x-device-id': 'device-a' }, `?user_id=${bob.userId}`],
    [{ 'x-user-id': `${bob.userId}, ${ada.userId}`, 'x-device-id': 'device-a' }, ''],
  ] as const) {
    t.same(await refusal(origin, { cookie: bob.cookie, ...headers }, query), [403, { error: 'Forbidden user' }])
  }
  const twice = { cookie: bob.cookie, 'x-device-id': 'device-a' }
  const both = await refusal(origin, twice, `?user_id=${bob.userId}&user_id=${ada.userId}`)
  t.equal(both[0], 400, 'two ids are refused')

  const his = await openDevice(t, origin, bob, { since: 0 })
  await ada.call('POST', '/api/v1/bookmarks', { body: { id: 'hers', encrypted_data: 'of-ada', data_hash: 'of-ada' } })
  const stolen = change({ entity_id: 'b1', user_id: ada.userId })
  his.send({ type: 'sync', event: stolen })
  t.match(await his.next(), { type: 'error', error: /^bookmark b1: The change belongs to another user/ })
  await bob.call('POST', '/api/v1/bookmarks', { body: { id: 'his', ...content } })
  t.same(await his.takeEntities('his'), ['his'], 'he receives only his own event')
})

t.test("A pushed change with another user's user_id is rejected; the other changes are accepted", async (t) => {
  const { ada, bob, ids } = await open()
  const before = withoutRequestId(await ownOf(ada, ids))
  const stolen = ['create', 'update', 'delete'].map((operation) =>
    change({ entity_id: 'b1', operation: operation as 'create', user_id: ada.userId, timestamp: Date.now() + 60_000 }),
  )
  const own = [change({ entity_id: 'mine' }), change({ entity_id: 'mine too', user_id: bob.userId })]
  const { status, body } = await push(bob, ...stolen, ...own)
  t.equal(status, 200)
  t.same(
    body.accepted_ids,
    own.map(({ id }) => id),
  )
  t.same(
    body.conflicts.map((it: object) => ({ ...it, reason: '' })),
    stolen.map(({ id }) => ({ entity_id: 'b1', event_id: id, resolution: 'rejected', reason: '' })),
  )
  t.notOk(JSON.stringify(body).includes(ada.userId))
  for (const user_id of ['', 'nobody', bob.userId.toUpperCase(), ` ${bob.userId}`, '__proto__']) {
    const { body } = await push(bob, { ...change({ entity_id: 'x' }), user_id })
    t.same([body.accepted, body.conflicts.length], [0, 1], `user_id ${user_id}`)
  }
  t.same((await pullAll(bob)).changes.map(({ entity_id }) => entity_id).sort(), ['mine', 'mine too'])
  t.same(withoutRequestId(await ownOf(ada, ids)), before, 'her data is unchanged')
})

async function refusal(origin: string, headers: Record<string, string>, query: string): Promise<unknown[]> {
  const socket = new WebSocket(realtimeUrl(origin) + query, { headers })
  socket.on('error', () => {})
  const [, response] = await once(socket, 'unexpected-response')
  return [response.statusCode, JSON.parse(await text(response))]
}
