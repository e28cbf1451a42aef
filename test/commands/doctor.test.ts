/** `ebs doctor` reports problems to the operator before the first user comes. */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, cp, lstat, mkdir, readdir, realpath, symlink, writeFile } from 'node:fs/promises'
import { createServer, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'
import { userInfo } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import Sqlite from 'better-sqlite3'
import t, { type Test } from 'tap'
import { freePort } from '../../scripts/servers/free-port.ts'
import { bundleFolder } from '../../scripts/test/build.ts'
import { makeBackup } from '../../src/service/backup/make.ts'
import { nameOf } from '../../src/service/backup/shelf.ts'
import { examine as examineHere } from '../../src/service/commands/doctor.ts'
import type { Finding } from '../../src/service/commands/doctor-place.ts'
import { knownVariables, misspelt } from '../../src/service/config/variables.ts'
import { buildApp, production } from '../support/app.ts'
import { openBrowser } from '../support/browser.ts'
import { runCommand } from '../support/command.ts'
import { deep, isDeep } from '../support/depth.ts'
import { createdExport } from '../support/exports.ts'
import { buildWithMock } from '../support/mock-service.ts'
import { relyingParty, startMock } from '../support/relying-party.ts'
import { folder, run as runProcess, startService } from '../support/service.ts'

type Env = Record<string, string>

const run = promisify(execFile)

const key = (byte: number) => Buffer.alloc(32, byte).toString('base64')

/** Runs doctor, which must not change the folder. By default it runs in this process, which stays the same user. */
async function examine(t: Test, env: Env, look: (env: Env) => Promise<Finding[]> = examineHere) {
  const { DATA_DIR = await folder(t), PORT = String(await freePort()) } = env
  const before = await contents(DATA_DIR)
  const findings = await look({ SERVE_APP: 'false', ...env, DATA_DIR, PORT })
  const text = JSON.stringify(findings)
  t.same(await contents(DATA_DIR), before, 'no file is made or changed')
  t.notMatch(text, new RegExp(`the client secret|${key(7)}`), 'no secret is printed')
  return { code: codeOf(findings), findings, text }
}

/** The exit status of the command with these findings. */
const codeOf = (findings: Finding[]) => (findings.some(({ state }) => state === 'error') ? 1 : 0)

/** Runs the real command, in which root becomes the owner of the data. */
async function examineAsCalled(t: Test, env: Env) {
  return examine(t, env, async (all) => {
    const { code, stdout, stderr } = await runCommand(t, 'doctor', ['--json'], all)
    const findings = JSON.parse(stdout) as Finding[]
    t.same([code, stderr], [codeOf(findings), ''])
    return findings
  })
}

async function contents(dir: string): Promise<Record<string, unknown>> {
  const names = await readdir(dir, { recursive: true }).catch((): string[] => [])
  const entries = await Promise.all(
    // A running service writes probe files, and its write-ahead log grows.
    names
      .filter((name) => !name.endsWith('.probe'))
      .map(async (name) => [name, /-(wal|shm)$/.test(name) || (await lstat(join(dir, name))).size] as const),
  )
  return Object.fromEntries(entries)
}

function about(findings: Finding[], name: string): Finding[] {
  return findings.filter((finding) => finding.about === name)
}

t.test('On an empty folder, doctor finds no problem and makes nothing', async (t) => {
  const DATA_DIR = join(await folder(t), 'data')
  const { code, findings } = await examineAsCalled(t, { DATA_DIR })
  t.same([code, findings.filter(({ state }) => state !== 'ok')], [0, []])
  t.match(about(findings, 'database'), [{ says: /is not there yet/ }])
  const table = await runCommand(t, 'doctor', [], { DATA_DIR, PORT: String(await freePort()) })
  t.match(table, { code: 0, stdout: /^ok {7}database {5}\S+ is not there yet: the first start makes it$/m })
})

t.test('Settings that a start would refuse are reported with the name of the variable', async (t) => {
  const faults: [env: Env, line: RegExp][] = [
    [
      { PUBLIC_URL: 'https://sync.example.co.uk', COOKIE_DOMAIN: 'co.uk' },
      /^COOKIE_DOMAIN must not be co\.uk, a public/,
    ],
    [{ SECRET_KEY: key(0) }, /^SECRET_KEY must not be zeros/],
    [
      { OIDC_ISSUER: 'https://id.example/.well-known/openid-configuration' },
      /^OIDC_ISSUER must be the issuer itself, without \/\.well-known/,
    ],
  ]
  for (const [env, line] of faults) {
    const { code, findings } = await examine(t, { ...production, ...env })
    t.match([code, findings], [1, [{ about: 'settings', state: 'error', says: line }]])
    if (!isDeep && env !== faults[0]?.[0]) continue
    const DATA_DIR = await folder(t)
    const started = await runCommand(t, 'serve', [], { ...production, ...env, DATA_DIR, PORT: '0' })
    t.match(started, { code: 1 })
    t.match(JSON.parse(started.stderr).msg, line)
  }
})

t.test("An unreadable secret is reported like other problems, also to root on another user's data", async (t) => {
  const at = await folder(t)
  await chmod(at, 0o755)
  const [DATA_DIR, empty, none] = [join(at, 'data'), join(at, 'empty'), join(at, 'none')]
  await mkdir(DATA_DIR)
  if (process.getuid?.() === 0) await chown(DATA_DIR, 10001, 10001)
  await writeFile(empty, '', { mode: 0o600 })
  const { SECRET_KEY, OIDC_CLIENT_SECRET, ...settings } = { ...production, DATA_DIR }
  const faults: [env: Env, says: string, todo: RegExp][] = [
    [{ SECRET_KEY_FILE: empty }, `SECRET_KEY_FILE: ${empty} is empty`, /^if there is data, put the old key back/],
    [{ SECRET_KEY_FILE: none }, `SECRET_KEY_FILE: ${none} cannot be read (ENOENT)`, /^if there is data, put the old/],
    [{}, 'SECRET_KEY is required in production', /^if there is data, put the old key back/],
    [
      { SECRET_KEY, OIDC_CLIENT_SECRET, OIDC_CLIENT_SECRET_FILE: empty },
      'OIDC_CLIENT_SECRET_FILE: OIDC_CLIENT_SECRET is set, too; set only one of them',
      /^correct this first/,
    ],
    [{ SECRET_KEY, DATABASE_URL_FILE: empty }, `DATABASE_URL_FILE: ${empty} is empty`, /^correct this first/],
  ]
  // Each is a separate process, because root becomes another user in it.
  for (const [env, says, todo] of isDeep ? faults : faults.slice(0, 2)) {
    const { code, findings } = await examineAsCalled(t, { OIDC_CLIENT_SECRET, ...settings, ...env })
    t.match([code, findings], [1, [{ about: 'settings', state: 'error', says, todo }]])
    t.equal(findings.length, 1)
  }
})

t.test('If one check fails, the others are still reported', async (t) => {
  const DATA_DIR = await folder(t)
  await symlink('loop', join(DATA_DIR, 'loop'))
  const { code, findings } = await examine(t, { DATA_DIR })
  t.match([code, about(findings, 'doctor')], [1, [{ state: 'error', says: /^ELOOP.*loop/ }]])
  t.match(about(findings, 'database'), [{ state: 'ok' }])
})

t.test('A secret file that every user can read is reported, unless its folder prevents that', async (t) => {
  const at = await folder(t)
  const file = join(at, 'secret')
  await writeFile(file, key(7))
  const { SECRET_KEY, ...settings } = production
  for (const [folderMode, mode, isTold] of [
    [0o755, 0o644, true],
    [0o755, 0o640, false],
    [0o700, 0o644, false],
  ] as const) {
    await chmod(at, folderMode)
    await chmod(file, mode)
    const { findings } = await examine(t, { ...settings, SECRET_KEY_FILE: file })
    const warnings = about(findings, 'settings').filter(({ state }) => state === 'warning')
    t.match(warnings, isTold ? [{ says: `SECRET_KEY_FILE: every user of this machine can read ${file}` }] : [])
    t.equal(warnings.length, isTold ? 1 : 0)
  }
})

t.test('Misspelt variables, those without effect, and a file instead of a folder are reported', async (t) => {
  const BACKUP_TO = join(await folder(t), 'file')
  await writeFile(BACKUP_TO, '')
  const odd = { TRUST_PROXIES: '1', OIDC_SECRET: 'x', HOSTNAME: 'here', LANG: 'C', EXPORTS_DIR: '/nowhere' }
  const pages = { SERVE_APP: 'true', SERVE_DEMO: 'false' }
  const s3 = { S3_ENDPOINT: 'https://127.0.0.1:1', S3_BUCKET: 'exports', S3_ACCESS_KEY: 'a', S3_SECRET_KEY: 'b' }
  const { code, findings, text } = await examine(t, {
    ...production,
    ...odd,
    ...pages,
    ...s3,
    BACKUP_EVERY: '1d',
    BACKUP_TO,
  })
  t.equal(code, 1)
  t.match(about(findings, 'settings'), [
    { state: 'warning', says: 'nothing reads TRUST_PROXIES', todo: 'did you mean TRUST_PROXY?' },
    { state: 'warning', says: 'nothing reads OIDC_SECRET', todo: 'did you mean OIDC_CLIENT_SECRET?' },
    { state: 'warning', says: 'EXPORTS_DIR has no effect: exports go to S3_BUCKET' },
    { state: 'warning', says: 'SERVE_DEMO has no effect: SERVE_APP is set' },
  ])
  t.match(about(findings, 'bucket'), [
    { state: 'error', says: /^S3_ENDPOINT: https:\/\/127\.0\.0\.1:1, bucket exports: / },
  ])
  t.match(about(findings, 'owner'), [{ state: 'error', says: `BACKUP_TO: ${BACKUP_TO} is not a folder` }])
  t.match(about(findings, 'provider'), [
    { state: 'error', says: /^OIDC_ISSUER: https:\/\/127\.0\.0\.1:9: / },
    { state: 'ok', says: 'register this redirect URI there: https://sync.example.org/api/v1/auth/callback' },
  ])
  t.notMatch(text, /HOSTNAME|LANG\b/)
})

t.test('A misspelt variable is recognized by similar letters, in lower case, or by one of its words', async (t) => {
  const known = [...knownVariables()].filter((name) => !name.startsWith('OTEL_'))
  t.ok(known.length > 40)
  const slips = (name: string) =>
    [...name].flatMap((letter, at) => {
      const [before, after] = [name.slice(0, at), name.slice(at + 1)]
      return [
        `${before}${after}`,
        `${before}${letter}${letter}${after}`,
        before + (after[0] ?? '') + letter + after.slice(1),
      ]
    })
  const isName = (name: string) => /^[A-Z]\w+$/.test(name) && !known.includes(name)
  for (const name of known) {
    const small = name.toLowerCase()
    const some = isDeep ? slips(name) : slips(name).filter((_, place) => place % 4 === 0)
    const slipped = [...some.filter(isName), ...(known.includes(small) ? [] : [small])]
    const noticed = misspelt(Object.fromEntries(slipped.map((slip) => [slip, '1']))).map(({ name }) => name)
    t.same(noticed, [...new Set(slipped)], name)
  }
  const others = ['BACKUP_INTERVAL', 'OIDC_GROUPS', 'DATABASE_PATH', 'S3_SECRET_ACCESS_KEY', 'OIDC_REQUIRED_GROUP']
  const foreign = [
    'HOSTNAME',
    'LANG',
    'LC_ALL',
    'NODE_OPTIONS',
    'NODE_EXTRA_CA_CERTS',
    'KUBERNETES_PORT',
    ...['https_proxy', 'HTTPS_PROXY', 'FTP_PROXY', 'ALL_PROXY', 'NO_COLOR'],
  ]
  const found = misspelt(Object.fromEntries([...others, ...foreign].map((name) => [name, '1'])))
  t.same(
    found.map(({ name }) => name),
    others,
  )
})

t.test('Once somebody has signed in, doctor reports if the provider sends auth_time', async (t) => {
  for (const [isSent, says] of [
    [true, 'its ID tokens say when a person signed in (auth_time)'],
    [false, 'no ID token of it has said when the person signed in (auth_time): each sign-in counts as recent'],
  ] as const) {
    const { call, close, dataDir, mock } = await buildWithMock(t)
    if (!isSent) mock.alter.idToken = (claims) => delete claims.auth_time
    const { clientId, clientSecret } = relyingParty
    const env = {
      DATA_DIR: dataDir,
      OIDC_ISSUER: `${mock.issuer}/`,
      OIDC_CLIENT_ID: clientId,
      OIDC_CLIENT_SECRET: clientSecret,
    }
    const reported = async () =>
      about((await examine(t, env)).findings, 'provider').filter((finding) => finding.says.includes('auth_time'))
    t.same(await reported(), [])
    await openBrowser(call).signIn('Ada')
    await close()
    t.match(await reported(), [{ state: 'ok', says }])
  }
})

t.test('The keys, backups and owner of the data are checked, also while the service runs', async (t) => {
  const dataDir = await folder(t)
  const { issuer } = await startMock(t)
  const provider = { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: relyingParty.clientId, OIDC_CLIENT_SECRET: 'x' }
  const { user, close } = await buildApp(t, { ...provider, SECRET_KEY: key(7) }, { dataDir })
  await createdExport(await user('ada'))
  await close()
  const BACKUP_TO = await folder(t)
  await backUp(dataDir, BACKUP_TO, 100)
  const env = { ...provider, DATA_DIR: dataDir, BACKUP_EVERY: '1d', BACKUP_TO }
  const wrong = await examine(t, { ...env, SECRET_KEY: key(8) })
  t.equal(wrong.code, 1)
  t.match(about(wrong.findings, 'keys'), [{ state: 'error', says: /^SECRET_KEY opens 0 of [1-9]/, todo: /NEW,OLD/ }])
  t.match(about(wrong.findings, 'backups'), [{ state: 'error', says: 'the newest of 1 is 100 h old' }])
  t.match(about(wrong.findings, 'provider'), [
    { state: 'ok', says: /auth_time/ },
    { state: 'ok', says: `${issuer} answers` },
    { state: 'ok' },
  ])

  const service = await startService(t, dataDir, { ...provider, SECRET_KEY: key(7) })
  const { port } = new URL(service.origin)
  const good = await examine(t, { ...provider, DATA_DIR: dataDir, SECRET_KEY: key(7), PORT: port })
  t.same([good.code, good.findings.filter(({ state }) => state !== 'ok')], [0, []])
  t.match(about(good.findings, 'keys'), [{ says: /^SECRET_KEY opens ([1-9]\d*) of \1 / }])
  t.match(about(good.findings, 'users'), [{ says: `1 of ${issuer}` }])
  t.match(about(good.findings, 'proxy'), [{ says: /answers; what proxies add/ }])
  await service.kill('SIGTERM')

  if (process.getuid?.() !== 0) return t.comment('only root can give a file to somebody else')
  await chown(join(dataDir, 'bookmarks.db'), 10001, 10001)
  const owned = await examineAsCalled(t, { DATA_DIR: dataDir, SECRET_KEY: key(7) })
  t.match(about(owned.findings, 'owner'), [{ state: 'error', says: /bookmarks\.db in/, todo: /^chown -R 0:0 / }])
})

/** Makes a backup that looks as old as this many hours. */
async function backUp(dataDir: string, BACKUP_TO: string, hours: number): Promise<void> {
  const source = { database: join(dataDir, 'bookmarks.db'), exportsDir: undefined }
  await makeBackup(source, join(BACKUP_TO, nameOf(Date.now() - hours * 3_600_000)))
}

t.test('A clock that the service would not trust after its time out of use is reported', async (t) => {
  const dataDir = await folder(t)
  const { close } = await buildApp(t, {}, { dataDir })
  await close()
  const file = new Sqlite(join(dataDir, 'bookmarks.db'))
  t.teardown(() => file.close())
  for (const [days, KEEP_VERSIONS_DAYS, state, says] of [
    [5, '30', 'ok', /^it is /],
    [5, '8', 'warning', /^the clock says .* 5\.0 days after this database was last in use/],
    [10, '30', 'warning', /10\.0 days after/],
    [-10, '30', 'error', /10\.0 days before/],
  ] as const) {
    const at = Date.now() - days * 86_400_000
    file.prepare('UPDATE heartbeat SET believed_at = ?, judged_at = ?, doubted_ms = NULL').run(at, at)
    const { findings } = await examine(t, { DATA_DIR: dataDir, KEEP_VERSIONS_DAYS })
    t.match(about(findings, 'clock'), [{ state, says }], `${days} days, versions for ${KEEP_VERSIONS_DAYS}`)
  }
})

t.test('A missing database, or another one than that of the backups, is reported', async (t) => {
  const [dataDir, another, BACKUP_TO] = [await folder(t), await folder(t), await folder(t)]
  for (const place of [dataDir, another]) await (await buildApp(t, {}, { dataDir: place })).close()
  await backUp(dataDir, BACKUP_TO, 1)
  const env = { BACKUP_EVERY: '1d', BACKUP_TO, SECRET_KEY: key(7) }
  const own = await examine(t, { ...env, DATA_DIR: dataDir })
  t.same(
    [own.code, about(own.findings, 'backups')],
    [0, [{ about: 'backups', state: 'ok', says: 'the newest of 1 is 1 h old' }]],
  )
  const other = await examine(t, { ...env, DATA_DIR: another })
  t.match(about(other.findings, 'backups'), [
    { state: 'warning', says: /^1 of 1 are of another database, or cannot be read: they are never removed/ },
    { state: 'warning', says: 'there is none yet' },
  ])

  const DATA_DIR = await folder(t)
  const gone = await examineAsCalled(t, { ...env, DATA_DIR })
  const [finding] = about(gone.findings, 'database')
  t.match(
    [gone.code, finding],
    [1, { state: 'error', says: /^DATABASE_URL: there is no database in .* has 1 backups/ }],
  )
  const started = await runCommand(t, 'serve', [], { ...env, DATA_DIR, PORT: '0' })
  t.match([started.code, started.stderr], [1, finding?.says ?? ''], 'a start prints the same')
})

t.test('With a pooler, the database is checked through it, as the service uses it', async (t) => {
  const urls = { DATABASE_URL: 'postgres://127.0.0.1:9/x', PULSE_DATABASE_URL: 'postgres://127.0.0.1:10/x' }
  const { code, findings } = await examine(t, { ...production, ...urls })
  t.match([code, about(findings, 'database')], [1, [{ state: 'error', says: /^DATABASE_URL: .*127\.0\.0\.1:9\b/ }]])
})

t.test('A folder in which the service may not write is reported', async (t) => {
  if (process.getuid?.() !== 0) return t.comment('only root can give a folder to somebody else')
  const at = await folder(t)
  await chmod(at, 0o755)
  const [DATA_DIR, others] = [join(at, 'data'), join(at, 'others')]
  await mkdir(DATA_DIR)
  await chown(DATA_DIR, 10001, 10001)
  await mkdir(others, { mode: 0o700 })
  const places = [others, join(others, 'backups'), join(at, 'backups')]
  for (const BACKUP_TO of isDeep ? places : places.slice(1, 2)) {
    const { code, findings } = await examineAsCalled(t, { DATA_DIR, BACKUP_EVERY: '1d', BACKUP_TO })
    const todo = `install -d -m 0700 -o 10001 -g 10001 '${BACKUP_TO}'`
    const [finding] = about(findings, 'owner')
    t.match([code, finding], [1, { state: 'error', says: /^BACKUP_TO: user 10001 cannot use \S+ / }])
    t.equal(finding?.todo, todo)
  }
})

t.test('A database file that the service may not write is reported, and no other file appears', async (t) => {
  if (process.getuid?.() !== 0) return t.comment('only root can give a file to somebody else')
  const DATA_DIR = await folder(t)
  await (await buildApp(t, {}, { dataDir: DATA_DIR })).close()
  for (const path of [DATA_DIR, ...(await readdir(DATA_DIR)).map((name) => join(DATA_DIR, name))])
    await chown(path, 10001, 10001)
  await chmod(join(DATA_DIR, 'bookmarks.db'), 0o400)
  const { code, findings } = await examineAsCalled(t, { DATA_DIR, BACKUP_EVERY: '1d' })
  const says = /^DATABASE_URL: user 10001 cannot use \S+\/bookmarks\.db \(EACCES/
  t.match([code, about(findings, 'database')], [1, [{ state: 'error', says }]])
})

t.test('A disk that is mounted read-only is reported, and not as a full one', async (t) => {
  const at = await folder(t)
  const mounted = await run('mount', ['-t', 'tmpfs', '-o', 'ro,size=1m', 'none', at]).catch(() => undefined)
  if (!mounted) return t.comment('only root can mount a disk')
  t.teardown(() => run('umount', [at]))
  const { code, findings } = await examine(t, { DATA_DIR: join(at, 'data') })
  const says = `DATA_DIR: ${at} is on a disk that is mounted read-only`
  t.match([code, about(findings, 'disk'), about(findings, 'owner')], [1, [{ state: 'error', says }], []])
  t.equal(about(findings, 'disk').length, 1)
})

t.test('SERVE_APP without a built web page is reported', async (t) => {
  const at = await folder(t)
  const left = /\/(web|docs|compile-cache|node_modules)(\/|$)/
  await cp(bundleFolder, at, { recursive: true, filter: (path) => !left.test(path) })
  await symlink(resolve('node_modules'), join(at, 'node_modules'))
  const DATA_DIR = await folder(t)
  const env = { ...production, DATA_DIR, PORT: '0', SERVE_APP: 'true' }
  const { exited, stdout } = runProcess(t, env, { entry: join(at, 'ebs.mjs'), args: ['doctor', '--json'] })
  const { code } = await exited
  const says = 'SERVE_APP: the web page is not built: run `npm run build`, or set SERVE_APP=false'
  t.match([code, about(JSON.parse(stdout()), 'settings')], [1, [{ state: 'ok' }, { state: 'error', says }]])
})

t.test('Doctor reports who may sign in, what users can open, and misspelt variables for access', async (t) => {
  const signUp = async (env: Env) => (await examine(t, env)).findings
  const odd = await signUp({ ...production, SIGNUPS: 'closed', OIDC_REQUIRED_GROUP: 'x', REGISTRATION: 'closed' })
  const everybody = 'who may sign in at https://127.0.0.1:9: everybody, as no variable restricts it'
  t.match(about(odd, 'sign-up'), [
    { state: 'ok', says: everybody },
    { state: 'warning', says: 'users have nothing to open', todo: /SERVE_APP=true .* CORS_ORIGIN/ },
  ])
  t.match(about(odd, 'settings'), [
    { says: 'nothing reads SIGNUPS', todo: 'did you mean SIGN_UP?' },
    { says: 'nothing reads OIDC_REQUIRED_GROUP', todo: 'did you mean OIDC_REQUIRED_CLAIM?' },
  ])
  const rules = { SIGN_UP: 'closed', OIDC_ALLOWED_DOMAINS: 'a.example,b.example', OIDC_REQUIRED_CLAIM: 'groups=marks' }
  const closed = await signUp({ ...production, ...rules, CORS_ORIGIN: 'moz-extension://*' })
  const says =
    'only existing users (SIGN_UP=closed), and e-mail addresses of a.example, b.example, and the claim groups=marks'
  t.same(
    about(closed, 'sign-up').map((finding) => finding.says.split(': ').at(-1)),
    [says],
  )
  const own = await signUp({ ...production, SERVE_APP: 'true' })
  t.same(
    about(own, 'sign-up').map((finding) => finding.says),
    [everybody],
  )
})

deep(t, 'All folders that the service writes to, and all addresses that it listens on, are checked', async (t) => {
  const at = await folder(t)
  const file = join(at, 'file')
  await writeFile(file, '')
  const places = await examine(t, { EXPORTS_DIR: file, DATABASE_URL: `sqlite:${join(at, 'elsewhere', 'b.db')}` })
  t.match([places.code, about(places.findings, 'owner')], [1, [{ says: `EXPORTS_DIR: ${file} is not a folder` }]])
  const disks = about(places.findings, 'disk').map(({ says }) => says.split(':')[0])
  t.same(disks, ['DATA_DIR', 'DATABASE_URL', 'EXPORTS_DIR'])

  const other = createServer((_request, response) => response.end('another service')).listen(0, '127.0.0.1')
  t.teardown(() => other.close())
  await once(other, 'listening')
  const taken = String((other.address() as AddressInfo).port)
  const PORT = String(await freePort())
  const faults: [env: Env, says: string][] = [
    [{ PORT: taken }, `PORT: port ${taken} on 127.0.0.1 is in use: set another`],
    [{ PORT, ADMIN_PORT: taken }, `ADMIN_PORT: port ${taken} on 127.0.0.1 is in use: set another`],
    [{ PORT, ADMIN_PORT: PORT }, `ADMIN_PORT: port ${PORT} on 127.0.0.1 is in use: set another`],
    [{ PORT, HOST: '192.0.2.1' }, 'HOST: cannot listen on 192.0.2.1 ('],
    [{ PORT, ADMIN_HOST: '192.0.2.1', ADMIN_PORT: taken }, 'ADMIN_HOST: cannot listen on 192.0.2.1 ('],
  ]
  for (const [env, says] of faults) {
    const { code, findings } = await examine(t, env)
    const [finding] = about(findings, 'listening')
    t.same([code, finding?.state, finding?.says.slice(0, says.length)], [1, 'error', says])
    const DATA_DIR = await folder(t)
    const started = await runCommand(t, 'serve', [], { DEV_IDP_PORT: '0', ...env, DATA_DIR })
    t.match([started.code, started.stderr], [1, says], 'a start prints the same')
  }
})

/** Installs a fake systemctl that shows a unit with these properties. Returns a PATH with it. */
async function withUnit(t: Test, properties: Env): Promise<string> {
  const bin = await folder(t)
  await chmod(bin, 0o755)
  const lines = Object.entries({ LoadState: 'loaded', ...properties }).map(([name, value]) => `${name}=${value}`)
  await writeFile(join(bin, 'systemctl'), `#!/bin/sh\ncat << 'END'\n${lines.join('\n')}\nEND\n`, { mode: 0o700 })
  return `${bin}:${process.env.PATH}`
}

deep(t, 'Restrictions by the systemd unit are reported with the line that lifts them', async (t) => {
  const user = userInfo().username
  const strict = { User: user, ProtectSystem: 'strict', ProtectHome: 'yes', MemoryMax: '1073741824' }
  const at = await realpath(await folder(t))
  const [DATA_DIR, BACKUP_TO] = [join(at, 'data'), join(at, 'disk', 'backups')]
  await mkdir(DATA_DIR)
  const look = async (properties: Env, env: Env = {}) => {
    const PATH = await withUnit(t, { ...strict, ...properties })
    const given = { DATA_DIR, BACKUP_TO, BACKUP_EVERY: '1d', PORT: String(await freePort()), PATH, ...env }
    const { stdout } = await runCommand(t, 'doctor', ['--json', '--unit', 'bookmarks'], given)
    return JSON.parse(stdout) as Finding[]
  }
  const refused = await look({ ReadWritePaths: `-${DATA_DIR}` })
  t.match(about(refused, 'unit'), [
    {
      state: 'error',
      says: `BACKUP_TO: bookmarks may not write in ${BACKUP_TO}`,
      todo: `systemctl edit bookmarks, with these lines: [Service] ReadWritePaths=${BACKUP_TO}`,
    },
  ])
  t.equal(about(refused, 'unit').length, 1)
  t.match(about(refused, 'memory'), [{ state: 'ok', says: 'bookmarks may use 1024 MiB' }])
  const fine = { about: 'unit', state: 'ok', says: 'bookmarks may write where it has to' }
  const disk = join(at, 'disk')
  t.match(about(await look({ ReadWritePaths: `${DATA_DIR} ${disk}` }), 'unit'), [
    {
      state: 'error',
      says: `ReadWritePaths: without ${disk}, systemd does not start bookmarks`,
      todo: `install -d -m 0700 -o ${user} '${disk}'`,
    },
  ])
  await mkdir(disk)
  t.same(about(await look({ ReadWritePaths: `${DATA_DIR} ${disk}` }), 'unit'), [fine])
  t.same(about(await look({ ProtectSystem: 'full' }), 'unit'), [fine])
  const state = await look({ StateDirectory: 'bookmarks', ReadWritePaths: at }, { EXPORTS_DIR: '/var/lib/bookmarks/x' })
  t.same(about(state, 'unit'), [fine])

  const small = await look({ ReadWritePaths: at, MemoryMax: '268435456' }, { EXPORTS_DIR: '/home/exports' })
  t.match(about(small, 'memory'), [{ state: 'warning', says: 'bookmarks may use 256 MiB' }])
  t.match(about(small, 'unit'), [
    { state: 'error', says: /^EXPORTS_DIR/, todo: /^name a folder elsewhere: ProtectHome=/ },
  ])
  const stranger = await look({ ReadWritePaths: at, User: 'daemon' })
  t.match(about(stranger, 'unit'), [
    { state: 'error', says: /^bookmarks runs as daemon, and the data belong to user / },
  ])
  const unknown = await look({ LoadState: 'not-found' })
  t.match(about(unknown, 'unit'), [{ state: 'warning', says: /^systemd does not report/ }])

  if (process.getuid?.() !== 0) return t.comment('only root can become another user')
  await chmod(at, 0o755)
  await chown(DATA_DIR, 1, 1)
  t.same(about(await look({ ReadWritePaths: at, User: 'daemon' }), 'unit'), [fine], 'systemd is asked as root')
})

t.test(
  'Sign-up closed before the first user, backups next to the database, and kept databases are reported',
  async (t) => {
    const DATA_DIR = await folder(t)
    await writeFile(join(DATA_DIR, 'bookmarks.db.before-2026-11-22T03-00-00-000Z'), '')
    const { findings } = await examine(t, { DATA_DIR, SIGN_UP: 'closed', BACKUP_EVERY: '1d' })
    const told = findings.filter(({ state }) => state !== 'ok')
    t.match(told, [
      { about: 'users', state: 'error', says: /nobody can ever sign in/ },
      { about: 'disk', state: 'warning', says: /^BACKUP_TO: .* is on the disk of the database/ },
      {
        about: 'database',
        state: 'warning',
        says: /^bookmarks\.db\.before-2026-11-22T03-00-00-000Z: databases from before/,
      },
    ])
    await (await buildApp(t, {}, { dataDir: DATA_DIR })).close()
    const elsewhere = await examine(t, {
      DATA_DIR,
      SIGN_UP: 'closed',
      BACKUP_EVERY: '1d',
      BACKUP_TO: '/dev/shm/ebs-none',
    })
    t.match(about(elsewhere.findings, 'users'), [{ state: 'ok' }, { state: 'error' }], 'also with an empty database')
    t.notMatch(elsewhere.text, 'on the disk of the database')
  },
)

t.test('A comment after a value is reported', async (t) => {
  const { findings } = await examine(t, { OIDC_SCOPES: 'openid # as they want it', HOST: '127.0.0.1' })
  t.match(about(findings, 'settings'), [{ state: 'warning', says: 'OIDC_SCOPES has a # after a blank' }])
})

t.test('Settings that the unit passes differently than ebs are reported, and a unit that does not start', async (t) => {
  const at = await realpath(await folder(t))
  await chmod(at, 0o755)
  const [DATA_DIR, file, SECRET_KEY_FILE] = [join(at, 'data'), join(at, 'environment'), join(at, 'secret_key')]
  await mkdir(DATA_DIR)
  await writeFile(file, 'TRUST_PROXY = 2\n#LOG_LEVEL=warn\n')
  await writeFile(SECRET_KEY_FILE, key(7), { mode: 0o600 })
  const look = async (Environment: string, more: Env = {}) => {
    const shown = { User: userInfo().username, EnvironmentFiles: `${file} (ignore_errors=no)`, Environment, ...more }
    const given = { DATA_DIR, SECRET_KEY_FILE, PORT: String(await freePort()), TRUST_PROXY: '2', BACKUP_KEEP: '3' }
    const { PATH } = process.env
    process.env.PATH = await withUnit(t, { ...shown, ReadWritePaths: at })
    const findings = await examineHere(given, 'bookmarks')
    process.env.PATH = PATH
    return about(findings, 'unit')
  }
  const passed = `TRUST_PROXY=1 SECRET_KEY_FILE=/run/credentials/bookmarks.service/secret_key DATA_DIR=${DATA_DIR}`
  t.match(await look(`${passed} BACKUP_KEEP=3`), [{ state: 'ok' }], 'the file has priority over Environment=')
  t.match(await look(passed.replace('SECRET_KEY_FILE=', 'X_FILE=')), [
    {
      state: 'error',
      says: `bookmarks does not pass SECRET_KEY on: ${SECRET_KEY_FILE} is for commands alone`,
      todo: `LoadCredential=secret_key:${SECRET_KEY_FILE} Environment=SECRET_KEY_FILE=/run/credentials/%n/secret_key`,
    },
  ])
  for (const other of ['LOG_LEVEL=debug', '"BACKUP_KEEP=3 4"', '"OIDC_SCOPES=openid \\"email\\""'])
    t.match(await look(`${passed} ${other}`), [
      { state: 'error', says: /^(LOG_LEVEL|BACKUP_KEEP|OIDC_SCOPES): bookmarks/ },
    ])
  t.match(await look(passed, { SubState: 'auto-restart' }), [
    {
      state: 'error',
      says: 'bookmarks does not start (auto-restart)',
      todo: 'journalctl -u bookmarks -n 20 has the reason',
    },
  ])
})

/** Starts a proxy that adds the caller's address to X-Forwarded-For, after `before`. */
async function startProxy(t: Test, port: string, before = ''): Promise<string> {
  const proxy = createServer((request, response) => {
    const forwarded = [before, request.socket.remoteAddress].filter(Boolean).join(', ')
    const options = { host: '127.0.0.1', port, path: request.url, headers: { 'x-forwarded-for': forwarded } }
    send(options, (answer) => answer.pipe(response.writeHead(answer.statusCode ?? 500))).end()
  })
  t.teardown(() => proxy.close())
  await once(proxy.listen(0, '127.0.0.1'), 'listening')
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
}

t.test('The headers of proxies are compared with TRUST_PROXY while the service is stopped', async (t) => {
  const PORT = String(await freePort())
  const one = await startProxy(t, PORT)
  const two = await startProxy(t, PORT, '192.0.2.1')
  const finding = async (PUBLIC_URL: string, TRUST_PROXY: string) =>
    about((await examine(t, { PUBLIC_URL, TRUST_PROXY, PORT })).findings, 'proxy')[0]
  t.match(await finding(one, ''), { state: 'error', todo: /^set TRUST_PROXY=1: without it, all users share/ })
  t.match(await finding(one, '1'), { state: 'ok', says: /arrives with X-Forwarded-For: 127\.0\.0\.1$/ })
  t.match(await finding(one, '2'), { state: 'error', todo: /trusts 2 of them: set it to 1/ })
  t.match(await finding(two, '1'), { state: 'warning', todo: /trusts 1 of them: set it to 2/ })
  const withPort = await startProxy(t, PORT, '192.0.2.1:40000')
  t.match(await finding(withPort, '1'), { state: 'warning', todo: /trusts 1 of them: set it to 2/ })
  const nameless = await startProxy(t, PORT, 'unknown')
  t.match(await finding(nameless, '2'), { state: 'error', todo: /callers behind "unknown" share the limits/ })
  t.match(await finding(one, '127.0.0.1'), { state: 'ok' })
  t.match(await finding(two, '127.0.0.1'), { state: 'ok' })
  t.match(await finding(two, '10.0.0.0/8'), { state: 'warning', todo: /trusts 0 of them/ })
  t.match(await finding(`http://127.0.0.1:${PORT}`, '1'), { state: 'error', todo: /unset TRUST_PROXY/ })
  t.match(await finding(`http://127.0.0.1:${await freePort()}`, '1'), { state: 'warning', says: /cannot be reached/ })
})

t.test('The first X-Forwarded-For without TRUST_PROXY is logged as one warning', async (t) => {
  const warnings = (log: string[]) => log.map((line) => JSON.parse(line)).filter(({ msg }) => /TRUST_PROXY/.test(msg))
  const app = await buildApp(t)
  await app.call('GET', '/api/v1/health')
  t.same(warnings(app.log), [])
  for (const header of ['x-forwarded-for', 'forwarded', 'x-forwarded-for'])
    await app.call('GET', '/api/v1/health', { headers: { [header]: 'for=192.0.2.1' } })
  t.match(warnings(app.log), [
    { level: 40, msg: /^a request has the header x-forwarded-for, but TRUST_PROXY is not set/ },
  ])
  t.equal(warnings(app.log).length, 1)
  const trusting = await buildApp(t, { TRUST_PROXY: '1' })
  await trusting.call('GET', '/api/v1/health', { headers: { 'x-forwarded-for': '192.0.2.1' } })
  t.same(warnings(trusting.log), [])
})
