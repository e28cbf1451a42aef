/** Runs blocks of README.md and docs/operating in a clone and on empty machines, with placeholders replaced. */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { appendFile, copyFile, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { createServer as createTlsServer } from 'node:tls'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import packageJson from '../../package.json' with { type: 'json' }
import { makeCertificate } from '../../scripts/servers/certificate.ts'
import { launchChromium, pressAtOnce } from '../../scripts/servers/chromium.ts'
import { freePort } from '../../scripts/servers/free-port.ts'
import { isDeep } from '../support/depth.ts'
import { debian, type Machine } from '../support/machine.ts'
import { startMock } from '../support/relying-party.ts'
import { folder } from '../support/service.ts'
import { until } from '../support/until.ts'
import { addBookmark, live, makeVault, openVault } from '../web/fixture.ts'
import { lineOf, linesOf } from './blocks.ts'
import { typeAll } from './operating-lines.ts'

const { name, version } = packageJson
const guide = 'docs/operating/deployment.md'
/** A host name for which Caddy makes the certificate itself. */
const site = 'bookmarks.local'

t.test('The commands of the operating guides work in an empty folder and on empty machines', async (t) => {
  if (!isDeep) return t.comment('with --deep: it installs everything, and boots Debian')
  const at = await folder(t)
  const clone = join(at, name)
  execFileSync('git', ['clone', '--quiet', fileURLToPath(new URL('../../', import.meta.url)), clone])

  await t.test('README: the service from a clone', async (t) => {
    // The block's other line runs all tests, including this one.
    const [start = ''] = linesOf('README.md', 'npm ci && npm start').split('\n')
    const { origin } = await serve(t, start, clone)
    t.match(await (await fetch(origin)).text(), '<title>', 'the page is there')
    t.equal((await fetch(`${origin}/docs/`)).status, 503, 'before the documents')
    await until(async () => (await fetch(`${origin}/docs/`)).status === 200)
  })
  execFileSync('npm', ['run', 'release'], { cwd: clone, stdio: ['ignore', 'ignore', 'inherit'] })
  const released = join(clone, 'dist/release')

  await t.test('README: the client package in a neighbouring folder', async () => {
    const app = join(at, 'app')
    await mkdir(app)
    shell(linesOf('README.md', 'npm pack'), app)
    await stat(join(app, 'node_modules/encrypted-bookmark-sync-client/package.json'))
  })

  await t.test('deployment.md: the commands of a checkout', async (t) => {
    const data = await folder(t)
    const checkout = (line: string, cwd = clone) =>
      shell(`export DATA_DIR=${data}/of-the-service SECRET_KEY=${secret}; ${line}`, cwd)
    checkout('npm run migrate')
    for (const count of ['once', 'twice']) {
      const to = { FOLDER: join(data, count) }
      checkout(lineOf(guide, 'npm run ebs -- backup FOLDER', to))
      checkout(lineOf(guide, 'npm run backup -- FOLDER', to))
      checkout(lineOf(guide, 'node ebs.mjs backup FOLDER', to), join(clone, 'dist/service'))
      t.equal((await readdir(join(data, count))).filter((made) => made.endsWith('Z')).length, 2)
      checkout(lineOf(guide, 'npm run ebs -- restore FOLDER', to))
      checkout(lineOf(guide, 'npm run build -- extension'))
    }
  })

  const boot = await debian(t)
  if (boot) {
    await t.test('deployment.md: one machine with Debian, Caddy, and people', (t) => debianPackage(t, boot, released))
    await t.test('deployment.md: one machine, from the tarball', (t) => tarball(t, boot, released))
    await t.test('backups.md: a dump of Postgres, and back', (t) => dump(t, boot, released))
  }

  const [bootOlder, bootNewer] = [await debian(t, 'bullseye'), await debian(t, 'trixie')]
  if (bootOlder)
    await t.test('The package does not install on Debian 11, whose libraries its SQLite cannot use', async (t) => {
      const machine = await bootOlder()
      await copyPackage(machine, released)
      const [install = ''] = linesOf(guide, 'apt-get update').split('\n')
      await t.rejects(machine.type(install.replace(' caddy', ''), 'y\n'), /Depends: libc6 \(>= 2\.34\)/)
    })
  if (bootNewer)
    await t.test('deployment.md: Debian 13 and nginx, until the page is served', (t) =>
      openPage(t, bootNewer, released),
    )

  await t.test('deployment.md: the service alone', async (t) => {
    const env = { OIDC_CLIENT_ID: 'bookmarks', SECRET_KEY: secret, OIDC_CLIENT_SECRET: 'secret' }
    const filled = Object.fromEntries(Object.entries(env).map(([key, value]) => [`${key}=…`, `${key}=${value}`]))
    for (const _ of ['once', 'twice']) {
      const { origin } = await serve(t, `SERVE_APP=true ${linesOf(guide, 'NODE_ENV=production', filled)}`, clone)
      t.match(await (await fetch(origin)).text(), '<title>', 'the page that users open')
    }
  })

  await t.test('backups.md: the service makes them', async (t) => {
    const [disk, data] = [await folder(t), await folder(t)]
    const line = linesOf('docs/operating/backups.md', 'BACKUP_EVERY', { '/mnt/other-disk': disk })
    for (const count of ['once', 'twice'])
      await t.test(count, async (t) => {
        await serve(t, line, clone, data)
        const made = () => readdir(join(disk, 'bookmarks')).catch(() => [])
        await until(async () => (await made()).some((each) => /^\d.*Z$/.test(each)))
      })
  })

  await t.test('monitoring.md: traces arrive at the collector', async (t) => {
    const paths: (string | undefined)[] = []
    const collector = createServer((request, response) => {
      paths.push(request.url)
      request.resume().on('end', () => response.end('{}'))
    }).listen(0, '127.0.0.1')
    t.teardown(() => collector.close())
    await once(collector, 'listening')
    const { port } = collector.address() as { port: number }
    const line = linesOf('docs/operating/monitoring.md', 'OTEL_EXPORTER', { '127.0.0.1:4318': `127.0.0.1:${port}` })
    for (const _ of ['once', 'twice']) {
      paths.length = 0
      const { origin } = await serve(t, line, join(clone, 'dist/service'))
      await until(async () => {
        await fetch(`${origin}/api/v1/health`)
        return paths.includes('/v1/traces')
      })
    }
  })
})

const secret = Buffer.alloc(32, 7).toString('base64')

/** Installs Debian's package, syncs two devices, and makes and restores a backup, with the page's commands. */
async function debianPackage(t: Test, boot: () => Promise<Machine>, released: string): Promise<void> {
  const machine = await boot()
  const inside = (path: string) => join(machine.at, path)
  await copyPackage(machine, released)
  const issuer = await settings(t, machine)

  const commands = linesOf(guide, 'apt-get update', { 'YOUR.NAME': site }).split('\n')
  t.ok(commands.length <= 5, 'at most five commands after the download')
  for (const command of commands) await machine.type(command, 'y\n')

  const status = await readFile(
    inside(`proc/${(await machine.type(`systemctl show -P MainPID ${name}`)).trim()}/status`),
    'utf8',
  )
  t.match(
    status,
    new RegExp(`^Uid:\\s+${(await machine.type(`id -u ${name}`)).trim()}\\s`, 'm'),
    'the service runs as a separate user',
  )
  await serving(machine)
  t.notMatch(await machine.type('ebs doctor'), /^error/m)

  const rules = ['--ignore-certificate-errors', `--host-resolver-rules=MAP ${site} ${machine.address}`]
  const browser = await launchChromium(...rules)
  t.teardown(() => browser.close())
  const device = async () => {
    const context = await browser.newContext()
    context.setDefaultTimeout(300_000)
    await pressAtOnce(context)
    const page = await context.newPage()
    await page.goto(`https://${site}`)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.waitForURL(`https://${site}/`)
    return page
  }
  const laptop = await device()
  await makeVault(laptop)
  t.equal(await laptop.getByRole('button', { name: 'Try a second device here' }).count(), 0)
  const phone = await device()
  await openVault(phone)
  await addBookmark(laptop, 'Of the laptop')
  await phone.getByRole('link', { name: 'Of the laptop' }).waitFor()
  const [userId = ''] = (await machine.type('ebs admin users')).split(' ')
  for (const [index, command] of commands.entries()) {
    const replaces = index === 3
    if (replaces)
      await t.rejects(machine.type(command), /File exists|cannot create/, 'typed twice, it replaces nothing')
    else await machine.type(command, 'y\n')
  }
  await ready(machine)

  await machine.type(lineOf(guide, 'install -d -o encrypted-bookmark-sync -m 0700 /mnt/copies'))
  for (const copies of [1, 2]) {
    await machine.type(lineOf(guide, 'ebs backup /mnt/copies/'))
    t.equal((await readdir(inside('mnt/copies'))).length, copies, 'a second run makes a second backup')
  }
  for (const _ of ['once', 'twice']) {
    await machine.type(`systemctl stop ${name}`)
    await machine.type(lineOf(guide, 'ebs restore /mnt/copies/'))
    await machine.type(`systemctl start ${name}`)
    await ready(machine)
  }
  await addBookmark(phone, 'After the recovery')
  await live(phone)
  await laptop.getByRole('link', { name: 'After the recovery' }).waitFor()
  for (const _ of ['once', 'twice']) {
    t.match(await machine.type('ebs restore --check /mnt/copies/'), 'can be recovered')
    await machine.type('ebs restore --list')
  }

  const [install = ''] = commands
  const kept = await machine.type(`cat /etc/${name}/*`)
  const file = (of: string) => `${name}_${of}_amd64.deb`
  for (const next of others) {
    await machine.type(`rm ${name}_*`)
    await packOther(inside(`root/${file(next)}`), released, next)
    await machine.type(install, 'y\n')
    t.equal((await machine.type(`dpkg-query -f '\${Version}' -W ${name}`)).trim(), next)
    await ready(machine)
  }
  await copyFile(join(released, file(version)), inside(`root/${file(version)}`))
  await machine.type(`apt-get install --allow-downgrades ./${file(version)}`, 'y\n')
  await ready(machine)
  t.equal(await machine.type(`cat /etc/${name}/*`), kept, 'the settings are unchanged, without a question')
  await addBookmark(laptop, 'After the way back')
  await live(laptop)
  await phone.getByRole('link', { name: 'After the way back' }).waitFor()

  await typeAll(t, { machine, userId, issuer, laptop, phone, ready: () => ready(machine) })

  await machine.type('apt-get install jq', 'y\n')
  const logs = async () => {
    const lines = linesOf('docs/operating/monitoring.md', 'journalctl -u').split('\n')
    return Promise.all(lines.map((line) => machine.type(line)))
  }
  t.same(await logs(), ['', '', ''])
  // A folder is in the place of the database, so a start fails and logs that at level 60.
  await machine.type(
    `systemctl stop ${name} && mv /var/lib/${name}/bookmarks.db /root && mkdir /var/lib/${name}/bookmarks.db`,
  )
  await machine.type(`systemctl start ${name}`)
  await until(async () => (await logs())[0] !== '')
  const [failed = '', fields = ''] = await logs()
  t.match(JSON.parse(failed.split('\n')[0] ?? ''), { level: 60, msg: /bookmarks\.db/ })
  t.match(JSON.parse(fields.split('\n')[0] ?? ''), { msg: /bookmarks\.db/ })
  t.match(await machine.type('ebs doctor || true'), /^error\s+unit\s+\S+ does not start \(auto-restart\)/m)
  const places = /`(\/usr\/share[^`]*examples\/)`/.exec(
    await readFile(new URL('../../docs/operating/monitoring.md', import.meta.url), 'utf8'),
  )
  for (const file of ['prometheus/prometheus.yaml', 'prometheus/alerts.yaml', 'grafana/dashboard.json'])
    await stat(inside(`${places?.[1]}${file}`))

  await machine.type(
    `mkdir -p /etc/systemd/system/${name}.service.d && echo 'import others.caddy' >> /etc/caddy/Caddyfile`,
  )
  await machine.type('echo :8080 > /etc/caddy/others.caddy')
  await remove(t, machine, 'apt-get purge')
  t.match(await machine.type('cat /etc/caddy/Caddyfile'), /^:80 .*^import others\.caddy$/ms, 'other sites stay')
}

/** Runs the commands that remove the service, and checks that none of its files is left, except logs and caches. */
async function remove(t: Test, machine: Machine, start: string): Promise<void> {
  const lines = linesOf(guide, start).split('\n')
  for (const line of lines) await machine.type(line, 'y\n')
  // Run again, some of the commands fail because nothing is left.
  for (const line of lines) await machine.type(`{ ${line}; } || true`, 'y\n')
  const left = await machine.type(
    `find / -xdev \\( -path /proc -o -path /sys -o -path /root -o -path /tmp -o -path /var/log -o -path /var/cache -o -path /var/lib/apt \\) -prune -o \\( -name '${name}*' -o -name 'bookmarks.c*' -o -name ebs \\) -print; getent passwd ${name} || true; getent group ${name} || true`,
  )
  t.equal(left, '')
  t.match(await machine.type(`systemctl list-unit-files '${name}*' || true`), /^0 unit files/m)
}

async function copyPackage({ at }: Machine, released: string): Promise<void> {
  await copyFile(join(released, `${name}_${version}_amd64.deb`), join(at, `root/${name}_${version}_amd64.deb`))
}

/** Starts a provider, and installs an editor that enters the machine's settings for it. Returns the issuer. */
async function settings(t: Test, machine: Machine): Promise<string> {
  const { issuer, caFile } = await provider(t, machine.host)
  await writeFile(join(machine.at, 'etc/hosts'), `127.0.0.1 localhost ${site}\n`)
  await copyFile(caFile, join(machine.at, 'etc/ssl-of-the-provider.pem'))
  await editor(machine, {
    PUBLIC_URL: `https://${site}`,
    OIDC_ISSUER: issuer,
    SERVE_APP: 'true',
    NODE_EXTRA_CA_CERTS: '/etc/ssl-of-the-provider.pem',
  })
  return issuer
}

