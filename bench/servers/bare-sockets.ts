/**
 * What the service's sockets are measured against: `ws`, and a route that commits what it gets with the driver alone, and
 * then sends it to all sockets.
 */
import Fastify from 'fastify'
import { WebSocketServer } from 'ws'
import { operations } from '../../generated/operations.ts'
import type { Schemas } from '../../src/service/contract/schemas.ts'
import { openRaw } from '../raw/open.ts'
import { toRow } from '../raw/store.ts'
import type { BenchRecord } from '../worker/records.ts'

const [place = '', port = '0'] = process.argv.slice(2)
const store = await openRaw(place, 1)
let stamp = 0
const app = Fastify()
const sockets = new WebSocketServer({ server: app.server, perMessageDeflate: false })
sockets.on('connection', (socket) => socket.send('{"type":"connected"}'))
app.post(operations.pushChanges.path, async ({ body }) => {
  const { changes } = body as Schemas['PushRequest']
  for (const event of changes) {
    // A device may rely on a change that it has seen, so none is sent before it is on disk.
    await store.write([toRow('fan-out', { ...event, id: event.entity_id } as BenchRecord, ++stamp)])
    const message = JSON.stringify({ type: 'sync', event, stamp })
    for (const socket of sockets.clients) socket.send(message)
  }
  return { accepted: changes.length }
})

process.once('disconnect', () => process.exit())
await app.listen({ host: '127.0.0.1', port: Number(port) })
process.send?.('ready')
