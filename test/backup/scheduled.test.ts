import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readlinkSync } from 'node:fs'
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import Sqlite from 'better-sqlite3'
import fc from 'fast-check'
import type { FastifyBaseLogger } from 'fastify'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { openClient } from '../../scripts/servers/minio.ts'
import { bucketShelf } from '../../src/service/backup/bucket.ts'
import { openCopy } from '../../src/service/backup/database.ts'
import { makeBackup } from '../../src/service/backup/make.ts'
import { type Backups, scheduleBackups } from '../../src/service/backup/schedule.ts'
import { byAge, folderShelf, nameOf, type Shelf, tooMany } from '../../src/service/backup/shelf.ts'
import { readConfig } from '../../src/service/config/config.ts'
import { openAdmin } from '../support/admin.ts'
import { buildApp } from '../support/app.ts'
import { change, pullAll, push } from '../support/changes.ts'
import { runCommand } from '../support/command.ts'
import { isDeep } from '../support/depth.ts'
import { silent } from '../support/log.ts'
import { sharedMinio } from '../support/minio.ts'
import { folder } from '../support/service.ts'
import { until } from '../support/until.ts'

/** A data folder with one change. */
async function seed(t: Test, env: Record<string, string> = {}) {
  const dataDir = await folder(t)
  const { user, close } = await buildApp(t, env, { dataDir })
  const ada = await user('ada')
  await push(ada, change({ entity_id: 'saved' }))
  await close()
  return { dataDir, ada }
}

/** Sends a backup to the bucket under this name, which contains its time. */
async function sendAs(t: Test, name: string, dataDir: string, env: Record<string, string>): Promise<void> {
  const { s3, secretKeys = [] } = readConfig({ DATA_DIR: dataDir, ...env })
  if (!s3) throw new Error('no bucket')
  const source = { database: join(dataDir, 'bookmarks.db'), exportsDir: undefined }
  const dir = await folder(t)
  const made = folderShelf(dir, (path) => makeBackup(source, path))
  await bucketShelf(s3, secretKeys, dir, made).add(name, new AbortController().signal)
}

function find(log: string[], msg: string): object | undefined {
  return log.map((line) => JSON.parse(line)).find((line) => line.msg === msg)
}

