import { once } from 'node:events'
import { request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { freePort } from '../../scripts/servers/free-port.ts'
import { saveRecords } from '../../src/service/db/tables/records.ts'
import { bookmark } from '../exports/fixture.ts'
import { beginUpload } from '../http/uploads.ts'
import { openDevice } from '../realtime/device.ts'
import { buildApp, type TestUser } from '../support/app.ts'
import { change, pullAll, push } from '../support/changes.ts'
import { checkAnswer } from '../support/contract.ts'
import { isDeep } from '../support/depth.ts'
import { createdExport, finishedExport } from '../support/exports.ts'
import { parseExposition } from '../support/exposition.ts'
import { createFakeS3, startTlsServer } from '../support/s3-servers.ts'
import { folder, type Service, signInBefore, startService } from '../support/service.ts'
import { until } from '../support/until.ts'

t.test('SIGTERM closes sockets, loses no accepted push, and returns a running export to the queue', async (t) => {
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
  t.same(store.removed, new Set([`/exports/${ada.userId}.${made.id}.1`]), 'no part of the export is left')

  const again = await buildApp(t, {}, { dataDir })
  const there = new Set((await pullAll(again.as(ada))).changes.map(({ entity_id }) => entity_id))
  t.same(
    answered.filter((id) => !there.has(id)),
    [],
    'no accepted push is lost',
  )
  t.match(await finishedExport(again.as(ada), made.id), { status: 'completed', bookmark_count: there.size })
  const row = await again.context.database.db.selectFrom('exports').selectAll().executeTakeFirstOrThrow()
  t.match(row, { attempts: 1, fence: 2 }, 'the job was returned, and the next start finishes it in its first attempt')
})

t.test('If the object store no longer answers, the service still exits after 9 s and logs it', async (t) => {
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

t.test('While draining, the service serves as usual but is not ready; a second signal ends the draining', async (t) => {
  const dataDir = await folder(t)
  const [ada] = (await signInBefore(t, dataDir, ['ada'])) as [TestUser]
  const service = await startService(t, dataDir, { DRAIN_SECONDS: '3600' })
  const user = service.as(ada)
  t.equal((await service.call('GET', '/api/v1/health')).headers.connection, 'keep-alive')
  const exited = service.kill('SIGTERM')
  await until(async () => (await fetch(`${service.origin}/readyz`)).status === 503)
  const { status, body, headers } = await push(user, change({ entity_id: 'late' }))
  t.match([status, body, headers.connection], [200, { accepted: 1 }, 'keep-alive'])
  const device = await openDevice(t, service.origin, user)
  t.notOk(service.stdout().includes('"stopping"'))
  service.kill('SIGTERM')
  t.same(await exited, { code: 0, signal: null })
  t.equal(await device.closeCode, 1001)
})

const noUploads = '<ListMultipartUploadsResult><IsTruncated>false</IsTruncated></ListMultipartUploadsResult>'

/** An object store that never responds to an upload, nor to a delete if `answersDelete` is false. */
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
    const answer = await push(user, ...changes).catch(() => undefined)
    if (!answer) return void (await service.exited)
    if (answer.body.accepted === 1) answered.push(entity_id)
  }
}

const adminHost = '127.0.0.2'

t.test('During a stop, running requests get responses, endless ones are cut off, the admin port works', async (t) => {
  const dataDir = await folder(t)
  const { ada, exportId } = await prepare(t, dataDir)
  const port = await freePort()
  const service = await startService(t, dataDir, { ADMIN_PORT: String(port), ADMIN_HOST: adminHost })
  const admin = `http://${adminHost}:${port}`

  t.match(service.stdout(), `metrics    port ${port} on ${adminHost}\n`)
  await service.call('GET', '/api/v1/health')
  t.ok(Number((await scrape(admin)).byLabel('ebs_http_requests_total')['getHealth,200']) >= 1)
  t.notOk(await accepts(`http://127.0.0.1:${port}`), 'the admin port listens on no other address')
  t.equal((await fetch(`${service.origin}/metrics`)).status, 404)
  t.equal((await fetch(`${admin}/readyz`)).status, 200)

  const [late, endless] = [await beginUpload(service.origin, ada), await beginUpload(service.origin, ada)]
  late.send(20)
  const [probe, health] = [await keepOpen(service, '/readyz'), await keepOpen(service, '/api/v1/health')]
  const download = `${service.origin}/api/v1/exports/${exportId}`
  const [unread] = await once(request(download, { headers: { cookie: ada.cookie } }).end(), 'response')
  t.equal(unread.statusCode, 200)

  const exited = service.kill('SIGTERM')
  while (await accepts(service.origin)) await sleep(2)
  await until(() => service.stdout().includes('"stopping"'))
  const readiness = await fetch(`${admin}/readyz`)
  t.same([readiness.status, await readiness.json()], [503, { status: 'stopping' }])
  t.equal((await fetch(`${admin}/livez`)).status, 200)
  t.ok((await scrape(admin)).families.size > 0)
  probe.write('\r\n')
  t.match(await text(probe), /^HTTP\/1\.1 503 .*"stopping"}$/s, 'an open connection learns that it is not ready')
  health.write('\r\n')
  t.equal(checkHealth(await text(health)).status, 200, 'other requests over it get a response')

  late.end(JSON.stringify({ changes: [change({ entity_id: 'late' })] }))
  t.match(await late.answer, { status: 200, body: { accepted: 1 } })
  t.same(await exited, { code: 0, signal: null }, 'endless requests do not delay the exit')
  await t.rejects(endless.answer)
  t.notOk(await accepts(admin))
  const again = await buildApp(t, {}, { dataDir })
  t.match((await pullAll(again.as(ada))).changes.at(-1), { entity_id: 'late' }, 'the late write is kept')
})

const bookmarks = 128

/** A user with an export that is larger than the buffers of a connection. */
async function prepare(t: Test, dataDir: string): Promise<{ ada: TestUser; exportId: string }> {
  const { context, user, close } = await buildApp(t, {}, { dataDir })
  const { database } = context
  const ada = await user('ada')
  const rows = Array.from({ length: bookmarks }, (_, index) => bookmark(ada.userId, index, 'x'.repeat(262_144)))
  await database.write((trx) => saveRecords(trx, rows))
  const { id } = await createdExport(ada)
  await close()
  return { ada, exportId: id }
}

/** A connection over which this path was requested once, and then half of a second request was sent. */
async function keepOpen({ origin }: Service, path: string): Promise<Socket> {
  const socket = connect(Number(new URL(origin).port), '127.0.0.1')
  const lines = `GET ${path} HTTP/1.1\r\nHost: localhost\r\n`
  socket.write(`${lines}\r\n${lines}`)
  await once(socket, 'data')
  return socket
}

function checkHealth(answer: string) {
  const [head = '', body = ''] = answer.split('\r\n\r\n')
  const headers = Object.fromEntries(head.split('\r\n').map((line) => line.toLowerCase().split(': ')))
  return checkAnswer('GET', '/api/v1/health', Number(head.split(' ')[1]), headers, Buffer.from(body))
}

async function scrape(admin: string) {
  return parseExposition(await (await fetch(`${admin}/metrics`)).text())
}

async function accepts(origin: string): Promise<boolean> {
  const { hostname, port } = new URL(origin)
  const socket = connect(Number(port), hostname)
  const accepted = await once(socket, 'connect').then(
    () => true,
    () => false,
  )
  socket.destroy()
  return accepted
}
