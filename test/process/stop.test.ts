import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import Sqlite from 'better-sqlite3'
import t from 'tap'
import { openChunks } from '../../src/client/export-file/chunks.ts'
import { openDevice } from '../realtime/device.ts'
import { buildApp, type TestUser } from '../support/app.ts'
import { change, pullAll } from '../support/changes.ts'
import { checkAnswer } from '../support/contract.ts'
import { folder, type Service, signInBefore, startService } from '../support/service.ts'

const stopMs = 10_000

t.test('SIGTERM with open sockets, running pushes and a running export', async (t) => {
  const dataDir = await folder(t)
  const ada = await seed(t, dataDir)
  const service = await startService(t, dataDir)
  const user = service.as(ada)
  const sockets = await Promise.all(
    ['device-b', 'device-c'].map((deviceId) => openDevice(t, service.origin, user, { deviceId })),
  )
  const answered: string[] = []
  const pushers = ['p1', 'p2', 'p3', 'p4'].map((name) => pushUntilGone(service, user, name, answered))
  while (answered.length < 20) await sleep(1)
  const { body: made } = await user.call('POST', '/api/v1/exports')
  const exportsDir = join(dataDir, 'exports')
  while (!(await readdir(exportsDir)).some((name) => name.endsWith('.part'))) await sleep(1)

  const began = performance.now()
  const exit = await service.kill('SIGTERM')
  const took = performance.now() - began
  t.comment(`gone after ${Math.round(took)} ms, ${answered.length} pushes answered`)
  t.same(exit, { code: 0, signal: null })
  t.ok(took < stopMs, 'exit within 10 s')
  t.same(await Promise.all(sockets.map(({ closeCode }) => closeCode)), [1001, 1001], 'sockets are closed with 1001')
  await Promise.all(pushers)
  t.same(await readdir(exportsDir), [], 'no half file is left')
  t.match(readExport(dataDir, made.id), { status: 'pending', attempts: 0, lease_until: 0 }, 'the job is given back')

  const again = await startService(t, dataDir)
  const restarted = again.as(ada)
  const there = new Set((await pullAll(restarted)).changes.map(({ entity_id }) => entity_id))
  t.same(
    answered.filter((id) => !there.has(id)),
    [],
    'no accepted push is lost',
  )
  const { bookmarks, count } = await download(restarted, made.id)
  t.ok(bookmarks >= seeded && bookmarks === count, `the export is finished after the next start: ${count} bookmarks`)
  t.same(await again.kill('SIGTERM'), { code: 0, signal: null })
})

const seeded = 240