t.test('BACKUP_EVERY makes backups in a folder, ignores unfinished ones, and logs and counts failures', async (t) => {
  const { dataDir, ada } = await seed(t)
  const dir = join(await folder(t), 'backups')
  const unfinished = join(dir, '2026-01-01T00-00-00-000Z.unfinished-abc')
  await mkdir(join(dir, 'of somebody else'), { recursive: true })
  await mkdir(unfinished)
  await makeBackup(
    { database: join(dataDir, 'bookmarks.db'), exportsDir: undefined },
    join(dir, '2025-01-01T00-00-00-000Z'),
  )
  await writeFile(join(unfinished, 'bookmarks.db'), 'half')
  const started = Date.now() / 1000
  const app = await buildApp(t, { BACKUP_EVERY: '1h', BACKUP_KEEP: '1', BACKUP_TO: dir }, { dataDir })
  const { scrapeUntil } = openAdmin(t, app)
  const metrics = await scrapeUntil((metrics) => Number(metrics.value('ebs_backup_last_success_seconds')) >= started)
  t.equal(metrics.value('ebs_backup_failures_total'), 0)
  await until(async () => (await readdir(dir)).length === 2)
  const [name = '', ...others] = (await readdir(dir)).sort()
  t.match(name, /^\d{4}-\d\d-\d\dT[\d-]+Z$/)
  t.same(others, ['of somebody else'], 'unfinished backups and those beyond BACKUP_KEEP are removed')
  t.match(find(app.log, 'made a backup'), { level: 30, backup: name })
  await app.close()

  const restored = await buildApp(t, {}, { dataDir: join(dir, name) })
  t.match((await pullAll(restored.as(ada))).changes, [{ entity_id: 'saved' }])
  await restored.close()

  const stopped = await buildApp(t, { BACKUP_EVERY: '1h', BACKUP_TO: `${dir}-2` }, { dataDir })
  const entries = async () => readdir(`${dir}-2`).catch(() => [])
  await until(async () => (await entries()).length > 0)
  await stopped.close()
  t.same(
    (await entries()).filter((name) => name.includes('unfinished')),
    [],
    'a stop ends a running backup, and leaves nothing',
  )

  await rm(dir, { recursive: true })
  await writeFile(dir, 'a file is in the way')
  const refused = buildApp(t, { BACKUP_EVERY: '1h', BACKUP_TO: dir }, { dataDir })
  await t.rejects(refused, { name: 'ConfigError', message: /^BACKUP_TO: \S+ cannot be written \(/ })

  const away = { S3_ENDPOINT: 'https://127.0.0.1:1', S3_BUCKET: 'abc', S3_ACCESS_KEY: 'a', S3_SECRET_KEY: 'b' }
  const failing = await buildApp(t, { ...away, BACKUP_EVERY: '1h', BACKUP_TO: 's3' }, { dataDir })
  const { scrapeUntil: scrapeFailing } = openAdmin(t, failing)
  const failed = await scrapeFailing((metrics) => Number(metrics.value('ebs_backup_failures_total')) === 1)
  t.equal(failed.value('ebs_backup_last_success_seconds'), 0)
  t.match(find(failing.log, 'a backup failed'), { level: 50, err: { message: /^S3_ENDPOINT: / } })
  t.equal((await failing.call('GET', '/api/v1/health')).status, 200)
})

t.test('A start refuses a BACKUP_TO that is read-only, and goes on while its disk is full', async (t) => {
  const mount = (...args: string[]) => spawnSync('mount', args).status === 0
  const { dataDir } = await seed(t)
  const disk = await folder(t)
  if (!mount('-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', disk)) return t.plan(0, 'needs the right to mount a disk')
  t.teardown(() => spawnSync('umount', [disk]))
  const env = { BACKUP_EVERY: '1h', BACKUP_TO: disk }
  await writeFile(join(disk, 'full'), Buffer.alloc(64 * 1024)).catch(() => {})
  const full = await buildApp(t, env, { dataDir })
  await until(async () => find(full.log, 'a backup failed') !== undefined)
  await full.close()
  t.ok(mount('-o', 'remount,ro', disk))
  await t.rejects(buildApp(t, env, { dataDir }), {
    name: 'ConfigError',
    message: /^BACKUP_TO: \S+ cannot be written \(EROFS/,
  })
})

t.test('BACKUP_TO=s3 sends encrypted backups to the bucket, and npm run restore fetches one', async (t) => {
  const minio = await sharedMinio(t)
  if (typeof minio === 'string') return t.plan(0, minio)
  const [own, other] = [Buffer.alloc(32, 1).toString('base64'), Buffer.alloc(32, 2).toString('base64')]
  const { dataDir, ada } = await seed(t, { SECRET_KEY: own })
  const store = await minio.createBucket()
  const env = { ...store, BACKUP_EVERY: '1d', BACKUP_TO: 's3', BACKUP_KEEP: '1' }
  const client = await openClient(store)
  const list = async () => {
    const { objects } = await client.listObjectsV2Query(store.S3_BUCKET, '', '', '', 1000, '')
    return objects.map(({ name = '' }) => name)
  }
  await sendAs(t, '2026-01-01T00-00-00-000Z', dataDir, { ...env, SECRET_KEY: own })
  const local = join(dataDir, 'backups/2025-01-01T00-00-00-000Z')
  await mkdir(local, { recursive: true })
  const app = await buildApp(t, { ...env, SECRET_KEY: own }, { dataDir })
  const { scrapeUntil } = openAdmin(t, app)
  await scrapeUntil((metrics) => Number(metrics.value('ebs_backup_last_success_seconds')) > 1_780_000_000)
  await until(async () => (await list()).length === 2)
  const [name = '', sum = ''] = await list()
  t.equal(sum, name.replace(/db$/, 'sha256'))
  t.match(name, /^backups\/\d{4}-.*Z\.db$/)
  await t.rejects(client.getObject(store.S3_BUCKET, name), 'the store has no key')
  t.same(await readdir(join(dataDir, 'unsent-backup')), [], 'no part of the backup stays on the disk')
  t.same(await readdir(join(dataDir, 'backups')), [basename(local)], 'local backups from before the bucket stay')
  await app.close()

  t.match(find(app.log, 'made a backup'), { needs: /^SECRET_KEY: / })

  if (!isDeep) return
  const empty = await folder(t)
  const restore = (SECRET_KEY: string) => runCommand(t, 'restore', ['latest'], { ...env, DATA_DIR: empty, SECRET_KEY })
  t.match(await restore(other), { code: 1, stderr: /^SECRET_KEY: none of its keys opens the backup 2/ })
  t.match(await restore(`${other},${own}`), { code: 0, stderr: '' })
  const listed = (SECRET_KEY: string) => runCommand(t, 'restore', ['--list'], { ...env, DATA_DIR: empty, SECRET_KEY })
  t.match((await listed(own)).stdout, /^2\S+ {2}\d+ bytes, opens with SECRET_KEY\n1 backups in /)
  t.match((await listed(other)).stdout, /^2\S+ {2}unknown size, opens with no key of SECRET_KEY\n/)
  const restored = await buildApp(t, { SECRET_KEY: own }, { dataDir: empty })
  t.match((await pullAll(restored.as(ada))).changes, [{ entity_id: 'saved' }])
})

const hourMs = 3_600_000

/** A store of backups that have only names. `make` decides how each attempt ends. */
function fakeShelf(names: string[], make: () => Promise<void> = async () => {}) {
  const seen = { attempts: 0, atOnce: 0 }
  let open = 0
  const shelf: Shelf = {
    list: async () => [...names],
    async add(name) {
      seen.attempts += 1
      open += 1
      seen.atOnce = Math.max(seen.atOnce, open)
      await make().finally(() => {
        open -= 1
      })
      names.push(name)
      return { leftOut: 0 }
    },
    async remove(name) {
      names.splice(names.indexOf(name), 1)
    },
    databaseIdOf: async () => 'own',
  }
  return { shelf, seen, names }
}

const believed = { isBelieved: async () => true, behindMs: (_at: number) => 0 }

function schedule(
  t: Test,
  shelf: Shelf,
  options: { everyMs?: number; keep?: number; clockGuard?: typeof believed; log?: FastifyBaseLogger } = {},
): Backups {
  const backups = scheduleBackups({
    everyMs: hourMs,
    keep: 2,
    shelf,
    databaseId: 'own',
    clockGuard: believed,
    log: silent,
    pauseMs: 5,
    ...options,
  })
  t.teardown(() => backups.close())
  return backups
}

t.test('A backup is due once the newest is older than BACKUP_EVERY; afterwards surplus ones are removed', async (t) => {
  const old = [5, 4, 3, 2].map((hours) => nameOf(Date.now() - hours * hourMs))
  const { shelf, seen, names } = fakeShelf([...old])
  const backups = schedule(t, shelf)
  await until(() => names.length === 2)
  t.same([names[0], seen.attempts], [old.at(-1), 1])
  t.equal(nameOf(backups.lastSuccess()), names[1])

  const recent = nameOf(Date.now() - hourMs / 2)
  const early = fakeShelf([recent])
  const waiting = schedule(t, early.shelf)
  await until(() => waiting.lastSuccess() > 0)
  t.same([nameOf(waiting.lastSuccess()), early.seen.attempts], [recent, 0], 'no backup is made too early')

  const future = fakeShelf([nameOf(Date.now() + 24 * hourMs)])
  schedule(t, future.shelf)
  await until(() => future.seen.attempts === 1)
})

t.test('A backup from the future counts as the oldest, and the one just made is never removed', async (t) => {
  const [future, good] = [nameOf(Date.now() + 40 * 24 * hourMs), nameOf(Date.now() - 2 * hourMs)]
  const lines: string[] = []
  const log = pino({ level: 'error' }, { write: (line) => lines.push(line) })
  const { shelf, names } = fakeShelf([good, future])
  const backups = schedule(t, shelf, { keep: 1, log })
  await until(() => names.length === 1)
  t.same(names, [nameOf(backups.lastSuccess())])
  t.match(lines.join(''), `"backups":["${future}"],"msg":"there are backups from the future: look at the clock"`)
})

t.test('Commands that only read write nothing into the bucket, not even a test object', async (t) => {
  const minio = await sharedMinio(t)
  if (typeof minio === 'string') return t.plan(0, minio)
  const SECRET_KEY = Buffer.alloc(32, 4).toString('base64')
  const { dataDir } = await seed(t, { SECRET_KEY })
  const store = await minio.createBucket()
  const env = { ...store, SECRET_KEY, BACKUP_EVERY: '1d', BACKUP_TO: 's3' }
  const made = nameOf(Date.now() - 2 * hourMs)
  await sendAs(t, made, dataDir, env)
  const client = await openClient(store)
  // With versioning, the bucket also keeps objects that existed only for a moment.
  await client.setBucketVersioning(store.S3_BUCKET, { Status: 'Enabled' })
  const versions = async () =>
    (await client.listObjects(store.S3_BUCKET, '', true, { IncludeVersion: true }).toArray()).map(({ name }) => name)
  const before = await versions()
  t.same(before, [`backups/${made}.db`, `backups/${made}.sha256`])

  const on = { ...env, DATA_DIR: dataDir, PORT: '0' }
  const findings = JSON.parse((await runCommand(t, 'doctor', ['--json'], on)).stdout) as { about: string }[]
  t.match(
    findings.filter(({ about }) => /^(bucket|backups)$/.test(about)),
    [
      { state: 'ok', says: /^\S+ can be listed; only the start tests that it accepts objects/ },
      { state: 'ok', says: 'the newest of 1 is 2 h old' },
    ],
  )
  t.match((await runCommand(t, 'restore', ['--list'], on)).stdout, /^2\S+ {2}\d+ bytes, opens with SECRET_KEY\n/)
  t.match(await runCommand(t, 'restore', ['--check'], on), { code: 0, stderr: '' })
  t.same(await versions(), before)
})

t.test('A backup by a machine whose clock is some seconds ahead is not from the future', (t) => {
  const now = Date.now()
  const names = [-hourMs, 30_000, hourMs].map((ms) => nameOf(now + ms))
  const [old, recent, future] = names
  t.same(byAge(names, now), { oldestFirst: [future, old, recent], fromFuture: [future] })
  t.end()
})

t.test('With any clocks, the backup just made is kept, and the newest others up to BACKUP_KEEP', async (t) => {
  const hours = fc.integer({ min: -400, max: 400 })
  const moment = (hour: number) => Date.UTC(2026, 10, 24) + hour * hourMs
  fc.assert(
    fc.property(
      fc.uniqueArray(hours, { maxLength: 8 }),
      hours,
      hours,
      fc.integer({ min: 1, max: 5 }),
      (old, at, set, keep) => {
        const made = nameOf(moment(at) + 1)
        const all = [...old.map((hour) => nameOf(moment(hour))), made]
        // The clock may have been set while the backup was made.
        const now = moment(set)
        const gone = tooMany(all, made, keep, now)
        const { oldestFirst } = byAge(
          all.filter((name) => name !== made),
          now,
        )
        const left = oldestFirst.filter((name) => !gone.includes(name))
        return (
          !gone.includes(made) &&
          left.length === Math.min(old.length, keep - 1) &&
          left.every((name, n) => name === oldestFirst.at(n - left.length))
        )
      },
    ),
  )
  t.pass()
})

t.test('While the clock is not believed or is behind, no backup is removed', async (t) => {
  for (const [isBelieved, behindMs] of [
    [false, 0],
    [true, 24 * hourMs],
  ] as const) {
    const old = [-4, 5].map((hours) => nameOf(Date.now() - hours * hourMs))
    const { shelf, names } = fakeShelf([...old])
    const asked = Promise.withResolvers<void>()
    const clockGuard = {
      isBelieved: async () => {
        asked.resolve()
        return isBelieved
      },
      behindMs: () => behindMs,
    }
    const backups = schedule(t, shelf, { keep: 1, clockGuard })
    await asked.promise
    await backups.close()
    t.equal(names.length, 3)
  }
})

t.test('A failed backup is retried and counted, and removes no other', async (t) => {
  const old = [3, 2, 1].map((hours) => nameOf(Date.now() - hours * hourMs))
  const { shelf, seen, names } = fakeShelf([...old], async () => {
    if (seen.attempts <= 2) throw new Error('no space left on device')
    await waiting.promise
  })
  const waiting = Promise.withResolvers<void>()
  const backups = schedule(t, shelf)
  await until(() => seen.attempts === 3)
  t.same([names, backups.failures()], [old, 2])
  waiting.resolve()
  await until(() => names.length === 2)
  t.equal(backups.failures(), 2)
})

t.test('Backups never overlap, even with a short BACKUP_EVERY', async (t) => {
  const { shelf, seen } = fakeShelf([], () => new Promise((resolve) => setTimeout(resolve, 10)))
  schedule(t, shelf, { everyMs: 1 })
  await until(() => seen.attempts >= 4)
  t.equal(seen.atOnce, 1)
})

t.test('A refused copy is closed at once', async (t) => {
  const path = join(await folder(t), 'other.db')
  new Sqlite(path).exec('create table other (id text)').close()
  t.throws(() => openCopy(path, 'other.db'), { message: 'other.db is not a database of this service' })
  t.notOk(isOpen(path), 'the copy is closed before garbage collection')
})

function isOpen(path: string): boolean {
  const descriptors = readdirSync('/proc/self/fd').map((number) => `/proc/self/fd/${number}`)
  // The file in the folder itself has been deleted by now.
  return descriptors.some((descriptor) => existsSync(descriptor) && readlinkSync(descriptor) === path)
}
