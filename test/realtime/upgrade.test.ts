import { once } from 'node:events'
import type { IncomingHttpHeaders } from 'node:http'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import { checkAnswer, checkMessage } from '../support/contract.ts'
import { sharedApp } from '../support/shared-app.ts'
import { realtimeUrl } from './device.ts'

/** Complements test/interface/endpoints-realtime.test.ts, which has the statuses and the order of the checks. */
async function open(t: Test) {
  const { user, listen } = await sharedApp()
  const origin = await listen()
  const [ada, bob] = [await user('ada'), await user('bob')]

  /** The result of an upgrade: the first message, or the response that refused it. */
  async function upgrade(headers: Record<string, string>, query = '') {
    const socket = new WebSocket(realtimeUrl(origin) + query, { headers: { cookie: ada.cookie, ...headers } })
    t.teardown(() => socket.terminate())
    socket.on('error', () => {})
    const refusal = once(socket, 'unexpected-response').then(async ([, response]) => {
      const raw = Buffer.from(await text(response))
      const { statusCode, headers } = response as { statusCode: number; headers: IncomingHttpHeaders }
      return checkAnswer('GET', '/api/v1/sync/realtime', statusCode, headers, raw)
    })
    const greeting = once(socket, 'message').then(([data]) => ({ status: 101, body: checkMessage(String(data)) }))
    return Promise.race([refusal, greeting])
  }
  return { origin, ada, bob, upgrade }
}

t.test('X-User-ID and X-Device-ID win over the query parameters that stand in for them', async (t) => {
  const { ada, bob, upgrade } = await open(t)
  const ids = { 'x-user-id': ada.userId, 'x-device-id': 'header' }
  const query = (userId: string) => `?user_id=${userId}&device_id=query`
  const connectedAs = (deviceId: string) => ({ status: 101, body: { type: 'connected', deviceId } })
  t.match(await upgrade({}, query(ada.userId)), connectedAs('query'))
  t.match(await upgrade(ids, query(bob.userId)), connectedAs('header'))
  t.match(await upgrade({ 'x-device-id': 'header' }, query(ada.userId)), connectedAs('header'))
})

t.test('400: only one of the ids, and ids and since out of their range', async (t) => {
  const { ada, upgrade } = await open(t)
  const required = { status: 400, body: { error: 'X-User-ID and X-Device-ID are required' } }
  for (const query of [`?user_id=${ada.userId}`, '?device_id=query']) t.match(await upgrade({}, query), required, query)
  const ids = { 'x-user-id': ada.userId, 'x-device-id': 'header' }
  t.match(await upgrade({ ...ids, 'x-device-id': 'caf\xe9' }), { status: 400, body: { error: /x-device-id/i } })
  for (const since of ['-1', '1.5', 'x', '', '1e3', '9007199254740992']) {
    t.match(await upgrade(ids, `?since=${since}`), { status: 400, body: { error: /since/ } }, `since=${since}`)
  }
})

t.test('No other path is ever upgraded', async (t) => {
  const { origin, ada } = await open(t)
  for (const path of ['/api/v1/health', '/api/v1/bookmarks', '/docs', '/nowhere']) {
    const socket = new WebSocket(origin.replace('http', 'ws') + path, { headers: { cookie: ada.cookie } })
    t.teardown(() => socket.terminate())
    socket.on('error', () => {})
    const [, response] = await once(socket, 'unexpected-response')
    t.not(response.statusCode, 101, path)
  }
})
