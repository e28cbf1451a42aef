import { spawnSync } from 'node:child_process'
import { chmod, mkdir, open, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Sqlite from 'better-sqlite3'
import t, { type Test } from 'tap'
import { copyDatabase } from '../../src/service/backup/database.ts'
import { makeBackup } from '../../src/service/backup/make.ts'
import { sourceOf } from '../../src/service/backup/schedule.ts'
import { readConfig } from '../../src/service/config/config.ts'
import { copyOf, damageRecords } from '../backup/fixture.ts'
import { openFile } from '../exports/fixture.ts'
import { buildApp, type TestUser } from '../support/app.ts'
import { change, importMany, pullAll } from '../support/changes.ts'
import { runCommand, startCommand } from '../support/command.ts'
import { depth, isDeep } from '../support/depth.ts'
import { createdExport } from '../support/exports.ts'
import { folder, startService } from '../support/service.ts'
import { countUsage } from '../support/usage.ts'

const writers = 8
/** A pause between pushes, so that they leave the machine time for the backup. */
const pauseMs = 10
const large = 60

/** Stores so much data that a copy takes a while. */
async function seed(t: Test, dataDir: string): Promise<{ ada: TestUser; seeded: number }> {
  const { context, user, close } = await buildApp(t, {}, { dataDir })
  const ada = await user('ada')
  const data = { encrypted_data: 'A'.repeat(262_144), data_hash: 'h' }
  const bookmarks = Array.from({ length: large }, (_, index) => ({ id: `${index}`, ...data }))
  await importMany(ada, bookmarks)
  const { last_sequence } = await context.database.db
    .selectFrom('users')
    .select('last_sequence')
    .executeTakeFirstOrThrow()
  await close()
  return { ada, seeded: last_sequence }
}

interface Push {
  ids: string[]
  status: number | undefined
}

/** Sends one push after another until `isOver`. */
async function pushUntil(user: TestUser, name: string, pushes: Push[], isOver: () => boolean): Promise<void> {
  for (let count = 0; !isOver(); count += 1) {
    const ids = Array.from({ length: count % 4 || 101 }, (_, index) => `${name}-${count}-${index}`)
    const push: Push = { ids, status: undefined }
    pushes.push(push)
    const changes = ids.map((entity_id) => change({ entity_id, device_id: name }))
    push.status = (await user.call('POST', '/api/v1/sync/push', { body: { changes } })).status
    await sleep(pauseMs)
  }
}

async function pulledIds(user: TestUser, since: number): Promise<Set<string>> {
  return new Set((await pullAll(user, { since })).changes.map(({ entity_id }) => entity_id))
}
const whole = await seedWhole()

t.test(`A backup taken while ${writers} writers push works as a database, and does not disturb them`, async (t) => {
  const dataDir = await folder(t)
  const backup = join(await folder(t), 'backup')
  const { ada, seeded } = await seed(t, dataDir)
  const service = await startService(t, dataDir, { LOG_LEVEL: 'error' })
  const user = service.as(ada)
  const kept = await createdExport(user)
  const lost = await createdExport(user)
  await rm(join(dataDir, 'exports', `${ada.userId}.${lost.id}.1`))

  const pushes: Push[] = []
  let over = false
  const pushing = Array.from({ length: writers }, (_, index) => pushUntil(user, `w${index}`, pushes, () => over))
  while (pushes.length < 5 * writers) await sleep(1)
  const acknowledged = pushes.filter(({ status }) => status === 200)
  const begun = pushes.length
  const { code, stdout, stderr } = await runCommand(t, 'backup', [backup], { DATA_DIR: dataDir })
  t.ok(pushes.length > begun, `${pushes.length - begun} pushes while it was made, ${acknowledged.length} before`)
  over = true
  await Promise.all(pushing)
  t.same([code, stderr], [0, ''])
  t.match(stdout, `left out: the export ${lost.id}, its file is gone\n`)
  t.match(
    stdout,
    /checked {2}ciphertexts \d+, .*devices 8, .*exports 1, .*logins 1, .*records \d{3,}, .*users 1, versions \d+\n/,
  )
  t.match(stdout, `SECRET_KEY="$(cat ${dataDir}/secret.key)"`, 'the output names the key that is also needed')

  t.same(new Set(pushes.map(({ status }) => status)), new Set([200]), 'no write had an error')
  const there = await pulledIds(user, seeded)
  t.ok(
    pushes.every(({ ids }) => ids.every((id) => there.has(id))),
    'the service has all pushes',
  )
  await service.kill('SIGKILL')
  const later = await runCommand(t, 'backup', [`${backup}-2`], { DATA_DIR: dataDir })
  t.match(later.stdout, ` records ${large + there.size},`, 'a backup after a crash has all of them, too')

  t.same((await readdir(backup, { recursive: true })).toSorted(), [
    'SHA256SUMS',
    'bookmarks.db',
    'exports',
    `exports/${ada.userId}.${kept.id}.1`,
  ])
  t.equal((await stat(join(backup, 'bookmarks.db'))).mode & 0o777, 0o600)
  const SECRET_KEY = (await readFile(join(dataDir, 'secret.key'), 'utf8')).trim()
  const restored = (await buildApp(t, { SECRET_KEY }, { dataDir: backup })).as(ada)
  const saved = await pulledIds(restored, seeded)
  t.ok(
    acknowledged.every(({ ids }) => ids.every((id) => saved.has(id))),
    'the backup has all earlier acknowledged pushes',
  )
  t.ok(
    pushes.every(({ ids }) => new Set(ids.map((id) => saved.has(id))).size === 1),
    'each push is complete or missing',
  )
  t.equal((await restored.call('GET', '/api/v1/sync/status')).body.total_bookmarks, large + saved.size)
  const { raw } = await restored.call('GET', `/api/v1/exports/${kept.id}`)
  const { body } = await restored.call('GET', `/api/v1/account/export-key?export=${kept.id}`)
  t.equal(JSON.parse(await openFile(raw, Buffer.from(body.key, 'base64'))).bookmark_count, large)
  t.equal((await restored.call('GET', `/api/v1/exports/${lost.id}`)).status, 404)
  t.match(await createdExport(restored), { status: 'completed', bookmark_count: large + saved.size })
})

t.test('A backup is of one moment, and writes meanwhile do not make it start over', async (t) => {
  const [from, to] = [join(await folder(t), 'from.db'), join(await folder(t), 'to.db')]
  const rows = 200
  const writer = new Sqlite(from)
  writer.pragma('journal_mode = WAL')
  writer.exec('create table rows (data text)')
  const insert = writer.prepare("insert into rows values (printf('%.*c', 100000, 'x'))")
  for (let row = 0; row < rows; row += 1) insert.run()
  let writes = 0
  let over = false
  const write = () => {
    if (over || writes === rows) return
    insert.run()
    writes += 1
    setImmediate(write)
  }
  setImmediate(write)
  await copyDatabase(from, to)
  over = true
  t.ok(writes > 2, `the backup ended after ${writes} writes`)
  const copy = new Sqlite(to, { readonly: true })
  t.equal(copy.prepare('select count(*) from rows').pluck().get(), rows)
  copy.close()
  writer.close()
})

const kills = depth(1, 8)
const stops = depth(1, 4)

t.test('A killed backup leaves a complete folder or none of that name; a stopped one leaves nothing', async (t) => {
  const dataDir = await folder(t)
  const { ada } = await seed(t, dataDir)
  const parent = await folder(t)
  const names = () => readdir(parent)
  let [round, caught] = [0, 0]
  for (; caught < kills + stops; round += 1) {
    const backup = `backup-${round}`
    const before = (await names()).length
    const command = startCommand(t, 'backup', [join(parent, backup)], { DATA_DIR: dataDir })
    while ((await names()).length === before) await sleep(1)
    await sleep((caught % 4) * 30)
    const signal = caught < kills ? 'SIGKILL' : 'SIGTERM'
    command.kill(signal)
    const { code } = await command.result
    const left = (await names()).filter((name) => name === backup || name.startsWith(`${backup}.`))
    // This backup was complete before the signal.
    if (left.includes(backup)) continue
    caught += 1
    if (signal === 'SIGKILL') t.match(left, [/^backup-\d+\.unfinished-/])
    else t.same([code, left], [1, []])
  }
  t.comment(`${round - caught} of ${round} were done before the signal`)
  const again = join(parent, 'again')
  t.match(await runCommand(t, 'backup', [again], { DATA_DIR: dataDir }), { code: 0 })
  for (const name of (await names()).filter((name) => !name.includes('.'))) {
    const restored = await buildApp(t, {}, { dataDir: join(parent, name) })
    t.same(await countUsage(restored.context, ada.userId), { records: large, bytes: large * 262_144 }, name)
    await restored.close()
  }
})

type Env = Record<string, string>

/** Makes data with an export, and with enough bookmarks to have pages to damage. */
async function seedWhole(): Promise<string> {
  const dataDir = await folder(t)
  const { user, close } = await buildApp(t, {}, { dataDir })
  const ada = await user('ada')
  const data = { encrypted_data: 'A'.repeat(300), data_hash: 'h' }
  const bookmarks = Array.from({ length: 500 }, (_, index) => ({ id: `${index}`, ...data }))
  await ada.call('POST', '/api/v1/sync/import', { body: { bookmarks } })
  await createdExport(ada)
  await close()
  return dataDir
}

/** Changes the database's count of free pages by one, as a faulty disk might. */
async function miscount(dataDir: string): Promise<string> {
  await using file = await open(join(dataDir, 'bookmarks.db'), 'r+')
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, 39)
  const [count = 0] = buffer
  await file.write(Buffer.of(count + 1), 0, 1, 39)
  return dataDir
}