async function openPage(t: Test, boot: () => Promise<Machine>, released: string): Promise<void> {
  const machine = await boot()
  await copyPackage(machine, released)
  await settings(t, machine)
  const [install = '', edit = '', enable = ''] = linesOf(guide, 'apt-get update').split('\n')
  await machine.type(install.replace(' caddy', ' nginx'), 'y\n')
  await machine.type(edit)
  await machine.type(enable)
  await serving(machine)
  const { caFile, keyFile } = await makeCertificate(await folder(t))
  const place = join(machine.at, 'etc/ssl', site)
  await mkdir(place)
  await copyFile(caFile, join(place, 'fullchain.pem'))
  await copyFile(keyFile, join(place, 'privkey.pem'))
  const lines = linesOf(guide, '(cd /etc/nginx', { 'YOUR.NAME': site }).split('\n')
  for (const line of lines.filter((line) => !line.startsWith('editor'))) await machine.type(line)
  await t.rejects(machine.type(lines[0] ?? ''), /File exists|cannot create/, 'typed twice, it replaces nothing')
  for (const _ of ['once', 'twice']) await machine.type(lineOf(guide, 'nginx -t && nginx -s reload'))
  const to = ['80', '443'].flatMap((port) => ['--resolve', `${site}:${port}:127.0.0.1`])
  const get = (url: string) => machine.onItsNetwork('curl', '-sik', '--retry', '20', '--retry-all-errors', ...to, url)
  t.match(await get(`https://${site}/`), /^HTTP\S+ 200.*<title>/s)
  t.match(await get(`http://${site}/`), new RegExp(`^HTTP\\S+ 301.*^location: https://${site}/`, 'ims'))
  t.notMatch(await machine.type('ebs doctor'), /^error/m)
  t.notMatch(await machine.type('journalctl'), /Failed to resolve specifiers|Unknown key name/)
}

