import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { openDevice } from '../realtime/device.ts'
import { buildApp, type TestUser } from '../support/app.ts'
import { change, pullAll } from '../support/changes.ts'
import { isDeep } from '../support/depth.ts'
import { finishedExport } from '../support/exports.ts'
import { createFakeS3, startTlsServer } from '../support/s3-servers.ts'
import { folder, type Service, signInBefore, startService } from '../support/service.ts'
import { until } from '../support/until.ts'

t.test('SIGTERM with open sockets, running pushes and a running export', async (t) => {
  const dataDir = await folder(t)
  const [ada] = (await signInBefore(t, dataDir, ['ada'])) as [TestUser]
  const store = await startHeldStore(t)
  const service = await startService(t, dataDir, store.env)
  const user = service.as(ada)
  const sockets = await Promise.all(
    ['device-b', 'device-c'].map((deviceId) => openDevice(t, service.origin, user, { deviceId })),
  )
  const answered: string[] = []
  const pushers = ['p1', 'p2', 'p3', 'p4'].map((name) => pushUntilGone(service, user, name, answered))
  while (answered.length < 20) await sleep(1)
  const { body: made } = await user.call('POST', '/api/v1/exports')
  await store.uploading

  t.same(await service.kill('SIGTERM'), { code: 0, signal: null })
  t.same(await Promise.all(sockets.map(({ closeCode }) => closeCode)), [1001, 1001], 'sockets are closed with 1001')
  await Promise.all(pushers)
  t.same(store.removed, new Set([`/exports/${made.id}.1`]), 'nothing of the export is left')

  const again = await buildApp(t, {}, { dataDir })
  const there = new Set((await pullAll(again.as(ada))).changes.map(({ entity_id }) => entity_id))
  t.same(
    answered.filter((id) => !there.has(id)),
    [],
    'no accepted push is lost',
  )
  t.match(await finishedExport(again.as(ada), made.id), { status: 'completed', bookmark_count: there.size })
  const row = await again.context.database.db.selectFrom('exports').selectAll().executeTakeFirstOrThrow()
  t.match(row, { attempts: 1, fence: 2 }, 'the job was given back: the next start finishes it in its first attempt')
})

t.test('A store that no longer answers: it exits after 9 s all the same, and says so', async (t) => {
  if (!isDeep) return t.comment('with --deep: it takes 9 s')
  const dataDir = await folder(t)
  const [ada] = (await signInBefore(t, dataDir, ['ada'])) as [TestUser]
  const store = await startHeldStore(t, { answersDelete: false })
  const service = await startService(t, dataDir, { ...store.env })
  await service.as(ada).call('POST', '/api/v1/exports')
  await store.uploading
  t.same(await service.kill('SIGTERM'), { code: 1, signal: null })
  t.match(service.stdout(), /"level":60.*"msg":"not stopped after 9 s: exiting"/)
})

t.test('While it drains it serves as ever, but says that it is not ready; a second signal ends that', async (t) => {
  const dataDir = await folder(t)
  const [ada] = (await signInBefore(t, dataDir, ['ada'])) as [TestUser]
  const service = await startService(t, dataDir, { DRAIN_SECONDS: '3600' })
  const user = service.as(ada)
  t.equal((await service.call('GET', '/api/v1/health')).headers.connection, 'keep-alive')
  const exited = service.kill('SIGTERM')
  await until(async () => (await fetch(`${service.origin}/readyz`)).status === 503)
  const { status, body, headers } = await user.call('POST', '/api/v1/sync/push', {
    body: { changes: [change({ entity_id: 'late' })] },
  })
  t.match([status, body, headers.connection], [200, { accepted: 1 }, 'keep-alive'])
  const device = await openDevice(t, service.origin, user)
  t.notOk(service.stdout().includes('"stopping"'))
  service.kill('SIGTERM')
  t.same(await exited, { code: 0, signal: null })
  t.equal(await device.closeCode, 1001)
})

const noUploads = '<ListMultipartUploadsResult><IsTruncated>false</IsTruncated></ListMultipartUploadsResult>'

/** A store that accepts an upload and does not respond; nor does it to a delete, without `answersDelete`. */
async function startHeldStore(t: Test, { answersDelete = true } = {}) {
  const { promise: uploading, resolve } = Promise.withResolvers<void>()
  const removed = new Set<string>()
  const others = createFakeS3({ ssec: 'kept' })
  const env = await startTlsServer(t, (request, response) => {
    const { method, url = '' } = request
    if (url.includes('?uploads')) return void response.end(noUploads)
    if (url.includes('.probe') || url.includes('?location')) return others(request, response)
    if (method === 'PUT') return resolve()
    if (method === 'DELETE') removed.add(url)
    if (method === 'DELETE' && !answersDelete) return
    response.writeHead(204).end()
  })
  return { env, uploading, removed }
}

async function pushUntilGone(service: Service, user: TestUser, name: string, answered: string[]): Promise<void> {
  for (let count = 0; ; count += 1) {
    const entity_id = `${name}-${count}`
    const changes = [change({ entity_id, device_id: name })]
    const answer = await user.call('POST', '/api/v1/sync/push', { body: { changes } }).catch(() => undefined)
    if (!answer) return void (await service.exited)
    if (answer.body.accepted === 1) answered.push(entity_id)
  }
}