async function refusalOf(t: Test, to: string, env: Env): Promise<string> {
  const { code, stdout, stderr } = await runCommand(t, 'backup', [to], { DATA_DIR: whole, ...env })
  t.same([code, stdout], [1, ''])
  return stderr
}

/** Like `refusalOf`, in this process: runs the parts of the command whose errors it prints. */
async function refusalHere(t: Test, to: string, env: Env): Promise<string> {
  const listeners = process.listenerCount('SIGTERM')
  try {
    await makeBackup(sourceOf(readConfig({ DATA_DIR: whole, ...env })), to)
    return 'none'
  } catch (error) {
    return `${(error as Error).message}\n`
  } finally {
    t.equal(process.listenerCount('SIGTERM'), listeners, 'the backup no longer listens to signals')
  }
}

t.test('If a backup is impossible, one line says why, the exit status is 1, and nothing is left', async (t) => {
  const cwd = await folder(t)
  await mkdir(join(cwd, 'there'))
  await writeFile(join(cwd, 'text'), 'This is no database, but it is long enough to be taken for one. '.repeat(20))
  alter(join(cwd, 'foreign.db'), 'create table users (name text)')
  alter(join(cwd, 'newer.db'), 'create table applied_migrations (name text, is_required integer, applied_at bigint)')
  alter(join(cwd, 'newer.db'), "insert into applied_migrations values ('9999-later', 1, 0)")
  const orphaned = await copyOf(t, whole)
  const damaged = await damageRecords(await copyOf(t, whole))
  const miscounted = await miscount(await copyOf(t, whole))
  alter(join(orphaned, 'bookmarks.db'), 'pragma foreign_keys = off; delete from users')
  const ownerless = await copyOf(t, whole)
  alter(join(ownerless, 'bookmarks.db'), "insert into ciphertexts values ('nobody', 1, 'data')")

  const to = join(cwd, 'backup')
  const sqlite = (name: string): Env => ({ DATABASE_URL: `sqlite:${join(cwd, name)}` })
  const faults: [what: string, to: string, env: Env, line: RegExp][] = [
    ['an existing file', join(cwd, 'text'), {}, /text is there already/],
    ['a folder in a missing folder', join(cwd, 'no/backup'), {}, /no\/backup cannot be written \(ENOENT/],
    ['a folder below a file', join(cwd, 'text/backup'), {}, /text\/backup cannot be written \(ENOTDIR/],
    ['no database', to, sqlite('no.db'), /^DATABASE_URL: .*no\.db cannot be opened/],
    ['a database that is a folder', to, sqlite('there'), /^DATABASE_URL: .*there cannot be opened/],
    ['a text file', to, sqlite('text'), /^DATABASE_URL: .*text is damaged \(file is not a database/],
    ['a foreign database', to, sqlite('foreign.db'), /^DATABASE_URL: .*foreign\.db is not a database of this/],
    ['a newer database', to, sqlite('newer.db'), /^DATABASE_URL: .*newer version; take the command from that one/],
    ['a damaged database', to, { DATA_DIR: damaged }, /^DATABASE_URL: .*bookmarks\.db is damaged \(/],
    ['a database that miscounts', to, { DATA_DIR: miscounted }, /^DATABASE_URL: .* is damaged \(.*Freelist/],
    [
      'devices without a user',
      to,
      { DATA_DIR: orphaned },
      /^DATABASE_URL: .* is damaged \(.* refers to users that are gone/,
    ],
    [
      'ciphertexts without a user',
      to,
      { DATA_DIR: ownerless },
      /^DATABASE_URL: .* is damaged \(ciphertexts refers to users that are gone/,
    ],
    ['other exports', to, { EXPORTS_DIR: join(cwd, 'no') }, /^EXPORTS_DIR: .*no cannot be read/],
    ['a wrong environment', to, { NODE_ENV: 'staging' }, /^SECRET_KEY is required in staging/],
  ]
  const before = (await readdir(cwd)).toSorted()
  const said: Record<string, string> = {}
  for (const [index, [what, to, env]] of faults.entries()) {
    // The first one runs the real command, to check that it prints the error.
    said[what] = isDeep || index === 0 ? await refusalOf(t, to, env) : await refusalHere(t, to, env)
  }
  t.match(said, Object.fromEntries(faults.map(([what, , , line]) => [what, line])))
  t.same(
    Object.values(said).filter((line) => line.trim().includes('\n')),
    [],
  )
  const after = (await readdir(cwd)).filter((name) => !/-(wal|shm)$/.test(name)).toSorted()
  t.same(after, before)
})

function alter(path: string, sql: string): void {
  const sqlite = new Sqlite(path)
  sqlite.exec(sql)
  sqlite.close()
}

t.test('The same command makes a new backup each time, each in a new folder inside an existing one', async (t) => {
  const cwd = await folder(t)
  const names = async (path: string) => (await readdir(path)).sort()
  for (const place of isDeep ? [join(cwd, 'copies/'), cwd] : [join(cwd, 'copies/')]) {
    const before = await names(place).catch((): string[] => [])
    for (const _ of [1, 2])
      t.match(await runCommand(t, 'backup', [place], { DATA_DIR: whole }), { code: 0, stderr: '' })
    const made = (await names(place)).filter((name) => !before.includes(name))
    t.equal(made.filter((name) => /^\d{4}-\d\d-\d\dT[\d-]+Z$/.test(name)).length, 2)
    for (const name of made.filter((name) => name.endsWith('Z')))
      t.same(await names(join(place, name)), ['SHA256SUMS', 'bookmarks.db', 'exports'])
  }
})

t.test('A folder made for a failed or stopped backup is removed; an existing one stays', async (t) => {
  const cwd = await folder(t)
  await mkdir(join(cwd, 'there'))
  const DATABASE_URL = `sqlite:${join(cwd, 'no.db')}`
  for (const name of ['made/', 'there/'])
    t.match(await runCommand(t, 'backup', [join(cwd, name)], { DATA_DIR: whole, DATABASE_URL }), { code: 1 })
  t.same(await readdir(cwd), ['there'])
  const command = startCommand(t, 'backup', [join(cwd, 'stopped/')], { DATA_DIR: whole })
  while ((await readdir(join(cwd, 'stopped')).catch(() => [])).length === 0) await sleep(1)
  command.kill('SIGTERM')
  await command.result
  const isDone = (await readdir(join(cwd, 'stopped')).catch(() => [])).some((name) => name.endsWith('Z'))
  t.same(await readdir(cwd), isDone ? ['stopped', 'there'] : ['there'], 'the backup may have ended before the signal')
})

t.test('An export with an incomplete file is left out and reported', async (t) => {
  const dataDir = await copyOf(t, whole)
  const [name = ''] = await readdir(join(dataDir, 'exports'))
  await writeFile(join(dataDir, 'exports', name), 'cut off')
  const to = join(await folder(t), 'backup')
  const { code, stdout } = await runCommand(t, 'backup', [to], { DATA_DIR: dataDir })
  t.equal(code, 0)
  t.match(stdout, new RegExp(`^left out: the export ${name.split('.')[1]}, its file has 7 bytes instead of \\d+\n`))
  t.same(await readdir(join(to, 'exports')), [])
})

t.test('Exports in a bucket are not copied, and the command says so', async (t) => {
  const to = join(await folder(t), 'backup')
  const s3 = { S3_ENDPOINT: 'https://127.0.0.1:1', S3_BUCKET: 'exports', S3_ACCESS_KEY: 'a', S3_SECRET_KEY: 'hidden' }
  const SECRET_KEY = Buffer.alloc(32, 7).toString('base64')
  const { code, stdout } = await runCommand(t, 'backup', [to], { DATA_DIR: whole, SECRET_KEY, ...s3 })
  t.equal(code, 0)
  t.match(stdout, /checked {2}.*exports 1,/)
  t.match(stdout, /The export files are in the bucket exports, which is not copied/)
  t.match(stdout, /SECRET_KEY is not in it/)
  t.notMatch(stdout, /hidden/)
  t.notOk(stdout.includes(SECRET_KEY))
})

t.test('For Postgres, ebs backup prints the commands to run, without the password, and exits with 1', async (t) => {
  const to = join(await folder(t), 'backup')
  const DATABASE_URL = 'postgres://ebs:hidden@127.0.0.1:1/bookmarks'
  const { code, stdout, stderr } = await runCommand(t, 'backup', [to], { DATABASE_URL, DATA_DIR: 'data' })
  t.same([code, stdout], [1, ''])
  t.match(stderr, /^DATABASE_URL: nothing was backed up/)
  await t.rejects(stat(to), { code: 'ENOENT' })
  const [line = ''] = /^.* pg_dump .*$/m.exec(stderr) ?? []
  const tools = t.testdir({ pg_dump: '#!/bin/sh\nprintf "%s\\n" "$@" >"$(echo "$2" | cut -d = -f 2)"' })
  await chmod(join(tools, 'pg_dump'), 0o700)
  spawnSync('sh', ['-c', line], { env: { PATH: `${tools}:${process.env.PATH}` } })
  const dump = join(to, 'bookmarks.dump')
  const seen = await readFile(dump, 'utf8')
  t.equal(seen, `--format=custom\n--file=${dump}\npostgres://ebs@127.0.0.1:1/bookmarks\n`, 'what `ps` shows')
  t.equal((await stat(dump)).mode & 0o777, 0o600)
  t.match(stderr, 'After the dump, copy the export files: data/exports\n')
  t.notMatch(stderr, /hidden/)
})