/** Later versions of the package, each with different sample settings. */
const others = ['9.0.1', '9.0.2', '9.0.3', '9.0.4']

/** Repacks the package as a later version. */
async function packOther(to: string, released: string, other: string): Promise<void> {
  const at = `${to}.part`
  execFileSync('dpkg-deb', ['--raw-extract', join(released, `${name}_${version}_amd64.deb`), at])
  const control = join(at, 'DEBIAN/control')
  await writeFile(control, (await readFile(control, 'utf8')).replace(/^Version: .*/m, `Version: ${other}`))
  await appendFile(join(at, `usr/lib/${name}/environment.sample`), `# ${other}\n`)
  execFileSync('dpkg-deb', ['--root-owner-group', '-Znone', '--build', at, to])
  await rm(at, { recursive: true })
}

async function tarball(t: Test, boot: () => Promise<Machine>, released: string): Promise<void> {
  const machine = await boot()
  const archive = `${name}-${version}-linux-x64.tar.gz`
  await copyFile(join(released, archive), join(machine.at, 'root', archive))
  const [install, upgrade] = ['(cd /etc', 'systemctl restart'].map((part) =>
    linesOf(guide, 'tar -xzf', { VERSION: version }, part),
  ) as [string, string]
  await machine.type(install)
  await editor(machine, { PUBLIC_URL: `https://${site}`, OIDC_ISSUER: 'https://127.0.0.1:9' })
  const [, edit = '', enable = ''] = linesOf(guide, 'apt-get update').split('\n')
  await machine.type(edit)
  await machine.type(enable)
  await serving(machine)
  await ready(machine)
  t.match(await machine.type('ebs admin users'), /users|nobody|^$/i)

  const kept = await machine.type(`cat /etc/${name}/*`)
  await t.rejects(machine.type(install), /File exists|cannot create/, 'typed twice, it replaces nothing')
  const serves = async (of: string) => {
    await ready(machine)
    const program = await machine.type(`readlink "/proc/$(systemctl show -P MainPID ${name})/exe"`)
    t.match(program, `/opt/${name}-${of}-linux-x64/`)
  }
  for (const other of others) {
    const rename = ['--transform', `s,^${name}-${version}-,${name}-${other}-,`]
    await machine.type(
      `tar -xzf ${archive} ${rename.join(' ')} && tar -cf - ${name}-${other}-linux-x64 | gzip -1 > ${name}-${other}-linux-x64.tar.gz && rm -r ${name}-${other}-linux-x64`,
    )
    await machine.type(upgrade.replaceAll(version, other))
    await serves(other)
  }
  const [, ...back] = upgrade.replaceAll(version, others[2] as string).split('\n')
  await machine.type(back.join('\n'))
  await serves(others[2] as string)
  t.equal(await machine.type(`cat /etc/${name}/*`), kept)
  // An editor may have recreated the file with other permissions.
  await machine.type(`echo secret > /etc/${name}/s3_secret_key`)
  const asNobody = `su -s /bin/sh nobody -c 'cat /etc/${name}/*; ls /etc/${name}' 2> /dev/null || true`
  t.equal(await machine.type(asNobody), '', 'other users can neither read nor list secrets')

  await machine.type(`mkdir -p /etc/systemd/system/${name}.service.d`)
  const unit = `/etc/systemd/system/${name}.service`
  await machine.type(`(echo '# mine'; cat /usr/local/lib/systemd/system/${name}.service) > ${unit}`)
  await machine.type(back.join('\n'))
  t.equal(await machine.type(`head -1 ${unit}`), '# mine\n', "an upgrade keeps the operator's own unit")
  await remove(t, machine, 'systemctl disable')
}

