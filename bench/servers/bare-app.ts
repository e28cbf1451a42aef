/** What the service is measured against: Fastify and a database, which do what they cannot do without. */
import Fastify from 'fastify'
import { operations } from '../../generated/operations.ts'
import { openRaw } from '../raw/open.ts'
import { toRow } from '../raw/store.ts'

const [place = '', port = '0'] = process.argv.slice(2)
const mebibyte = 1024 * 1024
const store = await openRaw(place, 10)
const app = Fastify({ bodyLimit: 32 * mebibyte })
let stamp = 0

app.get(operations.getHealth.path, async () => {
  await store.page('', 0, 1)
  return { status: 'healthy' }
})
app.post(operations.pullChanges.path, async () => ({ changes: [], last_sync_timestamp: 1, has_more: false }))
app.post(operations.pushChanges.path, async () => ({ accepted: 0 }))
app.post(operations.createBookmark.path, async ({ body }) => {
  const bookmark = body as { id: string; encrypted_data: string; data_hash: string }
  const now = Date.now()
  await store.write([toRow('bench', { ...bookmark, timestamp: now }, ++stamp)])
  return { ...bookmark, created_at: now, updated_at: now, deleted_at: null }
})

process.once('disconnect', () => process.exit())
await app.listen({ host: '127.0.0.1', port: Number(port) })
process.send?.('ready')
