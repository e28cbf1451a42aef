import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { setImmediate as eventLoopTurn, setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { refuseConnections, serveInOrder } from '../../src/service/http/connections.ts'
import { buildApp, type TestApp } from '../support/app.ts'
import { until } from '../support/until.ts'

const most = 16

/** Pipelined requests. The last one asks to close the connection. */
function together(paths: string[]): string {
  const last = paths.length - 1
  return paths
    .map((path, at) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${at === last ? 'Connection: close\r\n' : ''}\r\n`)
    .join('')
}

/** Sends the text. Resolves with all responses when the connection is closed. */
async function send(origin: string, text: string): Promise<string> {
  const { hostname, port } = new URL(origin)
  const socket = connect(Number(port), hostname, () => socket.write(text))
  const closed = new Promise((resolve) => socket.once('close', resolve))
  let answers = ''
  socket.on('data', (chunk) => {
    answers += chunk
  })
  // A reset closes the connection, too.
  socket.on('error', () => {})
  await closed
  return answers
}

async function openServer(t: Test) {
  const served: [path: string | undefined, response: ServerResponse][] = []
  const options = { maxHeaderSize: 64 * 1024 }
  const server = createServer(options, (request, response) => served.push([request.url, response]))
  serveInOrder(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return { served, server, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

t.test('Pipelined requests are served one after another, with those of other clients in between', async (t) => {
  const { served, origin } = await openServer(t)
  const paths = Array.from({ length: most }, (_, at) => `/${at}`)
  const answers = send(origin, together(paths))
  for (const [at, path] of paths.entries()) {
    await until(() => served.length > at)
    await eventLoopTurn()
    t.equal(served.length, at + 1, `${path} is served alone`)
    served[at]?.[1].end(`answer ${path}.`)
  }
  t.same(
    served.map(([path]) => path),
    paths,
  )
  t.same(
    (await answers).match(/answer \/\d+/g),
    paths.map((path) => `answer ${path}`),
  )
})

t.test('While a request waits, the bytes after it are not read', async (t) => {
  const { served, server, origin } = await openServer(t)
  const large = 30_000
  const heads = Array.from(
    { length: 10 },
    (_, at) => `GET /${at} HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(large)}\r\n\r\n`,
  )
  const connected = once(server, 'connection')
  const client = connect(Number(new URL(origin).port), '127.0.0.1', () => client.write(heads.join('')))
  t.teardown(() => client.destroy())
  const [connection] = (await connected) as [Socket]
  await until(() => served.length === 1)
  await sleep(200)
  t.ok(connection.bytesRead < 5 * large, `${connection.bytesRead} bytes`)
  for (const at of heads.keys()) {
    await until(() => served.length > at)
    served[at]?.[1].end()
  }
  t.ok(connection.bytesRead > 10 * large)
})

/** Sends the requests, reads the first response, and hangs up. Fails if the service keeps the connection. */
async function hangUp(t: Test, app: TestApp, head: string): Promise<string> {
  const client = connect(Number(new URL(origin).port), '127.0.0.1', () => client.write(head))
  let answer = ''
  client.once('data', (chunk) => {
    answer = String(chunk)
    client.pause()
  })
  await until(() => answer !== '')
  client.destroy()
  const open = () => new Promise<number>((resolve) => app.app.server.getConnections((_, count) => resolve(count)))
  await until(async () => (await open()) === 0)
  t.pass('its connection is closed')
  return answer
}

const app = await buildApp(t)
const origin = await app.listen()
const ada = await app.user('ada')
const ids = { 'x-user-id': ada.userId, 'x-device-id': 'd', cookie: ada.cookie }
const upgrade = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' }
const handshake = { ...ids, ...upgrade, 'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==' }
const headOf = (method: string, path: string, headers: Record<string, string> = {}) =>
  `${method} ${path} HTTP/1.1\r\nHost: x\r\n${Object.entries(headers)
    .map((pair) => `${pair.join(': ')}\r\n`)
    .join('')}\r\n`

t.test('Only a GET is upgraded', async (t) => {
  t.match(await hangUp(t, app, headOf('GET', '/api/v1/sync/realtime', handshake)), 'HTTP/1.1 101')
  t.match(await hangUp(t, app, headOf('HEAD', '/api/v1/sync/realtime', handshake)), 'HTTP/1.1 426')
})

t.test('A connection is not upgraded before the previous response has ended', async (t) => {
  const both = headOf('GET', '/openapi.yaml') + headOf('GET', '/api/v1/sync/realtime', handshake)
  t.match(await hangUp(t, app, both), 'HTTP/1.1 200')
})

t.test('A connection with more than 16 pipelined requests is closed, and serves no further ones', async (t) => {
  const { served, origin } = await openServer(t)
  t.equal(await send(origin, together(Array(2000).fill('/'))), '')
  t.equal(served.length, 1)
})

t.test('The service answers 16 pipelined requests, and not 2,000', async (t) => {
  const asked = (count: number) => send(origin, together(Array(count).fill('/api/v1/auth/session')))
  t.equal((await asked(most)).match(/HTTP\/1.1 401/g)?.length, most)
  t.equal(await asked(2000), '')
})

/** The status line of the last answer, and whether it has `Connection: close`. */
function lastOf(answers: string): [string | undefined, boolean] {
  const last = answers.slice(answers.lastIndexOf('HTTP/1.1'))
  return [last.split('\r\n')[0], /^connection: close\r$/im.test(last)]
}

t.test('The last response of a connection has Connection: close, also for an error before the body', async (t) => {
  const before = { ...ids, 'content-type': 'application/json', 'content-length': '2', expect: '100-continue' }
  for (const [status, head] of [
    ['400 Bad Request', headOf('POST', '/api/v1/sync/push', before)],
    ['401 Unauthorized', headOf('POST', '/api/v1/sync/push', { ...before, cookie: 'service_session=wrong' })],
    ['415 Unsupported Media Type', headOf('POST', '/api/v1/sync/push', { ...before, 'content-type': 'text/html' })],
  ] as const)
    t.same(lastOf(await send(origin, `${head}{}`)), [`HTTP/1.1 ${status}`, true])
})

t.test('Once the server accepts no more connections, each open one ends with its next response', async (t) => {
  const stopping = await buildApp(t)
  const { hostname, port } = new URL(await stopping.listen())
  const user = await stopping.user('ada')
  const cookie = { cookie: user.cookie }
  const requests = [
    ['200 OK', headOf('GET', '/api/v1/bookmarks', cookie)],
    ['400 Bad Request', headOf('GET', '/api/v1/bookmarks?limit=0', cookie)],
    ['401 Unauthorized', headOf('GET', '/api/v1/bookmarks')],
    ['404 Not Found', headOf('GET', '/nowhere')],
    ['404 Not Found', headOf('GET', '/api/v1/bookmarks/none', cookie)],
  ] as const
  const connections = await Promise.all(
    requests.map(async ([status, request]) => {
      const socket = connect(Number(port), hostname)
      let answers = ''
      socket.on('data', (chunk) => {
        answers += chunk
      })
      socket.write(headOf('GET', '/livez'))
      await until(() => answers !== '')
      return { status, request, socket, answers: () => answers }
    }),
  )
  await refuseConnections(stopping.app.server)
  for (const { status, request, socket, answers } of connections) {
    const closed = once(socket, 'close')
    socket.write(request)
    await closed
    t.same(lastOf(answers()), [`HTTP/1.1 ${status}`, true])
  }
})
