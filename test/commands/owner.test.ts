/** Commands run as root become the owner of DATA_DIR, so that the service can use all files that they make. */
import { existsSync } from 'node:fs'
import { chmod, chown, cp, glob, lstat, mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { production } from '../support/app.ts'
import { runCommand } from '../support/command.ts'
import { folder, run, serving, startService } from '../support/service.ts'
import { until } from '../support/until.ts'

/** The user and group of the image, which nobody has on this machine. */
const [uid, gid] = [10001, 10002]
const isRoot = process.getuid?.() === 0
const onlyForRoot = isRoot ? {} : { skip: 'only root can become another user' }

/** Makes a data folder of the service's user, and a key that only root can read. */
async function prepare(t: Test) {
  const home = await folder(t)
  await chmod(home, 0o755)
  const dataDir = join(home, 'data')
  await mkdir(dataDir, { mode: 0o700 })
  await chown(dataDir, uid, gid)
  const keyFile = join(home, 'secret_key')
  await writeFile(keyFile, Buffer.alloc(32, 7).toString('base64'), { mode: 0o600 })
  return { home, dataDir, env: { DATA_DIR: dataDir, SECRET_KEY_FILE: keyFile } }
}

/** Files that do not belong to the service's user, or may be read by others. */
async function strangersIn(dir: string): Promise<string[]> {
  const strangers: string[] = []
  for await (const path of glob('**', { cwd: dir })) {
    const { uid: owner, gid: group, mode } = await lstat(join(dir, path))
    if (owner !== uid || group !== gid || (path !== '.' && (mode & 0o077) !== 0))
      strangers.push(`${path} ${owner}:${group} ${mode.toString(8)}`)
  }
  return strangers
}

t.test('Commands run by root on an empty folder leave no file that the owner cannot use', onlyForRoot, async (t) => {
  const { dataDir, env } = await prepare(t)
  const done = async (name: string, args: string[] = []) => {
    const result = await runCommand(t, name, args, env)
    t.match(result, { code: 0, stderr: '' }, `${name} ${args.join(' ')}`)
    t.same(await strangersIn(dataDir), [], name)
  }
  await done('migrate')
  await done('admin', ['users'])
  await done('reseal')
  await done('backup', [join(dataDir, 'backup')])
  await done('restored', ['--yes'])
  await done('restore', [join(dataDir, 'backup')])
  const kept = (await readdir(dataDir)).filter((name) => name.includes('.before-'))
  t.equal(kept.length, 1)

  const SECRET_KEY = Buffer.alloc(32, 7).toString('base64')
  // With a lower priority than backups use, because a process may not raise its priority.
  const under = ['nice', '-n', '15']
  const service = await startService(t, dataDir, { SECRET_KEY, BACKUP_EVERY: '1d' }, { under })
  const backups = () => readdir(join(dataDir, 'backups')).catch(() => [])
  await until(async () => (await backups()).some((name) => name.endsWith('Z')))
  t.equal((await service.call('GET', '/api/v1/health')).status, 200)
  t.same(await service.kill('SIGTERM'), { code: 0, signal: null })
  t.ok(existsSync(join(dataDir, 'compile-cache')))
  t.same(await strangersIn(dataDir), [], 'the service started by root leaves no such file either')
  t.match(await runCommand(t, 'restore', ['latest'], env), { code: 0, stderr: '' })
  const { DATA_DIR } = env
  const own = run(
    t,
    { DATA_DIR, SECRET_KEY, PORT: '0', DEV_IDP_PORT: '0' },
    { under: ['setpriv', `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups'] },
  )
  await serving(own)
  t.same(await own.kill('SIGTERM'), { code: 0, signal: null }, 'the service starts on it as its own user')
})

t.test('A database outside of DATA_DIR keeps its owner', onlyForRoot, async (t) => {
  const { home, dataDir } = await prepare(t)
  const DATABASE_URL = `sqlite:${join(dataDir, 'bookmarks.db')}`
  const env = { DATABASE_URL, DATA_DIR: join(home, 'of-root'), SECRET_KEY: Buffer.alloc(32, 7).toString('base64') }
  await mkdir(env.DATA_DIR)
  for (const args of [['migrate'], ['backup', join(dataDir, 'backup')], ['restore', join(dataDir, 'backup')]]) {
    const [name = '', ...words] = args
    t.match(await runCommand(t, name, words, env), { code: 0, stderr: '' }, name)
    t.same(await strangersIn(dataDir), [], name)
  }
})

t.test('In production, root does not create data in a folder without an owner', onlyForRoot, async (t) => {
  const { home, dataDir } = await prepare(t)
  const of = (DATA_DIR: string, file?: string) => ({
    ...production,
    DATA_DIR,
    ...(file !== undefined && { DATABASE_URL: `sqlite:${file}` }),
  })
  const [absent, empty, at] = [join(home, 'absent'), join(home, 'empty'), join(home, 'srv')]
  await mkdir(empty)
  for (const place of [absent, empty]) {
    for (const words of [['migrate'], ['restore', '--check'], ['restore', 'latest'], ['admin', 'users'], ['reseal']]) {
      const { code, stderr } = await runCommand(t, words[0] ?? '', words.slice(1), of(place))
      t.equal(code, 1, words.join(' '))
      t.match(stderr, `DATA_DIR: what root makes in ${place}, the service could not use.`)
      t.match(stderr, `install -d -m 0700 -o USER '${place}'`)
    }
    for (const [name = '', ...words] of [
      ['restore'],
      ['restore', '--list', 'latest'],
      ['admin'],
      ['move'],
      ['move', 'mysql://a'],
    ])
      t.match(await runCommand(t, name, words, of(place)), { code: 2 }, 'a wrong call is reported first')
    const { code, stderr } = await runCommand(t, 'migrate', [], of(empty, join(place, 'b.db')))
    t.match([code, stderr], [1, /^DATABASE_URL: what root makes in /])
    const looked = await runCommand(t, 'doctor', ['--json'], { ...of(place), PORT: '0' })
    const owner = JSON.parse(looked.stdout).find(({ about }: { about: string }) => about === 'owner')
    t.match(owner, {
      state: 'error',
      says: /^DATA_DIR: \S+ belongs to root/,
      todo: `install -d -m 0700 -o USER '${place}'`,
    })
  }
  t.same([existsSync(absent), await readdir(empty)], [false, []])

  const elsewhere = await runCommand(t, 'migrate', [], of(dataDir, join(at, 'b.db')))
  t.match(
    elsewhere,
    { code: 1, stderr: new RegExp(`^DATABASE_URL: ${at}\\S* cannot be `) },
    'the owner of DATA_DIR could not open it',
  )
  t.equal(existsSync(at), false)
})

t.test('A backup that only root can read is not reported as missing', onlyForRoot, async (t) => {
  const { home, dataDir, env } = await prepare(t)
  await runCommand(t, 'migrate', [], env)
  await runCommand(t, 'backup', [join(dataDir, 'backup')], env)
  const BACKUP_TO = join(home, 'backups')
  await mkdir(BACKUP_TO)
  const copied = join(BACKUP_TO, '2026-11-24T20-00-00-000Z')
  await cp(join(dataDir, 'backup'), copied, { recursive: true })
  await chmod(copied, 0o700)
  const called = (...args: string[]) => runCommand(t, 'restore', args, { ...env, BACKUP_TO })
  for (const args of [[copied], ['--check', copied], ['latest']]) {
    const { code, stderr } = await called(...args)
    t.equal(code, 1, args.join(' '))
    t.match(stderr, `${copied}/bookmarks.db cannot be read by the service's user (EACCES`)
  }
  t.match(await called('--list'), { code: 0, stdout: /^2026\S+ {2}unknown size, cannot be read\n1 backups/ })
})

t.test('If the owner of DATA_DIR may not write, the command says so and makes nothing', onlyForRoot, async (t) => {
  const { home, env } = await prepare(t)
  await runCommand(t, 'migrate', [], env)
  const { code, stderr } = await runCommand(t, 'backup', [join(home, 'of-root')], env)
  t.same([code, existsSync(join(home, 'of-root'))], [1, false])
  t.match(stderr, /of-root cannot be written \(EACCES/)
})

t.test('A folder that cannot be written to ends a command with one line at once', async (t) => {
  for (const name of ['serve', 'migrate', 'restored'])
    t.match(await runCommand(t, name, [], { DATA_DIR: '/proc/x', PORT: '0', DEV_IDP_PORT: '0' }), {
      code: 1,
      stderr: /^(DATA_DIR|DATABASE_URL): \/proc\/x\S* cannot be (written|opened) \(.*\)\n$/,
    })
})
