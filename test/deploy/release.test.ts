/** What `npm run release` makes and refuses. The deep tests build the last commit, not the working tree. */
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { chmod, chown, copyFile, cp, mkdir, readdir, readFile, rename, stat, utimes, writeFile } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import packageJson from '../../package.json' with { type: 'json' }
import { compareVersions } from '../../scripts/release/agreement.ts'
import { writeTar } from '../../scripts/release/archive.ts'
import { freePort } from '../../scripts/servers/free-port.ts'
import { installDebian } from '../support/debian.ts'
import { isDeep } from '../support/depth.ts'
import { findProgram } from '../support/programs.ts'
import { folder } from '../support/service.ts'
import { until } from '../support/until.ts'
import { root } from './files.ts'

const top = fileURLToPath(root)
const { name, version } = packageJson
const isRoot = process.getuid?.() === 0
const secrets = { secret_key: Buffer.alloc(32, 7).toString('base64'), oidc_client_secret: 'secret' }
const settings = { PUBLIC_URL: 'https://sync.example.org', OIDC_ISSUER: 'https://127.0.0.1:9', OIDC_CLIENT_ID: 'id' }

t.test('All files name the same version; a file or tag with another one stops the release', async (t) => {
  const places = [
    'package.json',
    'package-lock.json',
    'openapi.yaml',
    'asyncapi.yaml',
    'examples/extension/manifest.json',
    'deploy/kubernetes/deployment.yaml',
    'CHANGELOG.md',
  ]
  const texts = Object.fromEntries(places.map((path) => [path, readFileSync(new URL(path, root), 'utf8')]))
  t.same(compareVersions(texts, [`v${version}`]), { version, faults: [] })
  t.same(compareVersions(texts, ['v9.9.9']).faults, [`the tag is v9.9.9, package.json has ${version}`])
  for (const path of places.slice(1)) {
    const other = { ...texts, [path]: (texts[path] as string).replaceAll(version, '9.9.9') }
    t.same(compareVersions(other, []).faults, [`${path} has 9.9.9, package.json ${version}`])
    t.same(compareVersions({ ...texts, [path]: '' }, []).faults, [`${path} has no version, package.json ${version}`])
  }
  const { node } = packageJson.devDependencies
  const another = {
    ...texts,
    'package.json': (texts['package.json'] as string).replace(`"node": "${node}"`, '"node": "24.0.0"'),
  }
  t.match(compareVersions(another, []).faults, [/has the sums of Node .*, not 24\.0\.0/])
})

t.test('An archive does not depend on the owner, the time or the order of its files', async (t) => {
  const at = await folder(t)
  const files = ['b', 'a', 'sub/c'] as const
  const make = async (parent: string, order: readonly string[], mode: number, date: Date) => {
    await mkdir(join(at, parent, 'x/sub'), { recursive: true })
    for (const file of order) {
      const path = join(at, parent, 'x', file)
      await writeFile(path, file)
      await chmod(path, file === 'a' ? mode | 0o100 : mode)
      await utimes(path, date, date)
    }
    await writeTar(join(at, parent), 'x', join(at, `${parent}.tar.gz`), 1_700_000_000)
    return readFile(join(at, `${parent}.tar.gz`))
  }
  const first = await make('one', files, 0o600, new Date(0))
  t.same(await make('two', [...files].reverse(), 0o664, new Date()), first)
})

t.test('verify.sh accepts only signed sums, and only files that match them', async (t) => {
  const at = await folder(t)
  const shell = (line: string) => execFileSync('sh', ['-euc', line], { cwd: at, stdio: 'pipe' })
  await copyFile(join(top, 'deploy/verify.sh'), join(at, 'verify.sh'))
  shell(`for key in ours theirs; do openssl genpkey -algorithm ed25519 -out $key; openssl pkey -in $key -pubout -out $key.pub; done
    echo one > one; echo two > two; echo three > three; sha256sum one two three > SHA256SUMS; rm three
    openssl pkeyutl -sign -inkey ours -rawin -in SHA256SUMS -out SHA256SUMS.sig`)
  const verify = (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync('sh', ['verify.sh', ...args], { cwd: at, encoding: 'utf8' })
    return [status, stdout + stderr]
  }
  t.same(verify('--key', 'ours.pub'), [0, 'as published: one\nas published: two\n'], 'files may be missing')
  t.match(verify('--key', 'theirs.pub'), [1, 'not a signature of SHA256SUMS by that key'])
  t.match(verify(), [1, 'say whose release it is'], 'without a key, it cannot check the signature')
  shell('echo other > two')
  t.match(verify('--key', 'ours.pub'), [1, 'a file was altered'])
  shell('sha256sum one two > SHA256SUMS')
  t.match(verify('--key', 'ours.pub'), [1, 'not a signature of SHA256SUMS by that key'])
  shell('rm SHA256SUMS.sig')
  t.match(verify('--key', 'ours.pub'), [1, 'SHA256SUMS.sig is missing'])
})

