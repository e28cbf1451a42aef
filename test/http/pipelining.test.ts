import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { setImmediate as eventLoopTurn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { serveInOrder } from '../../src/service/http/connections.ts'
import { buildApp } from '../support/app.ts'
import { until } from '../support/until.ts'

const most = 16

/** Requests that arrive together, the last of which asks for the connection to be closed. */
function together(paths: string[]): string {
  const last = paths.length - 1
  return paths
    .map((path, at) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${at === last ? 'Connection: close\r\n' : ''}\r\n`)
    .join('')
}

/** Resolves with what was answered until the connection was closed. */
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
  const server = createServer((request, response) => served.push([request.url, response]))
  serveInOrder(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return { served, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

t.test('Requests that arrive together are served one after another; those of others come between', async (t) => {
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

t.test('A connection with more requests than 16 ends, and no other of them is served', async (t) => {
  const { served, origin } = await openServer(t)
  t.equal(await send(origin, together(Array(2000).fill('/'))), '')
  t.equal(served.length, 1)
})

t.test('The service answers 16 that arrive together, and not 2,000', async (t) => {
  const origin = await (await buildApp(t)).listen()
  const asked = (count: number) => send(origin, together(Array(count).fill('/api/v1/auth/session')))
  t.equal((await asked(most)).match(/HTTP\/1.1 401/g)?.length, most)
  t.equal(await asked(2000), '')
})
