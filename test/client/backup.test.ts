import { randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import type { SendRequest } from '../../src/client/api/retry.ts'
import { unwrap } from '../../src/client/api/unwrap.ts'
import { bytesToBase64 } from '../../src/client/crypto/base64.ts'
import { deriveKeys } from '../../src/client/crypto/keys.ts'
import { ApiError, BackupFailedError, ExportError, OfflineError } from '../../src/client/errors.ts'
import { type BackupProgress, createBackup, openBackup } from '../../src/client/export-file/backup.ts'
import { memoryStore } from '../../src/client/sync/store/memory.ts'
import { createSync } from '../../src/client/sync/sync.ts'
import { until } from '../support/until.ts'
import { openTab } from './connection.ts'
import { bookmark } from './sync/device.ts'

const exportsPath = '/api/v1/exports'

t.test('a backup in two calls: made, downloaded, opened; the service keeps no copy', async (t) => {
  const { client, keys, bookmarks, kept } = await openOwner(t)
  const stages: BackupProgress[] = []
  const file = await createBackup(client, { onProgress: (progress) => stages.push(progress) })
  const read: [number, number][] = []
  const opened = await openBackup(file, keys, { onProgress: (done, total) => read.push([done, total]) })
  t.same([opened.bookmarks, opened.bookmark_count], [bookmarks, bookmarks.length])
  t.match(stages, [{ stage: 'making' }, { stage: 'downloading', total: file.size }])
  t.same(stages.at(-1), { stage: 'downloading', done: file.size, total: file.size })
  t.same(read.at(-1), [file.size, file.size])
  t.equal(await kept(), 0)
})

t.test('a backup is aborted at any stage, and leaves nothing at the service', async (t) => {
  const { client, keys, kept } = await openOwner(t)
  for (const stage of ['making', 'downloading']) {
    const controller = new AbortController()
    const reason = new Error(`aborted while ${stage}`)
    const onProgress = (progress: BackupProgress) => progress.stage === stage && controller.abort(reason)
    await t.rejects(createBackup(client, { onProgress, signal: controller.signal }), reason)
    await until(async () => (await kept()) === 0)
  }
  const signal = AbortSignal.abort(new Error('before'))
  await t.rejects(createBackup(client, { signal }), { message: 'before' })
  await t.rejects(openBackup(await createBackup(client), keys, { signal }), { message: 'before' })
})

t.test('what goes wrong is told, and a backup that fails leaves nothing at the service', async (t) => {
  let around: SendRequest | undefined
  const { client, keys, kept } = await openOwner(t, (send) => (request) => around?.(request) ?? send(request))
  const onCall = (method: string, path: RegExp, answer: () => Promise<Response>): SendRequest => {
    return (request) => {
      const isIt = request.method === method && path.test(new URL(request.url).pathname)
      return (isIt ? answer() : undefined) as Promise<Response>
    }
  }
  const full = { status: 429, headers: { 'retry-after': '86400', 'content-type': 'application/json' } }
  around = onCall('POST', /exports$/, async () => Response.json({ error: 'Too many exports kept' }, full))
  await t.rejects(createBackup(client), new ApiError(429, 'Too many exports kept', undefined, 86_400_000))
  around = onCall('GET', /exports$/, async () => Response.json({ exports: [] }))
  await t.rejects(createBackup(client), BackupFailedError)
  around = onCall('GET', /exports\/./, () => Promise.reject(new TypeError('fetch failed')))
  await t.rejects(createBackup(client), OfflineError)
  around = undefined
  await until(async () => (await kept()) === 0)

  const file = await createBackup(client)
  await t.rejects(openBackup(file.slice(0, file.size - 1), keys), ExportError)
  t.match(await openBackup(file, deriveKeys(randomBytes(32))).catch((error) => error), { fault: 'other-key' })
})

/** Somebody with three bookmarks at the service. */
async function openOwner(t: Test, around?: (send: SendRequest) => SendRequest) {
  const { client, userId } = await openTab(around)
  const keys = deriveKeys(randomBytes(32))
  unwrap(await client.PUT('/api/v1/account/export-key', { body: { key: bytesToBase64(keys.exportKey) } }))
  const sync = createSync({ client, keys, userId, deviceId: 'laptop', store: memoryStore() })
  t.teardown(() => sync.stop())
  await sync.importBookmarks(['x', 'y', 'z'].map((id) => bookmark(id, `title of ${id}`)))
  await sync.syncNow()
  const kept = async () => unwrap(await client.GET(exportsPath)).exports.length
  return { client, keys, bookmarks: [...sync.bookmarks().values()], kept }
}