t.test('Two builds in two folders give the same bytes, and each package can be installed and serves', async (t) => {
  if (!isDeep) return t.comment('with --deep: it builds everything twice')
  const at = await folder(t)
  const [one, another] = [join(at, 'one'), join(at, 'another')]
  const first = releaseIn(one, top)
  const second = releaseIn(another, one, { NODE_OPTIONS: `--import=${lateReads}` })
  const names = (await readdir(first)).sort()
  t.same(names, [
    'SHA256SUMS',
    ...[`${name}-${version}-linux-arm64.tar.gz`, `${name}-${version}-linux-x64.tar.gz`],
    ...[`${name}-${version}.cdx.json`, `${name}-${version}.tgz`, `${name}-client-${version}.tgz`],
    ...[`${name}-extension-${version}-chrome.zip`, `${name}-extension-${version}-firefox.zip`],
    ...[`${name}_${version}_amd64.deb`, `${name}_${version}_arm64.deb`],
    'verify.sh',
  ])
  t.same((await readdir(second)).sort(), names)
  for (const file of names) t.ok((await readFile(join(first, file))).equals(await readFile(join(second, file))), file)
  t.equal(spawnSync('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd: first }).status, 0)

  await t.test('The tarball serves, as a user that owns nothing but the data', (t) => serveTarball(t, first))
  await t.test("Debian's package serves, and a purge leaves the data", (t) => serveDebian(t, first))

  await writeFile(join(one, 'README.md'), 'changed')
  const refused = spawnSync('npm', ['run', 'release'], { cwd: one, encoding: 'utf8' })
  t.match([refused.status, refused.stderr], [2, 'the tree is not clean'])
})

t.test("Debian's package makes a key only if there can be no data yet, and then says to keep a copy", async (t) => {
  const { username } = userInfo()
  const [keep, back] = [/keep a copy of \S+secret_key/, /put your copy of \S+secret_key back: none was made/]
  const installations: [before: Record<string, string>, from: string[], says: RegExp][] = [
    [{ 'etc/environment': '#DATABASE_URL=\nPUBLIC_URL=https://sync.example.org\n' }, [], keep],
    [{ 'etc/secret_key': 'k', 'data/bookmarks.db': '' }, [], keep],
    [{ 'data/bookmarks.db': '' }, [], back],
    [{ 'etc/database_url': 'postgres://127.0.0.1/bookmarks' }, [], back],
    [{ 'etc/environment': 'PUBLIC_URL=https://sync.example.org\nDATABASE_URL=postgres://127.0.0.1/x\n' }, [], back],
    [{}, ['2.0.0'], back],
  ]
  for (const [before, from, says] of installations) {
    const at = await folder(t)
    for (const each of ['etc', 'data', 'bin']) await mkdir(join(at, each))
    for (const [file, text] of Object.entries(before)) await writeFile(join(at, file), text)
    await writeFile(join(at, 'bin/systemctl'), '#!/bin/sh\n', { mode: 0o755 })
    const sample = join(top, 'deploy/systemd/environment.sample')
    const places = { user: username, data: join(at, 'data'), settings: join(at, 'etc'), sample }
    const script = Object.entries(places).reduce(
      (text, [variable, place]) => text.replace(new RegExp(`^${variable}=.*$`, 'm'), `${variable}=${place}`),
      await readFile(join(top, 'deploy/debian/postinst'), 'utf8'),
    )
    const env = { PATH: `${join(at, 'bin')}:${process.env.PATH}` }
    const { status, stdout, stderr } = spawnSync('sh', ['-s', 'configure', ...from], {
      input: script,
      env,
      encoding: 'utf8',
    })
    t.same([status, stderr], [0, ''])
    t.match(stdout, says)
    t.equal(existsSync(join(at, 'etc/secret_key')), says === keep)
    t.notMatch(stdout, says === keep ? back : keep)
  }
})

t.test('The guide has the commands that a purge prints', async (t) => {
  const lines = readFileSync(join(top, 'deploy/debian/postrm'), 'utf8').match(/(?<=^ {2})(rm|userdel) .*$/gm) ?? []
  t.equal(lines.length, 2)
  for (const line of lines) t.match(readFileSync(join(top, 'docs/operating/deployment.md'), 'utf8'), `\n${line}\n`)
})

t.test('The package and the guide require the version of the C library that the binaries need', async (t) => {
  const binaries = ['x64', 'arm64'].map((arch) => `node_modules/better-sqlite3/prebuilds/linux-${arch}.node`)
  const versions = [...binaries, process.execPath].flatMap((file) =>
    [...readFileSync(resolve(top, file), 'latin1').matchAll(/GLIBC_2\.(\d+)\0/g)].map(([, minor]) => Number(minor)),
  )
  const needed = `2.${Math.max(...versions)}`
  t.match(readFileSync(join(top, 'scripts/release/installation.ts'), 'utf8'), `Depends: 'libc6 (>= ${needed}), `)
  t.match(readFileSync(join(top, 'docs/operating/deployment.md'), 'utf8'), `glibc ${needed} (`)
})

/** A module for --import that delays reads at random, like a busy machine, and makes VitePress's clock run fast. */
const lateReads = `data:text/javascript,${encodeURIComponent(`
  import { promises } from 'node:fs'
  import { syncBuiltinESMExports } from 'node:module'
  import { setTimeout } from 'node:timers/promises'
  const { readFile } = promises
  promises.readFile = async (...words) => setTimeout(Math.random() * 50).then(() => readFile(...words))
  syncBuiltinESMExports()
  const { now } = Date
  let ahead = 0
  if (process.argv[1]?.includes('vitepress')) Date.now = () => now() + (ahead += 20)`)}`

/** Runs the release in a clone of `from`, with the installed packages of this checkout. Returns its folder. */
function releaseIn(place: string, from: string, env = {}): string {
  execFileSync('git', ['clone', '--quiet', from, place])
  // Hard links if possible, because there are many files.
  if (spawnSync('cp', ['-al', join(top, 'node_modules'), place]).status !== 0)
    execFileSync('cp', ['-a', join(top, 'node_modules'), place])
  const options = { cwd: place, env: { ...process.env, ...env } }
  execFileSync('npm', ['run', 'release'], { ...options, stdio: ['ignore', 'ignore', 'inherit'] })
  return join(place, 'dist/release')
}

/** The licence files of an installation, relative to its folder. */
const licences = [
  'LICENSE',
  ...['', 'web/', 'docs/'].map((folder) => `${folder}THIRD-PARTY.txt`),
  'bin/LICENSE.node',
  'node_modules/better-sqlite3/LICENSE',
  'node_modules/node-addon-api/LICENSE.md',
]

async function serveTarball(t: Test, released: string): Promise<void> {
  if (process.arch !== 'x64') return t.comment('SKIPPED: another platform')
  const at = await folder(t)
  execFileSync('tar', ['-xzf', join(released, `${name}-${version}-linux-x64.tar.gz`), '-C', at])
  const home = join(at, `${name}-${version}-linux-x64`)
  for (const file of ['systemd/ebs', `systemd/${name}.service`])
    t.match(await readFile(join(home, file), 'utf8'), /\/opt\/encrypted-bookmark-sync\/bin\/node\s/, file)
  for (const file of licences) t.ok((await stat(join(home, file))).size > 500, file)
  const data = join(at, 'data')
  await mkdir(data)
  const user = 10_001
  if (isRoot) {
    await chmod(at, 0o755)
    await chown(data, user, user)
  }
  const { secret_key: SECRET_KEY, oidc_client_secret: OIDC_CLIENT_SECRET } = secrets
  const port = String(await freePort())
  const env = { ...settings, NODE_ENV: 'production', SECRET_KEY, OIDC_CLIENT_SECRET, DATA_DIR: data, PORT: port }
  const as = isRoot ? { uid: user, gid: user } : {}
  await served(t, port, join(home, 'bin/node'), [join(home, 'ebs.mjs'), 'serve'], { env, cwd: home, ...as })
  t.equal((await stat(join(data, 'bookmarks.db'))).uid, isRoot ? user : process.getuid?.())
}

async function serveDebian(t: Test, released: string): Promise<void> {
  if (!isRoot || process.arch !== 'x64') return t.comment('SKIPPED: needs root, and x64')
  if (!(await findProgram('debootstrap'))) return
  const at = await folder(t)
  await installDebian('bookworm', at, 'systemd')
  const deb = `${name}_${version}_amd64.deb`
  await cp(join(released, deb), join(at, deb))
  const inside = (...args: string[]) => {
    const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C', DEBIAN_FRONTEND: 'noninteractive' }
    const { status, stdout, stderr } = spawnSync('chroot', [at, ...args], { env, encoding: 'utf8' })
    if (status !== 0) throw new Error(`${args.join(' ')}: ${stdout}${stderr}`)
    return stdout.trim()
  }
  t.match(inside('dpkg', '-i', `/${deb}`), 'systemctl enable --now encrypted-bookmark-sync')
  const copyright = await readFile(join(at, 'usr/share/doc', name, 'copyright'), 'utf8')
  for (const file of licences)
    t.ok(copyright.includes(await readFile(join(at, 'usr/lib', name, file), 'utf8')), `the copyright file has ${file}`)
  const etc = join(at, 'etc', name)
  const key = await readFile(join(etc, 'secret_key'), 'utf8')
  t.equal(Buffer.from(key, 'base64').length, 32)
  t.match(
    [await stat(etc), await stat(join(etc, 'secret_key'))].map(({ mode, uid }) => [mode & 0o777, uid]),
    [
      [0o700, 0],
      [0o600, 0],
    ],
  )
  const user = Number(inside('id', '-u', name))
  t.not(user, 0)

  const port = String(await freePort())
  const lines = Object.entries({ ...settings, PORT: port, SERVE_APP: 'true' }).map(
    ([each, value]) => `${each}=${value}\n`,
  )
  await writeFile(join(etc, 'environment'), lines.join(''))
  await writeFile(join(etc, 'oidc_client_secret'), secrets.oidc_client_secret)
  const page = await served(t, port, 'unshare', ['--mount', 'sh', '-c', serve, at], {
    env: { PATH: process.env.PATH as string },
    uidOf: user,
  })
  t.match(page, '<title>', 'the web page is there')
  const database = join(at, 'var/lib', name, 'bookmarks.db')
  t.equal((await stat(database)).uid, user)
  t.match(inside('ebs', 'admin', 'users'), /users|nobody|^$/i)

  inside('dpkg', '--remove', name)
  t.ok(existsSync(join(etc, 'environment')), 'removing the package keeps the settings')
  t.match(inside('dpkg', '--purge', name), '/var/lib/encrypted-bookmark-sync')
  t.same([existsSync(database), existsSync(join(etc, 'environment'))], [true, true])
  inside('dpkg', '-i', `/${deb}`)
  t.equal(await readFile(join(etc, 'secret_key'), 'utf8'), key, 'a new installation uses the old key')
  inside('dpkg', '--purge', name)
  await rename(join(etc, 'secret_key'), join(at, 'copy'))
  t.match(inside('dpkg', '-i', `/${deb}`), 'put your copy of /etc/encrypted-bookmark-sync/secret_key back')
  t.notOk(existsSync(join(etc, 'secret_key')))
  const call = [at, 'env', 'PATH=/usr/bin:/bin', 'ebs', 'doctor', '--json']
  const examined = spawnSync('chroot', call, { encoding: 'utf8' })
  t.match(examined.stdout, /secret_key cannot be read \(ENOENT\).*put the old key back/s)
  await rename(join(at, 'copy'), join(etc, 'secret_key'))

  await mkdir(join(at, 'run/systemd/system'), { recursive: true })
  await writeFile(join(at, 'usr/bin/systemctl'), '#!/bin/sh\necho "$@" >> /asked\n', { mode: 0o755 })
  inside('dpkg', '-i', `/${deb}`)
  const asked = (await readFile(join(at, 'asked'), 'utf8')).trim().split('\n')
  t.same(
    asked.filter((line) => /^(start|stop|--quiet)/.test(line)),
    [`stop ${name}`, `--quiet is-enabled ${name}`, `start ${name}`],
    'an upgrade stops the service and starts it again',
  )
}

/** Starts the service in a chroot. Node reads its memory limit from /proc; the mount ends with the process. */
const serve = 'mount --bind /proc "$0/proc" && exec chroot "$0" ebs serve'

interface Serving {
  env: Record<string, string>
  cwd?: string
  uid?: number
  gid?: number
  /** The user id that the process must have in the end. */
  uidOf?: number
}

/** Starts the service, waits until it serves, and stops it. Returns the page at `/`. */
async function served(t: Test, port: string, command: string, args: string[], options: Serving): Promise<string> {
  const { uidOf, ...how } = options
  const service = spawn(command, args, { ...how, stdio: ['ignore', 'pipe', 'pipe'] })
  t.teardown(() => service.kill('SIGKILL'))
  let printed = ''
  for (const stream of [service.stdout, service.stderr]) stream.on('data', (chunk) => (printed += chunk))
  await until(() => {
    if (service.exitCode !== null) throw new Error(printed)
    return /"msg":"serving"/.test(printed)
  })
  const expected = uidOf ?? how.uid
  if (expected !== undefined)
    t.match(await readFile(`/proc/${service.pid}/status`, 'utf8'), new RegExp(`^Uid:\\s+${expected}\\s`, 'm'))
  t.equal((await fetch(`http://127.0.0.1:${port}/livez`)).status, 200)
  const page = await (await fetch(`http://127.0.0.1:${port}/`)).text()
  service.kill('SIGTERM')
  t.same(await once(service, 'exit'), [0, null], printed)
  return page
}