async function dump(t: Test, boot: () => Promise<Machine>, released: string): Promise<void> {
  const machine = await boot()
  const inside = (path: string) => join(machine.at, path)
  await copyPackage(machine, released)
  await machine.type(`apt-get install ./${name}_${version}_amd64.deb postgresql`, 'y\n')
  const sql = (...lines: string[]) =>
    machine.type(`cd / && su postgres -c 'psql --set ON_ERROR_STOP=1'`, `${lines.join(';\n')};\n`)
  const create = `create database bookmarks owner bookmarks encoding 'UTF8' template template0`
  await sql(`create role bookmarks login password 'secret'`, create)
  await writeFile(inside('root/.pg_service.conf'), '[bookmarks]\nhost=127.0.0.1\nuser=bookmarks\ndbname=bookmarks\n')
  await writeFile(inside('root/.pgpass'), '*:*:*:bookmarks:secret\n', { mode: 0o600 })
  await writeFile(inside(`etc/${name}/database_url`), 'postgres://bookmarks:secret@127.0.0.1/bookmarks', {
    mode: 0o600,
  })
  const unit = `etc/systemd/system/${name}.service.d`
  await mkdir(inside(unit))
  const url = [
    `LoadCredential=database_url:/etc/${name}/database_url`,
    'Environment=DATABASE_URL_FILE=/run/credentials/%n/database_url',
  ]
  await writeFile(inside(`${unit}/override.conf`), ['[Service]', ...url, ''].join('\n'))
  await editor(machine, { PUBLIC_URL: `https://${site}`, OIDC_ISSUER: 'https://127.0.0.1:9' })
  const [, edit = '', enable = ''] = linesOf(guide, 'apt-get update').split('\n')
  await machine.type(edit)
  await machine.type(enable)
  await serving(machine)

  const page = 'docs/operating/backups.md'
  const [byService, byCompose] = ['service=bookmarks', 'docker compose'].map((part) =>
    linesOf(page, 'umask 077', {}, part),
  ) as [string, string]
  for (const _ of ['once', 'twice']) {
    await machine.type(byService)
    await machine.type(lineOf(page, 'pg_restore --list', { '--list': '--list bookmarks.dump' }))
  }
  await machine.type(`systemctl stop ${name}`)
  await sql('drop database bookmarks', create)
  const load = lineOf(page, 'pg_restore --no-owner --single-transaction --dbname=service=bookmarks bookmarks.dump')
  await machine.type(load)
  await t.rejects(machine.type(load), /already exists/, 'typed twice, it changes nothing')
  await machine.type('ebs restored')
  await machine.type(`systemctl start ${name}`)
  await ready(machine)

  // A fake docker that uses this machine's Postgres. In the real image, the role is a superuser without password.
  const docker = `#!/bin/sh
set -e
[ "$1 $2 $3" = 'compose -f deploy/compose.yaml' ]
shift 3
case "$1 $2 $3" in
  'exec -T postgres' | 'run --rm bookmarks-1') shift 3; exec "$@" ;;
  'stop bookmarks-1 bookmarks-2' | 'start bookmarks-1 bookmarks-2') exec systemctl "$1" ${name} ;;
  *) exit 9 ;;
esac
`
  await writeFile(inside('usr/bin/docker'), docker, { mode: 0o755 })
  await machine.type(`sed -i 's/^local.*/local all all trust/' /etc/postgresql/*/main/pg_hba.conf`)
  await sql('alter role bookmarks superuser', 'select pg_reload_conf()')
  const recover = linesOf(page, '(\n  set -e\n  compose()')
  for (const _ of ['once', 'twice']) {
    await machine.type(byCompose)
    await machine.type(recover)
    await ready(machine)
  }
}

