import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { bundleFolder } from '../../scripts/test/build.ts'
import { nameOf } from '../../src/service/backup/shelf.ts'
import { copyOf, damageRecords } from '../backup/fixture.ts'
import { buildApp, type TestUser } from '../support/app.ts'
import { change, pullAll } from '../support/changes.ts'
import { runCommand, startCommand } from '../support/command.ts'
import { depth, isDeep } from '../support/depth.ts'
import { createdExport } from '../support/exports.ts'
import { keyringOf, replaceKeyring } from '../support/keyrings.ts'
import { folder } from '../support/service.ts'

const seeded = await seed(t)

t.test('latest is never a backup from the future, which a wrong clock has named', async (t) => {
  const BACKUP_TO = await folder(t)
  const [good, future] = [-3_600_000, 40 * 86_400_000].map((ms) => nameOf(Date.now() + ms))
  for (const name of [good, future]) await cp(seeded.backup, join(BACKUP_TO, name as string), { recursive: true })
  const DATA_DIR = await folder(t)
  await cp(join(seeded.dataDir, 'secret.key'), join(DATA_DIR, 'secret.key'))
  const listed = await runCommand(t, 'restore', ['--list'], { DATA_DIR, BACKUP_TO })
  t.match(listed.stdout, new RegExp(`^${future} .*, from the future\n${good} .*SECRET_KEY\n2 backups`))
  const { code, stdout, stderr } = await runCommand(t, 'restore', ['latest'], { DATA_DIR, BACKUP_TO })
  t.same([code, stderr], [0, ''])
  t.match(stdout, `passed over: ${future}`)
  t.match(stdout, new RegExp(`is now .*${good}`))
})

t.test('A folder of backups stands for the newest one in it, unlike BACKUP_TO', async (t) => {
  const dataDir = await copyOf(t, seeded.dataDir)
  const copies = await folder(t)
  const [older, newer] = [-2, -1].map((hours) => nameOf(Date.now() + hours * 3_600_000))
  for (const name of [older, newer]) await cp(seeded.backup, join(copies, name as string), { recursive: true })
  const run = (...args: string[]) => runCommand(t, 'restore', args, { DATA_DIR: dataDir })
  const none = { code: 1, stdout: '', stderr: `BACKUP_TO: there is no backup in ${dataDir}/backups\n` }
  t.match([await run('latest'), await run('--check')], [none, none])
  t.match(await run('--check', copies), { code: 0, stderr: '', stdout: `${join(copies, newer as string)} can be rec` })
  t.match(await run(`${copies}/`), {
    code: 0,
    stderr: '',
    stdout: `bookmarks.db is now ${join(copies, newer as string)}\n`,
  })
  const empty = await folder(t)
  t.match(await run(empty), { code: 2, stderr: `there is no file ${empty}/bookmarks.db` })

  const doctor = await runCommand(t, 'doctor', ['--json'], { DATA_DIR: dataDir, BACKUP_TO: copies, BACKUP_KEEP: '3' })
  const idle = JSON.parse(doctor.stdout).filter(({ says }: { says: string }) => says.includes('has no effect'))
  t.match(idle, [{ says: /^BACKUP_KEEP has no effect: BACKUP_EVERY is not set/ }], 'restore reads BACKUP_TO')
  t.equal(idle.length, 1)
})

async function push(user: TestUser, entity_id: string): Promise<void> {
  const { status } = await user.call('POST', '/api/v1/sync/push', { body: { changes: [change({ entity_id })] } })
  if (status !== 200) throw new Error(`the push got ${status}`)
}

async function pull(user: TestUser) {
  const { changes } = await pullAll(user)
  const { epoch } = (await user.call('GET', '/api/v1/sync/status')).body
  return { ids: changes.map(({ entity_id }) => entity_id), epoch: epoch as string }
}

/** Makes a backup, and then more data. */
async function seed(t: Test) {
  const dataDir = await folder(t)
  const backup = join(await folder(t), 'backup')
  const { user, close } = await buildApp(t, {}, { dataDir })
  const ada = await user('ada')
  await push(ada, 'kept')
  const exported = await createdExport(ada)
  await replaceKeyring(ada, 2)
  const { code, stderr } = await runCommand(t, 'backup', [backup], { DATA_DIR: dataDir })
  if (code !== 0) throw new Error(stderr)
  await push(ada, 'lost')
  await replaceKeyring(ada, 3, 3)
  const { epoch } = await pull(ada)
  await close()
  return { dataDir, backup, ada, epoch, exported }
}

