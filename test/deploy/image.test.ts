/** Builds deploy/Containerfile unchanged, on base images made here, so that no image registry is needed. */
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chown, mkdir, readdir, readFile, realpath, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { freePort } from '../../scripts/servers/free-port.ts'
import { installDebian } from '../support/debian.ts'
import { isDeep } from '../support/depth.ts'
import { findProgram } from '../support/programs.ts'
import { folder } from '../support/service.ts'
import { until } from '../support/until.ts'
import { read, root } from './files.ts'

const production = {
  PUBLIC_URL: 'https://sync.example.org',
  SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
  OIDC_ISSUER: 'https://127.0.0.1:9',
  OIDC_CLIENT_ID: 'id',
  OIDC_CLIENT_SECRET: 'secret',
}
const maxBytes = 250_000_000
/** The published size of debian:trixie-slim, rounded up. The base image made here is larger. */
const baseBytes = 85_000_000

t.test('An image built by buildah is small, and serves as its own user on a read-only root', async (t) => {
  if (!isDeep) return t.comment('with --deep: it installs Debian and all packages')
  if (process.getuid?.() !== 0) return t.comment('SKIPPED: needs root')
  const programs = await Promise.all(['buildah', 'debootstrap', 'npm'].map(findProgram))
  if (programs.includes(undefined)) return
  const at = await folder(t)
  const buildah = (...words: string[]) => {
    const [command = '', ...rest] = words
    const storage = ['--storage-driver', 'vfs', '--root', join(at, 'storage'), '--runroot', join(at, 'run')]
    const done = spawnSync('buildah', [...storage, command, ...rest], { cwd: fileURLToPath(root), encoding: 'utf8' })
    if (done.status !== 0) throw new Error(`buildah ${words.join(' ')}: ${done.stderr}${done.stdout}`)
    return done.stdout.trim()
  }
  await makeBases(join(at, 'debian'), buildah)
  buildah(
    'bud',
    ...['--isolation', 'chroot', '--pull-never', '--format', 'docker'],
    '-f',
    'deploy/Containerfile',
    '-t',
    'built',
    '.',
  )

  const image = JSON.parse(buildah('inspect', '--type', 'image', 'localhost/built')) as Inspected
  const { Env, Cmd, User, WorkingDir } = image.Docker.config
  const home = buildah('mount', buildah('from', '--pull-never', 'localhost/built'))
  const added = ['app', 'usr/local/bin/node'].map((path) => join(home, path))
  const sizes = execFileSync('du', ['--bytes', '--summarize', ...added], { encoding: 'utf8' }).match(/^\d+/gm) ?? []
  const bytes = sizes.reduce((sum, size) => sum + Number(size), baseBytes)
  t.comment(`${Math.round(bytes / 1e6)} MB: the service ${sizes[0]}, Node ${sizes[1]}, the base ${baseBytes} bytes`)
  t.ok(bytes < maxBytes, `${bytes} bytes`)

  const licences = ['', 'web/', 'docs/'].map((folder) => `app/${folder}THIRD-PARTY.txt`)
  for (const file of [...licences, 'usr/local/share/doc/node/LICENSE', 'app/node_modules/better-sqlite3/LICENSE'])
    t.ok((await stat(join(home, file))).size > 500, file)

  const [user = '', group = ''] = User.split(':')
  const data = join(at, 'data')
  await mkdir(data, { mode: 0o700 })
  // A container runtime also gives a new volume the owner of the image's folder.
  const owner = await stat(join(home, 'data'))
  await chown(data, owner.uid, owner.gid)
  const own = Object.fromEntries(Env.map((pair) => pair.split(/=(.*)/s).slice(0, 2)))
  const env = { ...own, ...production, HOST: '127.0.0.1', PORT: String(await freePort()) }
  const words = ['--mount', 'sh', '-euc', readOnly, home, data, User, WorkingDir, ...Cmd]
  const service = spawn('unshare', words, {
    env: { ...env, PATH: process.env.PATH },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.teardown(() => service.kill('SIGKILL'))
  let printed = ''
  for (const stream of [service.stdout, service.stderr]) stream.on('data', (chunk) => (printed += chunk))
  await until(() => {
    if (service.exitCode !== null) throw new Error(printed)
    return /"msg":"serving"/.test(printed)
  })
  const status = await readFile(`/proc/${service.pid}/status`, 'utf8')
  t.match(status, new RegExp(`^Uid:\\s+${user}\\s+${user}\\s[^]*^Gid:\\s+${group}\\s[^]*^CapEff:\\s+0+$`, 'm'))

  /** Runs a command in the service's mount namespace and as its user, as `docker exec` does. */
  const exec = (...command: string[]) => {
    const into = ['--target', String(service.pid), '--mount', '--root', '--wd', '--setuid', user, '--setgid', group]
    return spawnSync('nsenter', [...into, ...command], { env: { ...env, PATH: String(own.PATH) }, encoding: 'utf8' })
  }
  const [, ...check] = image.Docker.config.Healthcheck.Test
  t.equal(exec(...check).status, 0, 'healthy')
  for (const place of ['/app', '/etc', '/usr/local/bin'])
    t.match(exec('touch', `${place}/x`).stderr, 'Read-only file system', place)
  for (const _ of ['once', 'twice']) t.match(exec('ebs', 'backup', '/data/copies/'), { status: 0, stderr: '' })
  t.equal((await readdir(join(data, 'copies'))).length, 2, 'a second run makes a second backup')
  t.match(exec('ebs', 'admin', 'users'), { status: 0, stderr: '' })
  const findings = JSON.parse(exec('ebs', 'doctor', '--json').stdout) as { about: string; state: string }[]
  t.same(
    findings.filter(({ state }) => state === 'error').map(({ about }) => about),
    ['provider'],
    'no provider runs here',
  )
  service.kill('SIGTERM')
  t.same(await once(service, 'exit'), [0, null], printed)
  // A second container on the same volume, like `docker run --volumes-from`.
  const recover = [...words.slice(0, -Cmd.length), 'ebs', 'restore', '/data/copies/']
  const recovered = spawnSync('unshare', recover, { env: { ...env, PATH: process.env.PATH }, encoding: 'utf8' })
  t.match(recovered, { status: 0, stderr: '', stdout: 'start the service' })
  t.equal((await stat(join(data, 'bookmarks.db'))).uid, Number(user))
})

interface Inspected {
  Docker: {
    config: { Env: string[]; Cmd: string[]; User: string; WorkingDir: string; Healthcheck: { Test: string[] } }
  }
}

/** Makes both base images of the Containerfile: Debian by debootstrap, and the same with this machine's Node and npm. */
async function makeBases(debian: string, buildah: (...words: string[]) => string): Promise<void> {
  const [node = '', plain = ''] = [...read('deploy/Containerfile').matchAll(/^FROM (\S+)/gm)].map(([, name]) => name)
  await installDebian(/:(\w+)/.exec(plain)?.[1] ?? '', debian)
  const container = buildah('from', 'scratch')
  buildah('copy', container, debian, '/')
  buildah('commit', container, plain)
  const npm = dirname(dirname(await realpath((await findProgram('npm')) as string)))
  buildah('copy', container, process.execPath, '/usr/local/bin/node')
  // Any text will do. The published base image has Node's licence at this path.
  buildah('copy', container, fileURLToPath(new URL('LICENSE', root)), '/usr/local/LICENSE')
  buildah('copy', container, npm, '/usr/local/lib/node_modules/npm')
  const link = 'ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm'
  buildah('run', '--isolation', 'chroot', container, '--', 'sh', '-c', link)
  // The build installs packages from the registry that this machine uses.
  const registry = execFileSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' }).trim()
  buildah('config', '--env', `npm_config_registry=${registry}`, container)
  const { NODE_EXTRA_CA_CERTS: ca } = process.env
  if (ca) {
    buildah('copy', container, ca, ca)
    buildah('config', '--env', `NODE_EXTRA_CA_CERTS=${ca}`, container)
  }
  buildah('commit', '--rm', container, node)
}

/** A shell script that runs a command on a read-only root. Its arguments: root, volume, user, working folder, command. */
const readOnly = `
root=$0 volume=$1 user=$2 at=$3
shift 3
mount --bind "$root" "$root"
mount -o remount,bind,ro "$root"
mount -t tmpfs tmpfs "$root/tmp"
mount --bind "$volume" "$root/data"
for each in proc dev; do mount --rbind "/$each" "$root/$each"; done
exec setpriv --no-new-privs chroot --userspec="$user" "$root" sh -c 'cd "$0"; PATH=/usr/local/bin:$PATH exec "$@"' "$at" "$@"
`
