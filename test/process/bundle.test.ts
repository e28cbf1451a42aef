/** The bundle of `npm run build`, copied out of the repository, with the SQLite driver as its only package. */
import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { cp, readdir, readFile, stat, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { bundleFolder, bundleForTests } from '../../scripts/test/build.ts'
import { production } from '../support/app.ts'
import { openBrowser } from '../support/browser.ts'
import { change as makeChange, push } from '../support/changes.ts'
import { isDeep } from '../support/depth.ts'
import { relyingParty, startMock } from '../support/relying-party.ts'
import { folder, run, startService } from '../support/service.ts'
import { until } from '../support/until.ts'

const packages = fileURLToPath(new URL('../../node_modules/', import.meta.url))
const driver = 'better-sqlite3'

t.test('The bundle works outside of the repository: sign-in, pushes, backup, documents, commands', async (t) => {
  const cwd = await folder(t)
  await bundleForTests()
  await cp(bundleFolder, cwd, { recursive: true, filter: (path) => !path.includes('compile-cache') })
  await cp(join(packages, driver), join(cwd, 'node_modules', driver), {
    recursive: true,
    filter: (path) => !/\/(deps|src)$/.test(path),
  })
  // npm reads and compresses all documents.
  if (isDeep) {
    const { status, stdout } = spawnSync('npm', ['pack', '--dry-run', '--json'], { cwd, encoding: 'utf8' })
    const [packed] = JSON.parse(stdout) as [{ files: { path: string; mode: number }[] }]
    const published = packed.files.map(({ path }) => path).filter((path) => !/^run-|^(docs|web)\//.test(path))
    t.same([status, published.includes('main.mjs'), published.includes('README.md')], [0, true, true])
    t.same(
      published.filter((path) => /node_modules|data/.test(path)),
      [],
    )
    t.same(
      packed.files.flatMap(({ path, mode }) => (mode & 0o100 ? [path] : [])).sort(),
      ['ebs.mjs', 'encrypted-bookmark-sync.mjs'],
      'the published package has two programs',
    )
  }

  const { issuer } = await startMock(t)
  const settings = {
    // Without this, the compile cache that all tests share would grow by each of these bundles.
    NODE_COMPILE_CACHE: '',
    OIDC_ISSUER: issuer,
    OIDC_CLIENT_ID: relyingParty.clientId,
    OIDC_CLIENT_SECRET: relyingParty.clientSecret,
    BACKUP_EVERY: '1d',
  }
  const service = await startService(t, join(cwd, 'data'), settings, { cwd, entry: join(cwd, 'main.mjs') })
  // On a busy machine a probe may time out, so wait until one succeeds.
  const health = async () => (await service.call('GET', '/api/v1/health')).body as { status: string }
  await until(async () => (await health()).status === 'healthy')

  const browser = openBrowser(service.call)
  await browser.signIn('Ada')
  const change = makeChange({ entity_id: randomUUID() })
  const pushed = await push(browser, change)
  t.match(pushed.body, { accepted: 1 })
  const pulled = await browser.call('POST', '/api/v1/sync/pull')
  t.match(pulled.body, { changes: [{ entity_id: change.entity_id, encrypted_data: change.encrypted_data }] })

  // More bytes than the log holds before a checkpoint. The bundle has a separate file for the checkpoint's thread.
  const encrypted_data = 'x'.repeat(256 * 1024)
  const large = () => Array.from({ length: 15 }, () => makeChange({ entity_id: randomUUID(), encrypted_data }))
  for (let pushes = 0; pushes < 6; pushes++) t.match(await push(browser, ...large()), { status: 200 })
  await push(browser, change)
  // The fifth push makes the checkpoint due; it may begin before the sixth.
  await until(async () => (await stat(join(cwd, 'data/bookmarks.db'))).size > 70 * encrypted_data.length)

  const pages = await Promise.all(['/docs/', '/openapi.yaml'].map((path) => fetch(service.origin + path)))
  t.same(
    pages.map(({ status }) => status),
    [200, 200],
  )
  await until(async () => (await readdir(join(cwd, 'data/backups'))).some((name) => name.endsWith('Z')))
  t.same(await service.kill('SIGTERM'), { code: 0, signal: null })
  t.equal(service.stderr(), '')

  const refusal = async (env: Record<string, string>, name: string) => {
    const refused = run(
      t,
      { NODE_COMPILE_CACHE: '', DATA_DIR: join(cwd, 'data'), ...env },
      { cwd, entry: join(cwd, name) },
    )
    return [(await refused.exited).code, refused.stderr()]
  }
  const inProduction = { ...settings, ...production, PUBLIC_URL: 'https://sync.example.co.uk', BACKUP_EVERY: '' }
  const [, fault] = await refusal({ ...inProduction, PORT: '0', COOKIE_DOMAIN: 'co.uk' }, 'main.mjs')
  t.match(JSON.parse(String(fault)).msg, /^COOKIE_DOMAIN must not be co\.uk, a public suffix/)
  const ofParent = { ...inProduction, COOKIE_DOMAIN: 'example.co.uk' }
  const onParent = await startService(t, join(cwd, 'parent'), ofParent, { cwd, entry: join(cwd, 'main.mjs') })
  t.same(await onParent.kill('SIGTERM'), { code: 0, signal: null }, 'a start with the cookies of a parent domain')

  const older = `--import=data:text/javascript,Object.defineProperty(process,'versions',{value:{node:'20.20.2'}})`
  const line = `Node 24 or later is required. This is Node 20.20.2 (${process.execPath}).\n`
  t.same(await refusal({ NODE_OPTIONS: older }, 'main.mjs'), [1, line])
  t.same(await refusal({ NODE_OPTIONS: older }, 'backup.mjs'), [1, line])
  const env = { NODE_COMPILE_CACHE: '', DATABASE_URL: 'postgres://ann@127.0.0.1:1/bookmarks' }
  const advice = spawnSync(process.execPath, ['restore.mjs', 'latest'], { cwd, env, encoding: 'utf8' }).stderr
  t.match(advice, /\n {2}node restored\.mjs\n/, 'a command names another one as the bundle calls it')
  // npm links the programs into a folder of the PATH like this.
  const bin = await folder(t)
  const { bin: programs } = JSON.parse(await readFile(join(cwd, 'package.json'), 'utf8'))
  for (const [name, file] of Object.entries<string>(programs)) await symlink(join(cwd, file), join(bin, name))
  const PATH = `${bin}:${dirname(process.execPath)}:${process.env.PATH}`
  const installed = (name: string, ...words: string[]) =>
    spawnSync(name, words, { cwd, env: { ...env, PATH, PORT: '0', START_TIMEOUT: '0' }, encoding: 'utf8' })
  t.match(installed('ebs', 'restore', 'latest'), { status: 1, stderr: /\n {2}ebs restored\n/ })
  t.match(installed('ebs', 'backup'), {
    status: 2,
    stderr: /missing required argument.* \(ebs backup --help explains it\)\n$/,
  })
  t.match(installed('ebs'), { status: 2, stderr: /^error: no command: one of serve, / })
  t.match(installed('ebs', '--help'), { status: 0, stderr: '', stdout: /^Usage: ebs <command>\n/ })
  t.match(
    installed('encrypted-bookmark-sync'),
    { status: 1, stderr: /^DATABASE_URL: |^OIDC_ISSUER is required here/ },
    'without a command, ebs serves',
  )
  t.same(await refusal({ PORT: '0' }, 'main.mjs'), [
    1,
    'OIDC_ISSUER is required here: the development provider is not installed\n',
  ])
})
