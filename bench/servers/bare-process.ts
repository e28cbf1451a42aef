/**
 * The minimal server that the service is compared with: Fastify, a database driver, and WebSockets by `ws`. It commits
 * each change of a push and then sends it to all sockets.
 */
import Fastify from 'fastify'
import { WebSocketServer } from 'ws'
import { operations } from '../../generated/operations.ts'
import type { Schemas } from '../../src/service/contract/schemas.ts'
import { openRaw, toRow } from '../raw.ts'
import type { BenchRecord } from '../worker/records.ts'

const [place = '', connections = '', port = ''] = process.argv.slice(2)
const store = await openRaw(place, Number(connections))
const app = Fastify({ bodyLimit: 32 * 1024 * 1024 })
/** Each of these processes has its own user, because several rows run one on the same database. */
const user = `bench-${process.pid}`
let stamp = 0

app.get(operations.getHealth.path, async () => {
  await store.page('', 0, 1)
  return { status: 'healthy' }
})
// Reads the database even if nothing is new, because the service must, too.
app.post(operations.pullChanges.path, async ({ body }) => {
  const { since = 0, limit = 1000 } = body as Schemas['PullRequest']
  return { changes: await store.page(user, since, limit), last_sync_timestamp: stamp, has_more: false }
})
app.post(operations.createBookmark.path, async ({ body }) => {
  const bookmark = body as { id: string; encrypted_data: string; data_hash: string }
  const now = Date.now()
  await store.write([toRow(user, { ...bookmark, timestamp: now }, ++stamp)])
  return { ...bookmark, created_at: now, updated_at: now, deleted_at: null }
})

app.get(operations.listBookmarks.path, async () => ({ bookmarks: await store.bookmarks(user, 0, 100) }))
app.get(operations.getSyncStatus.path, async () => store.page(user, stamp - 1, 1))

const sockets = new WebSocketServer({ server: app.server, perMessageDeflate: false })
sockets.on('connection', (socket) => socket.send('{"type":"connected"}'))
app.post(operations.pushChanges.path, async ({ body }) => {
  const { changes } = body as Schemas['PushRequest']
  for (const event of changes) {
    // Sends a change only after it is on disk, as the service does: devices rely on the changes that they have seen.
    await store.write([toRow(user, { ...event, id: event.entity_id } as BenchRecord, ++stamp)])
    const message = JSON.stringify({ type: 'sync', event, stamp })
    for (const socket of sockets.clients) socket.send(message)
  }
  return { accepted: changes.length }
})

process.once('disconnect', () => process.exit())
await app.listen({ host: '127.0.0.1', port: Number(port) })
process.send?.('ready')