async function ready(machine: Machine): Promise<void> {
  const ask = ['--silent', '--output', '/dev/null', '--write-out', '%{http_code}', 'http://127.0.0.1:3000/readyz']
  await until(async () => (await machine.onItsNetwork('curl', ...ask).catch(() => '')) === '200')
}

/** Waits until the service serves. Fails with its log if it ends before that. */
async function serving(machine: Machine): Promise<void> {
  await until(async () => {
    const log = await machine.type(`journalctl --unit=${name} --output=cat`)
    if (log.includes('Scheduled restart')) throw new Error(log)
    return log.includes('"msg":"serving"')
  })
}

/** Replaces the editor by a program that enters these settings into the sample, and the client's secret. */
async function editor(machine: Machine, settings: Record<string, string>): Promise<void> {
  const lines = Object.entries(settings).map(
    ([key, value]) => `sed -i '/^#\\?${key}=/d' "$1"; echo '${key}=${value}' >> "$1"`,
  )
  const program = ['#!/bin/sh', 'set -e', ...lines, 'echo secret > "$2"', ''].join('\n')
  await writeFile(join(machine.at, 'usr/bin/editor'), program, { mode: 0o755 })
}

/** Starts the mock provider with TLS, at an address that the machine can also reach. */
async function provider(t: Test, host: string): Promise<{ issuer: string; caFile: string }> {
  const mock = await startMock(t)
  const { caFile, keyFile } = await makeCertificate(await folder(t), host)
  const port = Number(new URL(mock.issuer).port)
  const [key, cert] = [await readFile(keyFile), await readFile(caFile)]
  const server = createTlsServer({ key, cert }, (socket) => {
    const behind = connect(port, '127.0.0.1')
    for (const end of [socket, behind]) end.on('error', () => end.destroy())
    socket.pipe(behind).pipe(socket)
  })
  await once(server.listen(port, host), 'listening')
  t.teardown(() => server.close())
  mock.issuer = `https://${host}:${port}`
  await mock.changeKey()
  return { issuer: mock.issuer, caFile }
}