t.test('A restore replaces the database and exports, begins an epoch, and keeps the old database', async (t) => {
  const { backup, ada, epoch, exported } = seeded
  const dataDir = await copyOf(t, seeded.dataDir)
  await rm(join(dataDir, 'exports', `${ada.userId}.${exported.id}.1`))
  await mkdir(join(dataDir, 'bookmarks.db.restoring-killed'))
  const before = await readdir(backup, { recursive: true })
  const { code, stdout, stderr } = await runCommand(t, 'restore', [backup], { DATA_DIR: dataDir })
  t.same([code, stderr], [0, ''])
  t.match(stdout, `${dataDir}/bookmarks.db is now ${backup}\n  checked  ciphertexts 0, `)
  t.same(await readdir(backup, { recursive: true }), before, 'the backup is unchanged')

  const restored = await buildApp(t, {}, { dataDir })
  const found = await pull(restored.as(ada))
  t.same(found.ids, ['kept'])
  t.not(found.epoch, epoch)
  t.match(stdout, `epoch    ${found.epoch}:`)
  t.equal((await restored.as(ada).call('GET', `/api/v1/exports/${exported.id}`)).status, 200)
  const keyrings = '/api/v1/account/keyring/versions'
  const { versions } = (await restored.as(ada).call('GET', keyrings)).body
  t.same(
    versions.map(({ revision }: { revision: number }) => revision),
    [1],
    'the keyrings are those of the backup',
  )
  const back = await restored.as(ada).call('POST', `${keyrings}/${versions[0].id}/restore`)
  t.same(back.body, { keyring: keyringOf('1'), revision: 3 })
  await restored.close()

  const [, kept = ''] = /before {3}(\S+)/.exec(stdout) ?? []
  const old = await folder(t)
  await cp(kept, join(old, 'bookmarks.db'))
  await cp(join(dataDir, 'secret.key'), join(old, 'secret.key'))
  const app = await buildApp(t, {}, { dataDir: old })
  t.same(await pull(app.as(ada)), { ids: ['kept', 'lost'], epoch }, 'the kept file is the complete old database')
  t.same(
    (await readdir(dataDir)).filter((name) => name.includes('restoring')),
    [],
    'no other file is left',
  )
})

t.test('A restore moves the log of a database that is gone out of the way', async (t) => {
  const dataDir = await copyOf(t, seeded.dataDir)
  await rm(join(dataDir, 'bookmarks.db'))
  await writeFile(join(dataDir, 'bookmarks.db-wal'), 'the log of the lost file')
  t.match(await runCommand(t, 'restore', [seeded.backup], { DATA_DIR: dataDir }), { code: 0, stderr: '' })
  const logs = (await readdir(dataDir)).filter((name) => name.endsWith('-wal'))
  t.match(logs, [/^bookmarks\.db\.before-.*-wal$/])
})

