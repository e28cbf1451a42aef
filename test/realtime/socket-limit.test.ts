import { once } from 'node:events'
import type { IncomingHttpHeaders } from 'node:http'
import { buffer } from 'node:stream/consumers'
import t from 'tap'
import { WebSocket } from 'ws'
import { buildApp, type TestUser } from '../support/app.ts'
import { checkAnswer } from '../support/contract.ts'
import { until } from '../support/until.ts'
import { realtimeUrl } from './device.ts'

const most = 256

const { context, user, listen } = await buildApp(t)
const { hub, limits } = context
const origin = await listen()

/** The socket, or the response that refused the upgrade. */
async function upgrade({ cookie, userId }: TestUser, headers: Record<string, string> = {}) {
  const ids = { 'x-user-id': userId, 'x-device-id': 'device-a' }
  const socket = new WebSocket(realtimeUrl(origin), { headers: { cookie, ...ids, ...headers } })
  t.teardown(() => socket.terminate())
  socket.on('error', () => {})
  const refused = once(socket, 'unexpected-response').then(async ([, response]) => {
    const { statusCode, headers } = response as { statusCode: number; headers: IncomingHttpHeaders }
    return checkAnswer('GET', '/api/v1/sync/realtime', statusCode, headers, await buffer(response))
  })
  return Promise.race([refused, once(socket, 'open').then(() => ({ status: 101, socket }))])
}

t.test(`A user has at most ${most} sockets`, async (t) => {
  const [ada, other, bob] = [await user('ada'), await user('ada'), await user('bob')]
  const { countUser } = limits
  const gate = Promise.withResolvers<void>()
  let arrived = 0
  limits.countUser = () => {
    if (++arrived === 300) gate.resolve()
    return gate.promise
  }
  const answers = await Promise.all(Array.from({ length: 300 }, () => upgrade(ada)))
  limits.countUser = countUser
  const sockets = answers.flatMap((answer) => ('socket' in answer ? [answer.socket] : []))

  t.test(`300 upgrades at once: exactly ${most} are opened`, async (t) => {
    t.equal(sockets.length, most)
    t.equal(hub.socketsOf(ada.userId), most)
    const refused = answers.flatMap((answer) => ('socket' in answer ? [] : [answer]))
    t.same(
      refused.map(({ status, body, headers }) => [status, body, headers['retry-after']]),
      Array(300 - most).fill([429, { error: 'Too many sockets' }, '60']),
    )
    t.equal((await upgrade(bob)).status, 101, 'other users are not affected')
    t.equal((await ada.call('GET', '/api/v1/bookmarks')).status, 200, 'nor are requests')
  })

  t.test('A socket that is closed, or lost without a close, makes room for another', async (t) => {
    const [closed, gone] = sockets
    for (const leave of [() => closed?.close(), () => gone?.terminate()]) {
      leave()
      await until(() => hub.socketsOf(ada.userId) < most)
      t.equal((await upgrade(ada)).status, 101)
      t.equal((await upgrade(ada)).status, 429)
    }
  })

  t.test('It is checked last; signing out makes room', async (t) => {
    t.equal((await upgrade(ada, { origin: 'https://evil.example' })).status, 403)
    t.equal((await upgrade(ada, { cookie: '' })).status, 401)
    t.equal((await upgrade(ada, { 'x-device-id': '' })).status, 400)
    t.equal((await upgrade(ada, { 'x-user-id': bob.userId })).status, 403)
    t.equal((await upgrade(other)).status, 429, 'another login of the same user')
    await ada.call('POST', '/api/v1/auth/logout')
    await until(() => hub.socketsOf(ada.userId) === 0)
    t.equal((await upgrade(other)).status, 101)
  })
})
