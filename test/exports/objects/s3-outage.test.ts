import { randomBytes } from 'node:crypto'
import t from 'tap'
import { ObjectStoreUnavailableError } from '../../../src/exports/objects/store.ts'
import { startHealth } from '../../../src/health.ts'
import { buildApp } from '../../support/app.ts'
import { change, pullAll } from '../../support/changes.ts'
import { createdExport, finishedExport } from '../../support/exports.ts'
import { startTestMinio } from '../../support/minio.ts'
import { startRecorder } from '../../support/s3-servers.ts'
import { openS3, pieces, read } from '../../support/s3-store.ts'
import { exportId, openFile, until } from '../fixture.ts'

const minio = await startTestMinio()
if (typeof minio === 'string') t.pass('no MinIO', { skip: minio })
else {
  const signal = new AbortController().signal
  const key = `${exportId(1)}.1`
  const exportKey = randomBytes(32)
  const small = () => pieces(Buffer.from('small'))
  const path = '/api/v1/exports'

  t.test('MinIO is stopped and started: exports wait and are made, downloads are 503, sync goes on', async (t) => {
    t.teardown(() => minio.start())
    const app = await buildApp(t, await minio.createBucket())
    const ada = await app.user('ada')
    const health = async () => {
      const probe = startHealth(app.context)
      await probe.close()
      return probe.status()
    }
    // The identity provider is out of reach in these tests.
    app.context.provider.probe = async () => {}
    const earlier = await createdExport(ada)
    t.equal(await health(), 'healthy')

    await minio.stop()
    const { status, body } = await ada.call('POST', path)
    t.equal(status, 201)
    const row = () =>
      app.context.database.db.selectFrom('exports').selectAll().where('id', '=', body.id).executeTakeFirstOrThrow()
    let now = Date.now()
    for (let fence = 1; fence <= 5; fence++) {
      await until(async () => (await row()).fence === fence && (await row()).status === 'pending')
      now += 10_000
      app.setClock(now)
      app.context.exportWorker.wake()
    }
    const download = await ada.call('GET', `${path}/${earlier.id}`)
    t.equal(download.status, 503)
    t.strictSame(download.body, { error: 'Service unavailable' })
    t.ok(download.headers['retry-after'])
    t.equal((await ada.call('DELETE', `${path}/${earlier.id}`)).status, 503)
    t.equal(await health(), 'degraded')
    const pushed = await ada.call('POST', '/api/v1/sync/push', { body: { changes: [change({ entity_id: 'a' })] } })
    t.equal(pushed.status, 200)
    t.equal((await pullAll(ada)).changes.length, 1)

    await minio.start()
    await until(async () => {
      now += 10_000
      app.setClock(now)
      app.context.exportWorker.wake()
      return (await row()).status === 'completed'
    })
    t.equal((await row()).attempts, 1)
    t.match(await finishedExport(ada, body.id), { status: 'completed', bookmark_count: 1 })
    const file = (await ada.call('GET', `${path}/${body.id}`)).raw
    const opener = Buffer.from((await ada.call('GET', '/api/v1/account/export-key')).body.key, 'base64')
    t.match(JSON.parse(await openFile(file, opener)), { bookmark_count: 1 })
    t.equal((await ada.call('GET', `${path}/${earlier.id}`)).status, 200)
    t.equal(await health(), 'healthy')
  })

  t.test('a store that ends within a download cuts it: no shorter file is taken for a whole one', async (t) => {
    t.teardown(() => minio.start())
    const store = await openS3(t, await minio.createBucket())
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

  t.test('a store that answers nothing is out of reach; what it answers later is still read', async (t) => {
    let silent = false
    const { env } = await startRecorder(t, await minio.createBucket(), () => silent)
    const store = await openS3(t, env)
    await store.put(key, exportKey, small(), signal)
    silent = true
    const error = new ObjectStoreUnavailableError('the object store does not answer')
    await Promise.all([
      t.rejects(store.put(`${exportId(2)}.1`, exportKey, small(), signal), error),
      t.rejects(store.get(key, exportKey), error),
      t.rejects(store.remove(key), error),
      t.rejects(store.probe(), error),
      t.rejects(Array.fromAsync(store.list()), error),
    ])
    silent = false
    t.equal(String(await read(await store.get(key, exportKey))), 'small')
  })

  for (const status of [408, 429, 500, 502, 503, 504]) {
    t.test(`a store that answers ${status} is out of reach, and keeps no connection busy`, async (t) => {
      let overloaded = false
      const { env, connections } = await startRecorder(t, await minio.createBucket(), () => overloaded && status)
      const store = await openS3(t, env)
      await store.put(key, exportKey, small(), signal)
      const before = connections.size
      overloaded = true
      const error = new ObjectStoreUnavailableError(`the object store answers ${status}`)
      for (let index = 0; index < 5; index++) {
        await t.rejects(store.get(key, exportKey), error)
        await t.rejects(store.put(`${exportId(2)}.1`, exportKey, small(), signal), error)
      }
      overloaded = false
      t.equal(String(await read(await store.get(key, exportKey))), 'small')
      t.equal(connections.size, before)
    })
  }
}
