import t from 'tap'
import { openClient } from '../../scripts/servers/minio.ts'
import { startHealth } from '../../src/service/operating/health.ts'
import { gated, largeImport, openFile, pastFirstPart } from '../exports/fixture.ts'
import { buildApp } from '../support/app.ts'
import { change, importMany, pullAll, push } from '../support/changes.ts'
import { createdExport, endWaits, finishedExport } from '../support/exports.ts'
import { ownMinio } from '../support/minio.ts'
import { until } from '../support/until.ts'

const minio = await ownMinio(t)
if (typeof minio === 'string') t.pass('no MinIO', { skip: minio })
else {
  const path = '/api/v1/exports'

  t.test('While MinIO is stopped, exports wait, downloads get 503, sync works; exports are made later', async (t) => {
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
    for (let fence = 1; fence <= 5; fence++) {
      await until(async () => (await row()).fence >= fence && (await row()).status === 'pending')
      await endWaits(app.context)
      app.context.exportWorker.wake()
    }
    const download = await ada.call('GET', `${path}/${earlier.id}`)
    t.equal(download.status, 503)
    t.strictSame(download.body, { error: 'Service unavailable' })
    t.ok(download.headers['retry-after'])
    t.equal((await ada.call('DELETE', `${path}/${earlier.id}`)).status, 503)
    t.equal(await health(), 'degraded')
    const pushed = await push(ada, change({ entity_id: 'a' }))
    t.equal(pushed.status, 200)
    t.equal((await pullAll(ada)).changes.length, 1)

    await minio.start()
    await until(async () => {
      await endWaits(app.context)
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

  t.test('If MinIO stops during an upload, the export waits and is later made completely', async (t) => {
    t.teardown(() => minio.start())
    const env = await minio.createBucket()
    const app = await buildApp(t, env)
    const ada = await app.user('ada')
    await importMany(ada, largeImport())
    const gate = gated({ ...app.context.objects }, pastFirstPart)
    app.context.objects.put = gate.put
    const { body } = await ada.call('POST', path)
    await until(() => gate.waiting.length === 1)
    await minio.stop()
    gate.open()
    const status = async () => (await ada.call('GET', path)).body.exports[0].status
    await until(async () => (await status()) === 'pending')

    await minio.start()
    await until(async () => {
      await endWaits(app.context)
      app.context.exportWorker.wake()
      return (await status()) === 'completed'
    })
    const operator = await openClient(env)
    const { objects } = await operator.listObjectsV2Query(env.S3_BUCKET, '', '', '', 1000, '')
    t.equal(objects.length, 1, 'the first attempt left no readable object')
    t.not(objects[0]?.name, `${body.id}.1`)
    const opener = Buffer.from((await ada.call('GET', '/api/v1/account/export-key')).body.key, 'base64')
    const file = (await ada.call('GET', `${path}/${body.id}`)).raw
    t.equal(JSON.parse(await openFile(file, opener)).bookmarks.length, largeImport().length)
  })
}
