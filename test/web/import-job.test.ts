import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { createClient, createSync, deriveKeys, memoryStore } from '../../src/client/index.ts'
import { fakeService } from '../../src/client/testing.ts'
import { importFile } from '../../src/web/settings/import-job.ts'

const file = new File(['<DL><p><DT><A HREF="https://example.org/">One</A></DL><p>'], 'bookmarks.html')

t.test('An import has ended once what the service takes is sent, although it has refused the rest', async (t) => {
  const { baseUrl, connect } = fakeService()
  const { fetch, webSocket } = connect('ada')
  const refusing = async (request: Request) =>
    request.url.endsWith('/push') ? Response.json({ error: 'Storage quota exceeded' }, { status: 413 }) : fetch(request)
  const sync = createSync({
    client: createClient({ baseUrl, deviceId: 'one', fetch: refusing }),
    keys: deriveKeys(new Uint8Array(32).fill(7)),
    userId: 'ada',
    deviceId: 'one',
    store: memoryStore(),
    webSocket,
  })
  t.teardown(() => sync.stop())
  await sync.start()
  const end = await Promise.race([importFile(sync, file).then(() => 'ended'), sleep(3000, 'waits', { ref: false })])
  t.match(sync.status(), { waiting: 1, quarantined: 1 })
  t.equal(end, 'ended')
})