t.test('If a restore is impossible, one line says why, the exit status is 1, and nothing changes', async (t) => {
  const { backup } = seeded
  const dataDir = await copyOf(t, seeded.dataDir)
  const damaged = await damageRecords(await copyOf(t, backup))
  const otherKey = { SECRET_KEY: Buffer.alloc(32, 7).toString('base64') }
  const faults: [what: string, args: string[], env: Record<string, string>, line: RegExp][] = [
    [
      'another key',
      [backup],
      otherKey,
      /^SECRET_KEY: of 3 sealed values in \S+, 3 open under none of its keys; append/,
    ],
  ]
  const more: typeof faults = [
    ['a damaged backup', [damaged], {}, /^\S+ is damaged \(/],
    ['no scheduled backup', ['latest'], {}, /^BACKUP_TO: there is no backup/],
    ['no key', [backup], { DATA_DIR: join(dataDir, 'new') }, /^SECRET_KEY is required here/],
    ['Postgres', [backup], { DATABASE_URL: 'postgres://a:hidden@127.0.0.1:1/b' }, /^DATABASE_URL: Postgres is/],
  ]
  if (isDeep) faults.push(...more)
  const before = await readFile(join(dataDir, 'bookmarks.db'))
  const seen: Record<string, unknown> = {}
  for (const [what, args, env] of faults)
    seen[what] = await runCommand(t, 'restore', args, { DATA_DIR: dataDir, ...env })
  t.match(seen, Object.fromEntries(faults.map(([what, , , stderr]) => [what, { code: 1, stdout: /^$/, stderr }])))
  t.notMatch(JSON.stringify(seen), /hidden/)
  t.ok(before.equals(await readFile(join(dataDir, 'bookmarks.db'))))
  t.notOk((await readdir(dataDir)).some((name) => /restoring-|before-/.test(name)))
})

/** Flips one bit within a ciphertext, as a faulty disk might. SQLite does not notice it. */
async function flipBit(path: string): Promise<void> {
  const bytes = await readFile(path)
  const at = bytes.indexOf('data-')
  bytes[at] = (bytes[at] ?? 0) ^ 1
  await writeFile(path, bytes)
}

t.test('A flipped bit in a ciphertext or export is detected, and --check replaces nothing', async (t) => {
  const dataDir = await copyOf(t, seeded.dataDir)
  const before = await readFile(join(dataDir, 'bookmarks.db'))
  const run = (...args: string[]) => runCommand(t, 'restore', args, { DATA_DIR: dataDir })
  const names = async () => (await readdir(dataDir)).sort()
  const there = await names()
  const good = await run('--check', seeded.backup)
  t.match(good, { code: 0, stderr: '', stdout: `${seeded.backup} can be recovered\n  checked  ciphertexts 0, ` })

  const damaged = await copyOf(t, seeded.backup)
  await flipBit(join(damaged, 'bookmarks.db'))
  const saysSo = { code: 1, stdout: '', stderr: /^\S+ is damaged \(bookmarks\.db has another SHA-256/ }
  t.match(await run('--check', damaged), saysSo)
  t.match(await run(damaged), saysSo)

  const halfGood = await copyOf(t, seeded.backup)
  const file = join(halfGood, 'exports', `${seeded.ada.userId}.${seeded.exported.id}.1`)
  const bytes = await readFile(file)
  await writeFile(file, bytes.fill(1, 40, 41))
  t.match(await run('--check', halfGood), { code: 1, stdout: /left out: the export \S+, its file is damaged in the b/ })
  t.ok(before.equals(await readFile(join(dataDir, 'bookmarks.db'))))
  t.same(await names(), there, 'a check leaves nothing')

  const earlier = await copyOf(t, seeded.backup)
  await rm(join(earlier, 'SHA256SUMS'))
  t.match(await run(earlier), { code: 0, stderr: '', stdout: /not compared with its SHA-256: it has none/ })
})

t.test('--list names the backups in BACKUP_TO, with their size, and whether the keys open them', async (t) => {
  const dataDir = await copyOf(t, seeded.dataDir)
  const backups = join(dataDir, 'backups')
  await cp(seeded.backup, join(backups, '2026-01-02T03-00-00-000Z'), { recursive: true })
  await mkdir(join(backups, '2026-01-03T03-00-00-000Z'))
  const own = await runCommand(t, 'restore', ['--list'], { DATA_DIR: dataDir })
  t.match(own, { code: 0, stderr: '' })
  t.match(own.stdout, /^2026-01-02T03-00-00-000Z {2}\d{6} bytes, opens with SECRET_KEY\n/)
  t.match(own.stdout, `\n2026-01-03T03-00-00-000Z  0 bytes, cannot be read\n2 backups in ${backups}\n`)
  const SECRET_KEY = Buffer.alloc(32, 7).toString('base64')
  const other = await runCommand(t, 'restore', ['--list'], { DATA_DIR: dataDir, SECRET_KEY })
  t.match(other.stdout, / bytes, opens with no key of SECRET_KEY\n/)
  t.same((await readdir(join(backups, '2026-01-02T03-00-00-000Z'))).sort(), ['SHA256SUMS', 'bookmarks.db', 'exports'])
})

t.test('A backup in a folder can be restored even if BACKUP_TO is the bucket', async (t) => {
  const dataDir = await copyOf(t, seeded.dataDir)
  const s3 = { S3_ENDPOINT: 'https://127.0.0.1:1', S3_BUCKET: 'exports', S3_ACCESS_KEY: 'a', S3_SECRET_KEY: 's' }
  const env = { ...s3, BACKUP_TO: 's3', DATA_DIR: dataDir }
  t.match(await runCommand(t, 'restore', [seeded.backup], env), { code: 0, stderr: '' })
})

t.test('A restore whose output is closed early, as by `head`, works and has the same status', async (t) => {
  const dataDir = await copyOf(t, seeded.dataDir)
  const script = '{ "$0" "$1" restore "$2"; echo "status $?" >&2; } | true'
  const words = [process.execPath, fileURLToPath(new URL('ebs.mjs', bundleFolder)), seeded.backup]
  const env = { PATH: process.env.PATH, DATA_DIR: dataDir }
  t.match(spawnSync('sh', ['-c', script, ...words], { env, encoding: 'utf8' }).stderr, /^status 0$/m)
  t.equal((await readdir(dataDir)).filter((name) => name.includes('.before-')).length, 1)
})

t.test('A restore is refused while the service runs', async (t) => {
  const dataDir = await copyOf(t, seeded.dataDir)
  const { as } = await buildApp(t, {}, { dataDir })
  const { code, stderr } = await runCommand(t, 'restore', [seeded.backup], { DATA_DIR: dataDir })
  t.same(
    [code, stderr],
    [
      1,
      `DATABASE_URL: ${dataDir}/bookmarks.db is in use by another process, or on a file system without locks, such as NFS\n`,
    ],
  )
  t.same((await pull(as(seeded.ada))).ids, ['kept', 'lost'])
})

t.test('A restore killed at any moment leaves the complete old database or the complete backup', async (t) => {
  for (let round = 0; round < depth(0, 12); round += 1) {
    const dataDir = await copyOf(t, seeded.dataDir)
    const command = startCommand(t, 'restore', [seeded.backup], { DATA_DIR: dataDir })
    setTimeout(() => command.kill('SIGKILL'), 150 + 60 * round)
    await command.result
    t.ok(existsSync(join(dataDir, 'bookmarks.db')))
    const app = await buildApp(t, {}, { dataDir })
    const { ids } = await pull(app.as(seeded.ada))
    t.ok(['kept', 'kept,lost'].includes(ids.join()), ids.join())
    await app.close()
  }
})
