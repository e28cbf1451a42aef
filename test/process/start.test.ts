import { cp, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import packageJson from '../../package.json' with { type: 'json' }
import { freePort } from '../../scripts/servers/free-port.ts'
import { signInAt } from '../../scripts/servers/sign-in.ts'
import { bundleFolder } from '../../scripts/test/build.ts'
import { banner } from '../../src/service/terminal/banner.ts'
import { buildApp, unusedProvider } from '../support/app.ts'
import { isDeep } from '../support/depth.ts'
import { folder, run, serving, startService } from '../support/service.ts'
import { until } from '../support/until.ts'

t.test('A start warns that an app at localhost is on another site than 127.0.0.1, and where to open it', async (t) => {
  const listed = (publicUrl: string, ...origins: string[]) =>
    banner({
      version: '1',
      environment: 'development',
      publicUrl,
      origins: new Set([publicUrl, 'moz-extension://*', ...origins]),
      serveApp: true,
      identityProvider: undefined,
      adminHost: '127.0.0.1',
      adminPort: undefined,
      dataDir: './data',
    })
  const here = 'http://127.0.0.1:3000'
  const hint = [
    '',
    `Browsers take http://localhost:5173 for another site than ${here}: nobody can sign in there.`,
    'Open that app at http://127.0.0.1:5173, and list this in CORS_ORIGIN.',
    '',
  ]
  t.match(listed(here, 'http://localhost:5173'), hint.join('\n'))
  t.match(listed('http://localhost:3000', 'http://127.0.0.1:5173'), 'Open that app at http://localhost:5173, ')
  t.notMatch(listed(here, 'http://127.0.0.1:5173'), 'another site')
  t.notMatch(listed('https://sync.example.org', 'http://localhost:5173'), 'another site')
})

t.test('A start in an empty folder without settings creates its files and prints how to use it', async (t) => {
  const cwd = await folder(t)
  const ports = { PORT: String(await freePort()), DEV_IDP_PORT: String(await freePort()) }
  const service = run(t, ports, { cwd })
  await serving(service)

  const origin = `http://127.0.0.1:${ports.PORT}`
  const printed = service.stdout().split('\n')
  const log = printed.filter((line) => line.startsWith('{'))
  const listening = log.flatMap((line) => JSON.parse(line).msg.match(/listening at .*/) ?? [])
  t.same(listening, [`listening at ${origin}`])
  // A probe that fails on a busy machine may be logged at any time.
  const others = printed.filter((line) => !log.includes(line))
  t.same(others, [
    '',
    `Your bookmarks: ${origin}`,
    'Open this page in a browser, and sign in with any name.',
    '',
    `  documents  ${origin}/docs`,
    '  data       ./data',
    '',
    `encrypted-bookmark-sync ${packageJson.version} (development). Ctrl-C stops it.`,
    '',
  ])
  t.equal(service.stderr(), '')
  t.same(await readdir(cwd), ['data'], 'all files are under data/')
  const created = await readdir(join(cwd, 'data'))
  for (const name of ['bookmarks.db', 'exports', 'secret.key']) t.ok(created.includes(name), name)
  t.equal((await stat(join(cwd, 'data/secret.key'))).mode & 0o777, 0o600, 'only its owner can read the secret')

  t.match(await (await fetch(origin)).text(), '<title>', 'the page is there')
  t.equal((await fetch(`${origin}/docs`)).status, 200)
  const health = async () => (await (await fetch(`${origin}/api/v1/health`)).json()) as Record<string, string>
  // On a busy machine a probe may time out, so wait until one succeeds.
  await until(async () => (await health()).status === 'healthy')
  t.match(await health(), { environment: 'development' })
  const cookie = await signIn(origin, 'Ada')
  t.match(await session(origin, cookie), { authenticated: true, user: { name: 'Ada' } }, 'signing in works as printed')

  t.same(await service.kill('SIGTERM'), { code: 0, signal: null })
  const again = await buildApp(t, {}, { dataDir: join(cwd, 'data') })
  const { body } = await again.call('GET', '/api/v1/auth/session', { headers: { cookie } })
  t.match(body, { authenticated: true, user: { name: 'Ada' } }, 'the next start uses the same data')
})

t.test('The service serves while its documents are still being built, and /docs says so meanwhile', async (t) => {
  // In the same parent folder as the bundle, so that it finds the packages.
  const bundle = fileURLToPath(bundleFolder).replace(/\/$/, `-${process.pid}`)
  t.teardown(() => rm(bundle, { recursive: true, force: true }))
  await cp(bundleFolder, bundle, { recursive: true })
  await rename(join(bundle, 'docs'), join(bundle, 'docs.part'))
  const { origin } = await startService(t, await folder(t), {}, { entry: join(bundle, 'main.mjs') })
  const before = await fetch(`${origin}/docs/`)
  t.same([before.status, before.headers.get('refresh'), before.headers.get('retry-after')], [503, '5', '5'])
  t.match(await before.text(), /being built/)
  await rename(join(bundle, 'docs.part'), join(bundle, 'docs'))
  t.match(await (await fetch(`${origin}/docs/`)).text(), '<title>')
  t.equal((await fetch(`${origin}/docs/deployment`)).status, 200)
})

t.test('Compiled code is kept for the next start, in a folder that only the owner can write to', async (t) => {
  const cwd = await folder(t)
  const kept = join(cwd, 'data/compile-cache')
  // An empty value turns off the cache that all tests share.
  const env = { NODE_COMPILE_CACHE: '', SERVE_APP: 'false', ...unusedProvider }
  const start = async () => {
    const service = run(t, { ...env, PORT: String(await freePort()) }, { cwd })
    await serving(service)
    await service.kill('SIGTERM')
    t.equal(service.stderr(), '')
  }
  await start()
  const [version = ''] = await readdir(kept)
  const files = await readdir(join(kept, version))
  t.ok(files.length > 0)
  t.same([(await stat(kept)).mode & 0o777, (await stat(join(kept, version))).mode & 0o777], [0o700, 0o700])

  if (!isDeep) return
  await rm(kept, { recursive: true })
  await writeFile(kept, '')
  await start()
  t.equal((await stat(kept)).size, 0, 'the service also starts if it cannot keep compiled code')
})

/** Signs in like the page: POST login, open the authorizationUrl, enter a name. */
async function signIn(origin: string, name: string): Promise<string> {
  const started = await fetch(`${origin}/api/v1/auth/login`, { method: 'POST' })
  const { authorizationUrl } = (await started.json()) as { authorizationUrl: string }
  const callback = await signInAt(authorizationUrl, name)
  const back = await fetch(callback, { redirect: 'manual', headers: { cookie: cookiesOf(started) } })
  return cookiesOf(back)
}

function cookiesOf(response: Response): string {
  return response.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ')
}

async function session(origin: string, cookie: string): Promise<unknown> {
  return (await fetch(`${origin}/api/v1/auth/session`, { headers: { cookie } })).json()
}
