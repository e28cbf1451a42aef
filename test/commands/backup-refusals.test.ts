import { spawnSync } from 'node:child_process'
import { chmod, cp, mkdir, open, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import t, { type Test } from 'tap'
import { makeBackup } from '../../src/service/backup/make.ts'
import { sourceOf } from '../../src/service/backup/schedule.ts'
import { readConfig } from '../../src/service/config/config.ts'
import { buildApp } from '../support/app.ts'
import { runCommand } from '../support/command.ts'
import { isDeep } from '../support/depth.ts'
import { createdExport } from '../support/exports.ts'
import { folder } from '../support/service.ts'

type Env = Record<string, string>

const whole = await seed()

/** With an export, and enough bookmarks to have pages to damage. */
async function seed(): Promise<string> {
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

async function copyOfWhole(t: Test): Promise<string> {
  const dataDir = await folder(t)
  await cp(whole, dataDir, { recursive: true })
  return dataDir
}

/** As a disk may: some bytes in the middle of the file, where records lie, or one in the count of free pages. */
async function damage(dataDir: string, where: 'records' | 'free pages'): Promise<string> {
  await using file = await open(join(dataDir, 'bookmarks.db'), 'r+')
  const pageBytes = 4096
  const { size } = await file.stat()
  const middle = Math.floor(size / pageBytes / 2) * pageBytes
  if (where === 'free pages') {
    const { buffer } = await file.read(Buffer.alloc(1), 0, 1, 39)
    await file.write(
      buffer.map((count) => count + 1),
      0,
      1,
      39,
    )
  }
  if (where === 'records')
    for (const page of [-1, 0, 1]) await file.write(Buffer.alloc(64, 0xa5), 0, 64, middle + page * pageBytes)
  return dataDir
}

/** What the command prints on stderr when it ends with 1. */
async function refusalOf(t: Test, to: string, env: Env): Promise<string> {
  const { code, stdout, stderr } = await runCommand(t, 'backup', [to], { DATA_DIR: whole, ...env })
  t.same([code, stdout], [1, ''])
  return stderr
}

/** The same without a process: runs the parts of the command whose errors it prints. */
async function refusalHere(t: Test, to: string, env: Env): Promise<string> {
  const listeners = process.listenerCount('SIGTERM')
  try {
    await makeBackup(sourceOf(readConfig({ DATA_DIR: whole, ...env })), to)
    return 'none'
  } catch (error) {
    return `${(error as Error).message}\n`
  } finally {
    t.equal(process.listenerCount('SIGTERM'), listeners, 'it listens to signals no more')
  }
}

t.test('What cannot be backed up: one line that says why, exit 1, and nothing is left', async (t) => {
  const cwd = await folder(t)
  await mkdir(join(cwd, 'there'))
  await writeFile(join(cwd, 'text'), 'This is no database, but it is long enough to be taken for one. '.repeat(20))
  change(join(cwd, 'foreign.db'), 'create table users (name text)')
  change(join(cwd, 'newer.db'), 'create table kysely_migration (name text primary key, timestamp text)')
  change(join(cwd, 'newer.db'), "insert into kysely_migration values ('9999-later', '2030-01-01')")
  const orphaned = await copyOfWhole(t)
  const damaged = await damage(await copyOfWhole(t), 'records')
  const miscounted = await damage(await copyOfWhole(t), 'free pages')
  change(join(orphaned, 'bookmarks.db'), 'pragma foreign_keys = off; delete from users')
  const ownerless = await copyOfWhole(t)
  change(join(ownerless, 'bookmarks.db'), "update ciphertexts set user_id = 'nobody'")

  const to = join(cwd, 'backup')
  const sqlite = (name: string): Env => ({ DATABASE_URL: `sqlite:${join(cwd, name)}` })
  const faults: [what: string, to: string, env: Env, line: RegExp][] = [
    ['an existing folder', join(cwd, 'there'), {}, /there is there already: a backup overwrites nothing/],
    ['an existing file', join(cwd, 'text'), {}, /text is there already/],
    ['a folder in a missing folder', join(cwd, 'no/backup'), {}, /no\/backup cannot be written \(ENOENT/],
    ['a folder below a file', join(cwd, 'text/backup'), {}, /text\/backup cannot be written \(ENOTDIR/],
    ['no database', to, sqlite('no.db'), /^DATABASE_URL: .*no\.db cannot be opened/],
    ['a database that is a folder', to, sqlite('there'), /^DATABASE_URL: .*there cannot be opened/],
    ['a text file', to, sqlite('text'), /^DATABASE_URL: .*text is damaged \(file is not a database/],
    ['a foreign database', to, sqlite('foreign.db'), /^DATABASE_URL: .*foreign\.db is no database of this/],
    ['a newer database', to, sqlite('newer.db'), /^DATABASE_URL: .*newer version \(9999-later\)/],
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
    // The first shows that the command prints them.
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

function change(path: string, sql: string): void {
  const sqlite = new Sqlite(path)
  sqlite.exec(sql)
  sqlite.close()
}

t.test('A folder that is not writable', async (t) => {
  if (process.getuid?.() === 0) return t.comment('the superuser may write everywhere: see the folder below a file')
  const cwd = await folder(t)
  await chmod(cwd, 0o500)
  const { code, stderr } = await runCommand(t, 'backup', [join(cwd, 'backup')], { DATA_DIR: whole })
  t.equal(code, 1)
  t.match(stderr, /backup cannot be written \(EACCES/)
})

t.test('An export whose file is not whole is left out and named', async (t) => {
  const dataDir = await copyOfWhole(t)
  const [name = ''] = await readdir(join(dataDir, 'exports'))
  await writeFile(join(dataDir, 'exports', name), 'cut off')
  const to = join(await folder(t), 'backup')
  const { code, stdout } = await runCommand(t, 'backup', [to], { DATA_DIR: dataDir })
  t.equal(code, 0)
  t.match(stdout, new RegExp(`^left out: the export ${name.split('.')[0]}, its file has 7 bytes instead of \\d+\n`))
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

t.test('For Postgres it says what to run, without the password; exit 1, for nothing was backed up', async (t) => {
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
