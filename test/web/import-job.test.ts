import t from 'tap'
import { readBookmarks } from '../../src/client/bookmark-file.ts'
import { createClient, createSync, deriveKeys, memoryStore } from '../../src/client/index.ts'
import { startService } from '../../src/service/testing.ts'
import { importFile } from '../../src/web/settings/import-job.ts'
import { until } from '../support/until.ts'

const file = new File(['<DL><p><DT><A HREF="https://example.org/">One</A></DL><p>'], 'bookmarks.html')

/** Stands for the page's worker, and reads files in this thread. */
class Reader extends EventTarget {
  async postMessage(file: File): Promise<void> {
    const { bookmarks, ...read } = await readBookmarks(new Uint8Array(await file.arrayBuffer()))
    for (const data of [{ part: bookmarks }, { read }]) this.dispatchEvent(new MessageEvent('message', { data }))
  }

  terminate() {}
}

// The page notes in localStorage that an import runs.
Object.assign(globalThis, {
  Worker: Reader,
  localStorage: { setItem() {}, removeItem() {} },
  addEventListener() {},
  removeEventListener() {},
})

t.test('An import ends once all accepted bookmarks are sent, even if the service refused others', async (t) => {
  const service = await startService()
  t.teardown(() => service.close())
  const connection = await service.connect('ada')
  const refusing = async (request: Request) =>
    request.url.endsWith('/push')
      ? Response.json(
          { error: 'Storage quota exceeded' },
          { status: 413, headers: { 'x-error-code': 'QuotaExceeded' } },
        )
      : connection.fetch(request)
  const sync = createSync({
    ...connection,
    client: createClient({ ...connection, deviceId: 'one', fetch: refusing }),
    keys: deriveKeys(new Uint8Array(32).fill(7)),
    deviceId: 'one',
    store: memoryStore(),
  })
  t.teardown(() => sync.stop())
  await sync.start()
  let hasEnded = false
  importFile({ sync, userId: connection.userId }, file, () => t.fail('asked')).then(() => {
    hasEnded = true
  })
  await until(() => hasEnded)
  t.match(sync.status(), { waiting: 1, quarantined: 1 })
})
