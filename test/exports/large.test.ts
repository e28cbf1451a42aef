import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { saveRecords } from '../../src/service/db/tables/records.ts'
import { buildApp, type TestUser } from '../support/app.ts'
import { isDeep } from '../support/depth.ts'
import { createdExport } from '../support/exports.ts'
import { folder, startService } from '../support/service.ts'
import { testOnEachStore } from '../support/stores.ts'
import { keys, recordBytes, sealedBookmarks } from './large.ts'

const total = 2 ** 30
const count = Math.ceil(total / recordBytes)
const client = fileURLToPath(new URL('large-client.ts', import.meta.url))

const dataDir = await folder(t)

if (!isDeep) t.comment('1 GB takes minutes, so only with --deep: test/exports/memory.test.ts does the same with less')
else {
  const [ada, bob] = await prepare()

  testOnEachStore(t, (t, store) => {
    t.test('a large export is made, downloaded and opened at constant memory', async (t) => {
      const service = await startService(t, dataDir, await store.env(t))
      const [large, small] = [service.as(ada), service.as(bob)]
      // A first export loads all modules, so that their memory is not counted.
      await small.call('GET', `/api/v1/exports/${(await createdExport(small)).id}`)

      const making = await watchMemory(service.pid)
      const made = await createdExport(large)
      const whileMade = await making.growth()
      t.match(made, { status: 'completed', bookmark_count: count })
      t.ok((made.size_bytes ?? 0) > 0.99 * total)

      const downloading = await watchMemory(service.pid)
      const url = `${service.origin}/api/v1/exports/${made.id}`
      // The heap can hold only a small part of the file.
      const options = ['--max-old-space-size=64', '--max-semi-space-size=8']
      const { stdout } = await promisify(execFile)(process.execPath, [...options, client, url, ada.cookie])
      const opened = JSON.parse(stdout)
      const whileDownloaded = await downloading.growth()
      t.match(opened, { count, bytes: made.size_bytes })
      t.comment(
        `${megabytes(opened.bytes)}: the service grew by ${megabytes(whileMade)} while it was made, by ` +
          `${megabytes(whileDownloaded)} while it was downloaded; the client that opened it by ${megabytes(opened.growth)}`,
      )
      t.ok(whileMade < 96e6, 'memory of the service while it makes the export')
      t.ok(whileDownloaded < 96e6, 'memory of the service during the download')
      t.ok(opened.growth < 128e6, 'memory of the client that opens the export')
      await large.call('DELETE', `/api/v1/exports/${made.id}`)
      await service.kill('SIGTERM')
    })
  })
}

/** Makes a database with `count` bookmarks of ada, and none of bob. */
async function prepare(): Promise<[TestUser, TestUser]> {
  const { user, context, close } = await buildApp(t, {}, { dataDir })
  const [ada, bob] = [await user('ada'), await user('bob')]
  const key = Buffer.from(keys.exportKey).toString('base64')
  await ada.call('PUT', '/api/v1/account/export-key', { body: { key } })
  const { database } = context
  for (let first = 0; first < count; first += 40) {
    const rows = sealedBookmarks(ada.userId, first, Math.min(40, count - first))
    await database.write((trx) => saveRecords(trx, rows))
  }
  await close()
  return [ada, bob]
}

/** Returns a function for the growth of a process from now on to its peak. VmRSS is its memory, VmHWM the peak. */
async function watchMemory(pid: number) {
  const read = async (field: 'VmRSS' | 'VmHWM') => {
    const status = await readFile(`/proc/${pid}/status`, 'utf8')
    return Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(status)?.[1]) * 1024
  }
  const resetMost = '5'
  await writeFile(`/proc/${pid}/clear_refs`, resetMost)
  const before = await read('VmRSS')
  return { growth: async () => (await read('VmHWM')) - before }
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`
}
