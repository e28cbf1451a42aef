import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { WebSocket, WebSocketServer } from 'ws'
import { toFrame } from '../../src/service/realtime/connection.ts'

t.test('A client decodes a frame of any length to its original text', async (t) => {
  const lengths = [0, 1, 125, 126, 127, 65_535, 65_536, 300_000]
  const texts = [...lengths.map((length) => 'x'.repeat(length)), 'ä€😀'.repeat(20)]
  const server = new WebSocketServer({ port: 0 })
  t.teardown(() => server.close())
  server.on('connection', (socket, { socket: stream }) => {
    for (const text of texts) stream.write(toFrame(text))
    socket.close()
  })
  const { port } = server.address() as AddressInfo
  const client = new WebSocket(`ws://127.0.0.1:${port}`)
  const got: string[] = []
  client.on('message', (data) => got.push(String(data)))
  await once(client, 'close')
  t.same(got, texts)
})
