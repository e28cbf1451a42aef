/** What the service's sockets are measured against: `ws`, and a route that sends what it gets to all sockets. */
import Fastify from 'fastify'
import { WebSocketServer } from 'ws'
import { operations } from '../../../../generated/operations.ts'
import type { Schemas } from '../../../../src/contract/schemas.ts'

const [port = '0'] = process.argv.slice(2)
const app = Fastify()
const sockets = new WebSocketServer({ server: app.server, perMessageDeflate: false })
sockets.on('connection', (socket) => socket.send('{"type":"connected"}'))
app.post(operations.pushChanges.path, async ({ body }) => {
  const { changes } = body as Schemas['PushRequest']
  for (const event of changes) {
    const message = JSON.stringify({ type: 'sync', event, stamp: Date.now() })
    for (const socket of sockets.clients) socket.send(message)
  }
  return { accepted: changes.length }
})

process.once('disconnect', () => process.exit())
await app.listen({ host: '127.0.0.1', port: Number(port) })
process.send?.('ready')