/** This machine's variables that the commands get. The last one is for machines with a private registry. */
const { PATH = '', HOME = '', NODE_EXTRA_CA_CERTS = '' } = process.env
const own = { PATH, HOME, NODE_EXTRA_CA_CERTS }

function shell(line: string, cwd: string, input = ''): void {
  const { status, stdout, stderr } = spawnSync('sh', ['-euc', line], { cwd, input, env: own, encoding: 'utf8' })
  if (status !== 0) throw new Error(`${line}: ${stdout}${stderr}`)
}

/** Runs a line that starts a server, on free ports, and waits until it serves. Stops it after the test. */
async function serve(t: Test, line: string, cwd: string, data?: string): Promise<{ origin: string }> {
  const port = String(await freePort())
  const env = { ...own, PORT: port, DEV_IDP_PORT: String(await freePort()), DATA_DIR: data ?? (await folder(t)) }
  // A separate process group, because the shell and npm start other processes.
  const service: ChildProcess = spawn('sh', ['-euc', line], {
    cwd,
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = once(service, 'close')
  t.teardown(async () => {
    process.kill(-(service.pid as number), 'SIGTERM')
    await ended
  })
  // There is no time limit, because it may have to install everything first.
  await new Promise<void>((resolve, reject) => {
    let printed = ''
    for (const stream of [service.stdout, service.stderr])
      stream?.on('data', (chunk) => {
        printed += chunk
        if (/sign in with any name|"msg":"serving"/.test(printed)) resolve()
      })
    service.on('exit', () => reject(new Error(`${line}: ${printed}`)))
  })
  return { origin: `http://127.0.0.1:${port}` }
}
