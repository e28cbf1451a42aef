/** A full or faulty disk. Other instances would have the same fault, so the service stays ready. */
import { spawnSync } from 'node:child_process'
import { open, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { openForCommand } from '../../src/service/db/for-command.ts'
import { openAdmin } from '../support/admin.ts'
import { buildApp, type TestApp } from '../support/app.ts'
import { change } from '../support/changes.ts'
import { runCommand } from '../support/command.ts'
import { isDeep } from '../support/depth.ts'
import { createdExport } from '../support/exports.ts'
import { silent } from '../support/log.ts'
import { folder, run, startService } from '../support/service.ts'
import { until } from '../support/until.ts'

t.test('With a full disk, writes get 503, reads work, the service stays ready, and the log reports it', async (t) => {
  const app = await buildApp(t)
  const { db } = app.context.database
  const { scrape } = openAdmin(t, app)
  const [ada, bob] = [await app.user('ada'), await app.user('bob')]
  const push = (entity_id: string) => {
    const changes = [change({ entity_id, encrypted_data: 'x'.repeat(200_000) })]
    return ada.call('POST', '/api/v1/sync/push', { body: { changes } })
  }
  t.equal((await push('before')).status, 200)
  t.same((await scrape()).byLabel('ebs_database_faults_total'), { full: 0, failing: 0, damaged: 0 })
  await sql`pragma max_page_count = 1`.execute(db)
  const refused = await push('too much')
  t.match([refused.status, refused.headers['retry-after']], [503, '1'])
  t.equal((await bob.call('GET', '/api/v1/bookmarks')).status, 200)
  await isReadyWith(t, app, 'unhealthy', ['full'])
  t.equal(app.log.filter((line) => line.includes('SQLITE_FULL')).length, 1, 'the request logs no second error')
  t.equal(countErrors(app, "the database's disk is full", 'SQLITE_FULL'), 1)
  const beside = await openForCommand(app.context.config.databaseUrl, silent)
  await sql`pragma max_page_count = 1`.execute(beside.db)
  const large = beside.write((trx) => sql`create table filler as select zeroblob(1000000)`.execute(trx))
  await t.rejects(large, { code: 'SQLITE_FULL' }, 'a command sees the error despite the rollback')
  await beside.close()
  t.same((await scrape()).byLabel('ebs_database_faults_total'), { full: 1, failing: 0, damaged: 0 })

  const { write } = app.context.database
  app.context.database.write = () => Promise.reject(Object.assign(new Error('no space'), { code: 'ENOSPC' }))
  t.ok(Math.abs((await app.context.database.probe()) - Date.now()) < 60_000, 'a probe needs no space')
  const pull = (since: number) =>
    ada.call('POST', '/api/v1/sync/pull', { body: { since }, headers: { 'x-device-id': 'new' } })
  const pulled = await pull(0)
  t.match([pulled.status, pulled.body.changes], [200, [{ entity_id: 'before' }]], 'the cursor is not stored')
  t.equal((await pull(pulled.body.last_sync_timestamp)).status, 200)
  t.equal((await push('too much')).status, 503)
  app.context.database.write = write

  await sql`pragma max_page_count = 100000`.execute(db)
  t.equal((await push('after')).status, 200)
  letMinutePass(t)
  await until(async () => (await app.call('GET', '/api/v1/health')).body.status === 'degraded')
  t.same((await app.app.inject('/readyz')).json(), { status: 'degraded', down: ['provider'] })
})

t.test("With one user's page damaged, the service stays ready and serves others; `check` names the user", async (t) => {
  const dataDir = await folder(t)
  const before = await buildApp(t, {}, { dataDir })
  const [ada, bob] = [await before.user('ada'), await before.user('bob')]
  for (const user of [ada, bob]) {
    const of = user === ada ? 'stored-by-ada-' : 'stored-by-bob-'
    const changes = Array.from({ length: 40 }, (_, n) =>
      change({ entity_id: `${n}`, encrypted_data: of.repeat(150), data_hash: of }),
    )
    t.equal((await user.call('POST', '/api/v1/sync/push', { body: { changes } })).status, 200)
  }
  await before.context.database.emptyLog()
  const env = { DATA_DIR: dataDir }
  const check = () => runCommand(t, 'admin', ['check'], env)
  t.match(await check(), { code: 0, stdout: 'checked 2 users, 0 with damaged rows\n' })
  await before.close()
  await damage(join(dataDir, 'bookmarks.db'), 'stored-by-ada-', 'stored-by-bob-')

  const app = await buildApp(t, {}, { dataDir })
  const { scrape } = openAdmin(t, app)
  await until(async () => (await app.app.inject('/readyz')).json().status === 'degraded')
  const refused = await app.as(ada).call('POST', '/api/v1/sync/pull')
  t.match([refused.status, refused.headers['retry-after']], [503, '1'])
  const served = [
    await app.as(bob).call('POST', '/api/v1/sync/pull'),
    await app.as(bob).call('GET', '/api/v1/bookmarks'),
  ]
  t.match(served, [{ status: 200 }, { status: 200 }])
  await isReadyWith(t, app, 'degraded', ['damaged'])
  t.equal(countErrors(app, 'a part of the database is damaged', 'SQLITE_CORRUPT'), 1)
  t.equal((await scrape()).byLabel('ebs_database_faults_total').damaged, 1)

  const { code, stdout } = await check()
  t.equal(code, 1)
  t.match(stdout, `${ada.userId}  "ada@example.org"  damaged: ciphertexts (SQLITE_CORRUPT`)
  t.notMatch(stdout, bob.userId)
  t.match(stdout, /^the file: .*/m)
  t.match(stdout, /checked 2 users, 1 with damaged rows\n$/)
})

t.test('The service starts on a full disk after a stop or a crash; only writes fail', async (t) => {
  const { dir, fill } = await smallDisk(t)
  if (dir === undefined) return
  const dataDir = join(dir, 'data')
  const before = await buildApp(t, {}, { dataDir })
  const ada = await before.user('ada')
  const { id } = await createdExport(ada)
  await before.close()
  const push = (entity_id: string) => ({
    body: { changes: [change({ entity_id, encrypted_data: 'x'.repeat(50_000) })] },
  })

  for (const end of isDeep ? (['SIGTERM', 'SIGKILL', 'SIGTERM'] as const) : (['SIGKILL'] as const)) {
    const service = await startService(t, dataDir)
    t.equal((await service.as(ada).call('POST', '/api/v1/sync/push', push(`before ${end}`))).status, 200)
    await service.kill(end)
    const filler = await fill()
    const full = await startService(t, dataDir)
    const { call } = full.as(ada)
    await until(async () => (await call('GET', '/api/v1/health')).body.status === 'unhealthy')
    const pulled = await call('POST', '/api/v1/sync/pull')
    t.match([pulled.status, pulled.body.changes.at(-1).entity_id], [200, `before ${end}`])
    t.equal((await call('GET', '/api/v1/bookmarks')).status, 200)
    t.equal((await call('GET', `/api/v1/exports/${id}`)).status, 200)
    // A start releases its reserve file, so the first few pushes still succeed.
    await until(async () => (await call('POST', '/api/v1/sync/push', push('too much'))).status === 503)
    t.equal((await call('POST', '/api/v1/sync/pull', { headers: { 'x-device-id': 'new' } })).status, 200)
    t.same((await fetch(`${full.origin}/readyz`)).status, 200)
    await full.kill(end)
    const still = await startService(t, dataDir)
    t.equal((await still.as(ada).call('GET', '/api/v1/bookmarks')).status, 200, 'it starts a second time, too')
    await still.kill(end)

    await rm(filler)
    const after = await startService(t, dataDir)
    t.equal((await after.as(ada).call('POST', '/api/v1/sync/push', push('after'))).status, 200)
    await after.kill('SIGTERM')
  }

  const refusal = async (path: string) => {
    const { exited, stderr } = run(t, { DATA_DIR: path, SECRET_KEY: Buffer.alloc(32, 1).toString('base64') })
    t.equal((await exited).code, 1)
    return stderr()
  }
  asRoot('mount', '-o', 'remount,ro', dir)
  t.match(await refusal(dataDir), /^DATABASE_URL: .*bookmarks\.db cannot be .*EROFS: read-only file system/)
  asRoot('mount', '-o', 'remount,rw', dir)
  await fill()
  t.match(await refusal(join(dir, 'new')), /^DATABASE_URL: .* cannot be .*ENOSPC: no space left on device/)
})

/** Runs the command as this user or with sudo. Returns whether one of them succeeded. */
function asRoot(command: string, ...args: string[]): boolean {
  return [[], ['sudo', '-n']].some((first) => {
    const [program = '', ...words] = [...first, command, ...args]
    return spawnSync(program, words).status === 0
  })
}

/** Mounts a disk of 24 MiB. Undefined if that is not permitted. */
async function smallDisk(t: Test) {
  const dir = await folder(t)
  if (!asRoot('mount', '-t', 'tmpfs', '-o', 'size=24m,mode=0777', 'tmpfs', dir)) {
    t.comment('SKIPPED: mounting a small disk is not permitted here. The first test covers a disk that fills up')
    return {}
  }
  t.teardown(() => asRoot('umount', '-l', dir))
  return {
    dir,
    /** Fills the disk with a file. Returns its path. */
    async fill() {
      const path = join(dir, `filler-${performance.now()}`)
      await using file = await open(path, 'w')
      for (const bytes of [1024 * 1024, 4096]) {
        const rest = Buffer.alloc(bytes)
        while (
          await file.write(rest).then(
            () => true,
            () => false,
          )
        );
      }
      return path
    },
  }
}

async function isReadyWith(t: Test, { app, call }: TestApp, status: string, faults: string[]): Promise<void> {
  await until(async () => (await app.inject('/readyz')).json().down !== undefined)
  const ready = await app.inject('/readyz')
  t.same([ready.statusCode, ready.json()], [200, { status, down: ['provider'], faults }])
  t.equal((await call('GET', '/api/v1/health')).body.status, status)
}

/** The number of logged errors with this message and code. */
function countErrors({ log }: TestApp, message: string, code: string): number {
  return log.filter((line) => [message, code, '"level":50'].every((part) => line.includes(part))).length
}

/** Overwrites the head of a database page that contains the one text and not the other. */
async function damage(path: string, text: string, other: string): Promise<void> {
  const content = (await readFile(path)).toString('latin1')
  const size = Buffer.from(content.slice(16, 18), 'latin1').readUInt16BE()
  const pages = Array.from({ length: content.length / size }, (_, n) => content.slice(n * size, (n + 1) * size))
  const found = pages.findIndex((page) => page.split(text).length > 100 && !page.includes(other))
  if (found < 0) throw new Error('no page has that text alone')
  await using file = await open(path, 'r+')
  await file.write(Buffer.alloc(64, 0xff), 0, 64, found * size)
}

function letMinutePass(t: Test): void {
  const { now } = performance
  t.teardown(() => Object.assign(performance, { now }))
  performance.now = () => now.call(performance) + 61_000
}
