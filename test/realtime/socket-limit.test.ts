import { once } from 'node:events'
import type { IncomingHttpHeaders } from 'node:http'
import { buffer } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import { buildApp, type TestUser } from '../support/app.ts'
import { checkAnswer } from '../support/contract.ts'
import { realtimeUrl, until } from './device.ts'

const most = 256

async function open(t: Test) {
  const app = await buildApp(t)
  const origin = await app.listen()
  const { hub } = app.context

  /** The socket, or what the upgrade was answered with in its place. */
  async function upgrade({ cookie, userId }: TestUser, headers: Record<string, string> = {}) {
    const ids = { 'x-user-id': userId, 'x-device-id': 'device-a' }
    const socket = new WebSocket(realtimeUrl(origin), { headers: { cookie, ...ids, ...headers } })
    t.teardown(() => socket.terminate())
    socket.on('error', () => {})
    const refused = once(socket, 'unexpected-response').then(async ([, response]) => {
      const raw = await buffer(response)
      return checkAnswer(
        'GET',
        '/api/v1/sync/realtime',
        response.statusCode,
        response.headers as IncomingHttpHeaders,
        raw,
      )
    })
    return Promise.race([refused, once(socket, 'open').then(() => ({ status: 101, socket }))])
  }

  async function fill(user: TestUser): Promise<WebSocket[]> {
    const sockets: WebSocket[] = []
    while (sockets.length < most) {
      const opened = await upgrade(user)
      if (!('socket' in opened)) throw new Error(`the upgrade was answered ${opened.status}`)
      sockets.push(opened.socket)
    }
    return sockets
  }
  return { ...app, hub, upgrade, fill }
}

t.test('300 upgrades at once: exactly 256 are opened', async (t) => {
  const { context, user, hub, upgrade } = await open(t)
  const [ada, bob] = [await user('ada'), await user('bob')]
  const gate = Promise.withResolvers<void>()
  let arrived = 0
  context.limits.checkAddress = () => {
    if (++arrived === 300) gate.resolve()
    return gate.promise
  }
  const answers = await Promise.all(Array.from({ length: 300 }, () => upgrade(ada)))
  t.equal(answers.filter(({ status }) => status === 101).length, most)
  t.equal(hub.socketsOf(ada.userId), most)
  const refused = answers.flatMap((answer) => ('socket' in answer ? [] : [answer]))
  t.equal(refused.length, 300 - most)
  for (const { status, body, headers } of refused) {
    t.same([status, body, headers['retry-after']], [429, { error: 'Too many sockets' }, '60'])
  }
  t.equal((await upgrade(bob)).status, 101, 'others are not concerned')
  t.equal((await ada.call('GET', '/api/v1/bookmarks')).status, 200, 'nor are requests')
})

t.test('A socket that is closed, or gone without a word, makes room for one', async (t) => {
  const { user, hub, upgrade, fill } = await open(t)
  const ada = await user('ada')
  const [closed, gone] = await fill(ada)
  t.equal((await upgrade(ada)).status, 429)
  for (const leave of [() => closed?.close(), () => gone?.terminate()]) {
    leave()
    await until(() => hub.socketsOf(ada.userId) < most)
    t.equal((await upgrade(ada)).status, 101)
    t.equal((await upgrade(ada)).status, 429)
  }
})

t.test('It is checked last; signing out makes room', async (t) => {
  const { user, hub, upgrade, fill } = await open(t)
  const [ada, other, bob] = [await user('ada'), await user('ada'), await user('bob')]
  await fill(ada)
  t.equal((await upgrade(ada, { origin: 'https://evil.example' })).status, 403)
  t.equal((await upgrade(ada, { cookie: '' })).status, 401)
  t.equal((await upgrade(ada, { 'x-device-id': '' })).status, 400)
  t.equal((await upgrade(ada, { 'x-user-id': bob.userId })).status, 403)
  t.equal((await upgrade(other)).status, 429, 'another login of the same user')
  await ada.call('POST', '/api/v1/auth/logout')
  await until(() => hub.socketsOf(ada.userId) === 0)
  t.equal((await upgrade(other)).status, 101)
})
