import { randomBytes } from 'node:crypto'
import type { RequestListener } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { ObjectStoreUnavailableError } from '../../src/service/objects/store.ts'
import { exportId } from '../exports/fixture.ts'
import { ownMinio } from '../support/minio.ts'
import { createFakeS3, startRecorder, startTlsServer } from '../support/s3-servers.ts'
import { openStore } from '../support/stores.ts'
import { pieces, read } from './content.ts'

const minio = await ownMinio(t)
if (typeof minio === 'string') t.pass('no MinIO', { skip: minio })
else {
  const signal = new AbortController().signal
  const key = `ada.${exportId(1)}.1`
  const exportKey = randomBytes(32)
  const small = () => pieces(Buffer.from('small'))

  t.test('a store that stops during a download cuts it off, so that a truncated file is never complete', async (t) => {
    t.teardown(() => minio.start())
    const store = await openStore(t, await minio.createBucket())
    await store.put(key, exportKey, pieces(randomBytes(40_000_000)), signal)
    const { body } = await store.get(key, exportKey)
    await t.rejects(async () => {
      let isStopped = false
      for await (const _ of body) {
        if (!isStopped) await minio.stop()
        isStopped = true
      }
    })
  })

  t.test('a store that does not respond is unreachable, unless a large request is still arriving', async (t) => {
    let silent = false
    const { env } = await startRecorder(t, await minio.createBucket(), () => silent)
    const store = await openStore(t, env)
    await store.put(key, exportKey, small(), signal)
    silent = true
    const error = new ObjectStoreUnavailableError('the object store did not respond')
    // Sent bytes may wait in buffers of the machine and of proxies, where their progress is invisible.
    const slow = await openStore(t, await startTlsServer(t, respondLater(createFakeS3({ ssec: 'kept' }), 11_000)))
    await Promise.all([
      t.resolves(slow.put(key, exportKey, pieces(Buffer.alloc(1_000_000)), signal)),
      t.rejects(store.put(`ada.${exportId(2)}.1`, exportKey, small(), signal), error),
      t.rejects(store.get(key, exportKey), error),
      t.rejects(store.remove(key), error),
      t.rejects(store.probe(), error),
      t.rejects(Array.fromAsync(store.list()), error),
    ])
    silent = false
    t.equal(String(await read(await store.get(key, exportKey))), 'small')
  })

  /** Delays the responses to large requests. */
  function respondLater(respond: RequestListener, ms: number): RequestListener {
    return async (request, response) => {
      if (Number(request.headers['content-length']) > 1000) await sleep(ms)
      respond(request, response)
    }
  }

  for (const status of [408, 429, 500, 502, 503, 504]) {
    t.test(`a store that responds with ${status} is unreachable, and keeps no connection busy`, async (t) => {
      let overloaded = false
      const { env, connections } = await startRecorder(t, await minio.createBucket(), () => overloaded && status)
      const store = await openStore(t, env)
      await store.put(key, exportKey, small(), signal)
      const before = connections.size
      overloaded = true
      const error = new ObjectStoreUnavailableError(`the object store responded with status ${status}`)
      for (let index = 0; index < 5; index++) {
        await t.rejects(store.get(key, exportKey), error)
        await t.rejects(store.put(`ada.${exportId(2)}.1`, exportKey, small(), signal), error)
      }
      overloaded = false
      t.equal(String(await read(await store.get(key, exportKey))), 'small')
      t.equal(connections.size, before)
    })
  }
}
