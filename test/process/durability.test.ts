import { spawnSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { buildApp, type TestUser } from '../support/app.ts'
import { change, pullAll } from '../support/changes.ts'
import { keyringOf } from '../support/keyrings.ts'
import { folder, type Service, signInBefore, startService } from '../support/service.ts'

/** The options make strace follow all threads and stop them only at the traced system calls. */
const strace = ['strace', '-D', '-f', '--seccomp-bpf', '-e', 'signal=none']
const canTrace = spawnSync('strace', [...strace.slice(1), '-o', '/dev/null', 'true']).status === 0

t.test('A 2xx to a write is sent only after the change is on disk', async (t) => {
  if (!canTrace)
    return t.comment('SKIPPED: no strace here. test/db/group-commit.test.ts tests the order of commit and response')
  const dataDir = await folder(t)
  const trace = join(await folder(t), 'trace')
  const [ada] = (await signInBefore(t, dataDir, ['ada'])) as [TestUser]
  const calls = 'trace=pwrite64,write,writev,sendto,fsync,fdatasync'
  const under = [...strace, '-yy', '-s', '32', '-e', calls, '-o', trace]
  const service = await startService(t, dataDir, { LOG_LEVEL: 'silent' }, { under })
  const writes = await writeEachWay(service, ada)
  await service.kill('SIGTERM')

  const answers = parse(await readFile(trace, 'utf8'), service.pid)
  t.equal(answers.length, writes.length, 'each write got a response')
  t.same(
    answers.map((seen, index) => [writes[index], seen]),
    writes.map((write) => [write, { wrote: true, synced: true }]),
    'before each response, the log was written and then synced',
  )
})

t.test('If a sync to disk fails, a write gets 503 and is not visible, or 2xx and is stored', async (t) => {
  if (!canTrace) return t.comment('SKIPPED: no strace here. test/db/group-commit.test.ts tests a failing commit')
  const dataDir = await folder(t)
  const [ada] = (await signInBefore(t, dataDir, ['ada'])) as [TestUser]
  const log = join(dataDir, 'bookmarks.db-wal')
  const faults = ['-P', log, '-e', 'trace=fsync,fdatasync', '-e', 'inject=fsync,fdatasync:error=EIO:when=2+3']
  const under = [...strace, ...faults, '-o', '/dev/null']
  const service = await startService(t, dataDir, { LOG_LEVEL: 'silent' }, { under })
  const { call } = service.as(ada)
  const answers = new Map<string, number>()
  const refusals = new Set<string>()
  for (let count = 0; count < 30; count += 1) {
    const changes = [change({ entity_id: `${count}` })]
    const { status, body } = await call('POST', '/api/v1/sync/push', { body: { changes } })
    answers.set(`${count}`, status)
    if (status !== 200) refusals.add(`${status} ${body.error}`)
  }
  t.same(refusals, new Set(['503 Service unavailable']))
  const written = [...answers].flatMap(([id, status]) => (status === 200 ? [id] : []))
  t.ok(written.length > 10 && written.length < 30, `${written.length} of 30 were written`)
  const seen = (await pullAll(service.as(ada))).changes.map(({ entity_id }) => entity_id)
  t.same(seen, written, 'the same process sees exactly the confirmed writes')
  await service.kill('SIGKILL')
  const again = await buildApp(t, {}, { dataDir })
  const kept = new Set((await pullAll(again.as(ada))).changes.map(({ entity_id }) => entity_id))
  t.ok(
    written.every((id) => kept.has(id)),
    'the next process sees them, and perhaps the last failed write, which reached the disk after all',
  )
})

async function writeEachWay(service: Service, person: TestUser): Promise<string[]> {
  const { call } = service.as(person)
  const content = { encrypted_data: 'data', data_hash: 'hash' }
  const changes = [change({ entity_id: 'y' })]
  const many = Array.from({ length: 101 }, (_, index) => change({ entity_id: `${index}` }))
  const requests: [method: string, path: string, body?: object][] = [
    ['POST', '/api/v1/bookmarks', { id: 'x', ...content }],
    ['PUT', '/api/v1/bookmarks/x', content],
    ['DELETE', '/api/v1/bookmarks/x'],
    ['POST', '/api/v1/sync/push', { changes }],
    ['POST', '/api/v1/sync/push', { changes: many }],
    ['POST', '/api/v1/sync/import', { bookmarks: [{ id: 'z', ...content }] }],
    ['PUT', '/api/v1/account/keyring', { keyring: keyringOf('sealed'), revision: 1 }],
    ['PUT', '/api/v1/account/export-key', { key: Buffer.alloc(32).toString('base64') }],
    ['POST', '/api/v1/auth/logout'],
  ]
  for (const [method, path, body] of requests) await call(method, path, body && { body })
  return requests.map(([method, path]) => `${method} ${path}`)
}

/** Before each 2xx: did the main thread write and sync the log? It handles both the database and the sockets. */
function parse(trace: string, pid: number): { wrote: boolean; synced: boolean }[] {
  const answers: { wrote: boolean; synced: boolean }[] = []
  let wrote = false
  let synced = false
  for (const line of trace.split('\n')) {
    if (!line.startsWith(`${pid} `)) continue
    if (/pwrite64\(\d+<[^>]*bookmarks\.db-wal>/.test(line)) [wrote, synced] = [true, false]
    else if (/f(data)?sync\(\d+<[^>]*bookmarks\.db-wal>/.test(line)) synced = wrote
    else if (/<TCP.*HTTP\/1\.1 2/.test(line)) {
      answers.push({ wrote, synced })
      wrote = synced = false
    }
  }
  return answers
}