/** Enough ciphertext for an export to take a while. */
async function seed(t: Parameters<typeof buildApp>[0], dataDir: string): Promise<TestUser> {
  const { user, close } = await buildApp(t, {}, { dataDir })
  const ada = await user('ada')
  const encrypted_data = 'A'.repeat(262_144)
  for (let from = 0; from < seeded; from += 120) {
    const bookmarks = Array.from({ length: 120 }, (_, index) => ({
      id: `${from + index}`,
      encrypted_data,
      data_hash: 'h',
    }))
    await ada.call('POST', '/api/v1/sync/import', { body: { bookmarks } })
  }
  await close()
  return ada
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

function readExport(dataDir: string, id: string): unknown {
  const sqlite = new Sqlite(join(dataDir, 'bookmarks.db'), { readonly: true })
  const row = sqlite.prepare('select * from exports where id = ?').get(id)
  sqlite.close()
  return row
}

async function download(user: TestUser, id: string): Promise<{ bookmarks: number; count: number }> {
  for (;;) {
    const { body } = await user.call('GET', '/api/v1/exports')
    if (body.exports[0].status === 'completed') break
    await sleep(20)
  }
  const { raw } = await user.call('GET', `/api/v1/exports/${id}`)
  const { body } = await user.call('GET', `/api/v1/account/export-key?export=${id}`)
  const pieces: Uint8Array[] = []
  for await (const piece of openChunks(new Blob([Uint8Array.from(raw)]), Buffer.from(body.key, 'base64')))
    pieces.push(piece.slice())
  const file = JSON.parse(Buffer.concat(pieces).toString())
  return { bookmarks: file.bookmarks.length, count: file.bookmark_count }
}

t.test('A request that is being received when the stop begins is answered, and what it wrote is kept', async (t) => {
  const dataDir = await folder(t)
  const [ada] = (await signInBefore(t, dataDir, ['ada'])) as [TestUser]
  const service = await startService(t, dataDir)
  const body = JSON.stringify({ changes: [change({ entity_id: 'late' })] })
  const upload = await beginPush(service, ada, body.length)
  upload.write(body.slice(0, 20))
  const exited = service.kill('SIGTERM')
  await until(() => service.stdout().includes('"stopping"'))
  while (await accepts(service)) await sleep(2)
  t.pass('no new connection is accepted')
  upload.end(body.slice(20))
  const [response] = (await once(upload, 'response')) as [IncomingMessage]
  const raw = Buffer.from(await text(response))
  const answer = checkAnswer('POST', '/api/v1/sync/push', response.statusCode ?? 0, response.headers, raw)
  t.match(answer, { status: 200, body: { accepted: 1 } })
  t.same(await exited, { code: 0, signal: null })
  const again = await startService(t, dataDir)
  t.match((await pullAll(again.as(ada))).changes, [{ entity_id: 'late' }])
})

t.test('A request that comes in over an open connection during the stop gets an answer of the contract', async (t) => {
  const dataDir = await folder(t)
  await signInBefore(t, dataDir, [])
  const service = await startService(t, dataDir)
  const socket = connect(Number(new URL(service.origin).port), '127.0.0.1')
  const lines = 'GET /api/v1/health HTTP/1.1\r\nHost: localhost\r\n'
  socket.write(`${lines}\r\n${lines}`)
  await once(socket, 'data')
  const exited = service.kill('SIGTERM')
  while (await accepts(service)) await sleep(2)
  socket.write('\r\n')
  const [head = '', body = ''] = (await text(socket)).split('\r\n\r\n')
  const headers = Object.fromEntries(head.split('\r\n').map((line) => line.toLowerCase().split(': ')))
  t.ok(checkAnswer('GET', '/api/v1/health', Number(head.split(' ')[1]), headers, Buffer.from(body)))
  t.same(await exited, { code: 0, signal: null })
})

t.test('A client that never finishes its request does not hold the stop, nor what is to be done in it', async (t) => {
  const dataDir = await folder(t)
  const ada = await seed(t, dataDir)
  const service = await startService(t, dataDir)
  const upload = await beginPush(service, ada, 1000)
  const cut = once(upload, 'error')
  const { body: made } = await service.as(ada).call('POST', '/api/v1/exports')
  await download(service.as(ada), made.id)
  const reader = httpRequest(`${service.origin}/api/v1/exports/${made.id}`, { headers: { cookie: ada.cookie } }).end()
  const [response] = (await once(reader, 'response')) as [IncomingMessage]
  t.equal(response.statusCode, 200, 'nor one that stops reading its download')
  const began = performance.now()
  t.same(await service.kill('SIGTERM'), { code: 0, signal: null }, 'an orderly exit')
  t.ok(performance.now() - began < stopMs, 'within 10 s')
  t.ok(await cut)
})

/** A push whose body is still to come, when the service has begun to receive it. */
async function beginPush({ origin }: Service, { cookie }: TestUser, length: number): Promise<ClientRequest> {
  const headers = { cookie, 'content-type': 'application/json', 'content-length': length, expect: '100-continue' }
  const upload = httpRequest(`${origin}/api/v1/sync/push`, { method: 'POST', headers })
  upload.flushHeaders()
  await once(upload, 'continue')
  return upload
}

async function accepts({ origin }: Service): Promise<boolean> {
  const socket = connect(Number(new URL(origin).port), '127.0.0.1')
  const accepted = await once(socket, 'connect').then(
    () => true,
    () => false,
  )
  socket.destroy()
  return accepted
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await sleep(2)
}
