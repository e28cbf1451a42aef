import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import t, { type Test } from 'tap'
import { answerClientErrors, unfinishedResponses } from '../../src/service/http/errors.ts'
import { until } from '../support/until.ts'

const good = 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'
const bad = 'garbage\r\n\r\n'

t.test('Nothing is written into a response that is under way: it is cut off', async (t) => {
  const client = await start(t)
  const response = await client.ask()
  response.write('the first half')
  await until(() => client.received().includes('the first half'))
  client.send(bad)
  await client.closed
  t.match(client.received(), /^HTTP\/1\.1 200 OK\r\n[\s\S]*the first half\r\n$/)
  t.notMatch(client.received(), '400')
})

t.test('Behind a response that has ended there is the refusal, even if much of it is not sent yet', async (t) => {
  const client = await start(t)
  const response = await client.ask()
  const body = 'x'.repeat(16 * 1024 * 1024)
  response.setHeader('content-length', body.length)
  response.end(body)
  client.send(bad)
  await client.closed
  t.match(client.received().slice(-300), /xHTTP\/1\.1 400 Bad Request\r\n/)
  t.equal(client.received().match(/x+/)?.[0].length, body.length)
})

t.test('In place of a response that has not begun, there is the refusal', async (t) => {
  const client = await start(t)
  const response = await client.ask()
  client.send(bad)
  await client.isRefused
  response.end('too late')
  await client.closed
  t.match(client.received(), /^HTTP\/1\.1 400 Bad Request\r\n[\s\S]*\r\n\r\n\{"error":"Malformed request"\}$/)
})

async function start(t: Test) {
  const asked = Promise.withResolvers<ServerResponse>()
  const server = createServer(({ socket }, response) => {
    unfinishedResponses.set(socket, response)
    asked.resolve(response)
  })
  server.on('clientError', answerClientErrors({}))
  const isRefused = once(server, 'clientError')
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  t.teardown(() => {
    socket.destroy()
    server.close()
  })
  let text = ''
  socket.on('data', (bytes) => {
    text += bytes
  })
  socket.on('error', () => {})
  return {
    ask() {
      socket.write(good)
      return asked.promise
    },
    send: (request: string) => socket.write(request),
    received: () => text,
    isRefused,
    closed: once(socket, 'close'),
  }
}
