/** Both packages, installed from a registry without the repository. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { freePort } from '../../scripts/servers/free-port.ts'
import { signInAt } from '../../scripts/servers/sign-in.ts'
import { buildForTests } from '../../scripts/test/build.ts'
import { runReleaseStep } from '../deploy/workflow.ts'
import { isDeep } from '../support/depth.ts'
import { folder } from '../support/service.ts'
import { until } from '../support/until.ts'

/** Installed by this test. As a dependency it would add 250 packages to the repository. */
const registry = 'verdaccio@6.10.4'
const service = 'encrypted-bookmark-sync'
const client = 'encrypted-bookmark-sync-client'
const dist = (name: string) => fileURLToPath(new URL(`../../dist/${name}`, import.meta.url))

t.test('After publishing and installing both packages, npx starts the service, and two devices sync', async (t) => {
  if (!isDeep) return t.comment('with --deep: it installs a registry')
  await buildForTests('client', 'web', 'docs', 'service')
  const at = await folder(t)
  const { url, token } = await startRegistry(t, at)
  const npmrc = join(at, 'npmrc')
  await writeFile(npmrc, `registry=${url}\n//${new URL(url).host}/:_authToken=${token}\n`)
  const env = {
    PATH: [dirname(process.execPath), process.env.PATH].join(delimiter),
    HOME: at,
    npm_config_userconfig: npmrc,
    npm_config_cache: join(at, 'cache'),
    npm_config_prefix: join(at, 'prefix'),
    npm_config_update_notifier: 'false',
    npm_config_audit: 'false',
  }
  const npm = (cwd: string, ...args: string[]) => {
    const { status, stderr, stdout } = spawnSync('npm', args, { cwd, env, encoding: 'utf8' })
    if (status !== 0) throw new Error(`npm ${args.join(' ')}: ${stderr}${stdout}`)
  }
  await mkdir(join(at, 'release'))
  for (const name of ['service', 'client']) npm(at, 'pack', dist(name), '--pack-destination', 'release')
  // The second attempt finds both packages published.
  for (const _ of ['first', 'second']) {
    const { status, stderr } = runReleaseStep('npm publish', at, env)
    if (status !== 0) throw new Error(stderr)
  }

  const [here, app] = [join(at, 'here'), join(at, 'app')]
  for (const made of [here, app]) await mkdir(made)
  const ports = { PORT: String(await freePort()), DEV_IDP_PORT: String(await freePort()) }
  // A separate process group, because npx starts the service through a shell.
  const started = spawn('npx', ['--yes', service], { cwd: here, env: { ...env, ...ports }, detached: true })
  t.teardown(() => {
    try {
      process.kill(-(started.pid as number), 'SIGKILL')
    } catch {
      // It has ended.
    }
  })
  let printed = ''
  for (const stream of [started.stdout, started.stderr]) stream.on('data', (chunk) => (printed += chunk))
  await until(() => {
    if (started.exitCode !== null) throw new Error(printed)
    return /sign in with any name/.test(printed)
  })
  t.same(await readdir(here), ['data'], 'all files are under data/')
  const baseUrl = `http://127.0.0.1:${ports.PORT}`
  t.match(await (await fetch(baseUrl)).text(), '<title>', 'the page is there')
  t.equal((await fetch(`${baseUrl}/docs`)).status, 200)

  await writeFile(join(app, 'package.json'), '{ "type": "module", "private": true }')
  npm(app, 'install', client)
  await writeFile(join(app, 'devices.js'), devices)
  const synced = spawn(process.execPath, ['devices.js', baseUrl], {
    cwd: app,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => synced.kill('SIGKILL'))
  const lines: string[] = []
  synced.stdout.setEncoding('utf8').on('data', async (chunk: string) => {
    for (const line of chunk.trim().split('\n')) {
      lines.push(line)
      const [, link] = /^Sign in: (.*)/.exec(line) ?? []
      if (link === undefined) continue
      const { pathname, search } = new URL(await signInAt(link, 'Ada'))
      await fetch(baseUrl + pathname + search)
    }
  })
  t.same(await once(synced, 'close'), [0, null])
  t.match(lines.at(-1), 'of the first', 'the second device has what the first one added')

  process.kill(-(started.pid as number), 'SIGTERM')
  await once(started, 'close')
})

/** Two devices of one person. The second opens the vault of the first and waits for its bookmark. */
const devices = `
import { createSync, createVault, openVault } from '${client}'
import { openDevice } from '${client}/node'

const passphrase = 'tinsel walrus oboe fjord'
const open = async (file, vault) => {
  const device = openDevice(file, { baseUrl: process.argv[2] })
  const userId = await device.signIn((url) => console.log('Sign in: ' + url))
  const { keys } = await vault(device.client, { userId, passphrase })
  return createSync({ ...device, userId, keys })
}
const first = await open('first.db', async (...about) => (await createVault(...about)).confirm())
await first.put({ id: 'one', title: 'of the first', source: 'bookmarks' })
await first.syncNow()
const second = await open('second.db', openVault)
await second.syncNow()
console.log(second.get('one').title)
await Promise.all([first.stop(), second.stop()])
`

/** Starts Verdaccio, which gets all other packages from the registry that this machine uses. */
async function startRegistry(t: Test, at: string): Promise<{ url: string; token: string }> {
  const tool = join(at, 'registry')
  await mkdir(tool)
  const asked = spawnSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' }).stdout.trim()
  // A package of Verdaccio requires a tag of node-fetch instead of a version, which some mirrors lack.
  const manifest = { private: true, overrides: { 'node-fetch': '2.7.0' } }
  await writeFile(join(tool, 'package.json'), JSON.stringify(manifest))
  const install = ['install', '--ignore-scripts', '--no-audit', '--no-fund', registry]
  const { status, stderr } = spawnSync('npm', install, { cwd: tool, encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
  const rules = {
    storage: join(at, 'storage'),
    auth: { htpasswd: { file: join(at, 'people'), max_users: 1 } },
    uplinks: { elsewhere: { url: asked, timeout: '60s', maxage: '60m' } },
    packages: {
      [`${service}*`]: { access: '$all', publish: '$authenticated' },
      '**': { access: '$all', proxy: 'elsewhere' },
    },
    log: { type: 'stdout', format: 'json', level: 'warn' },
  }
  // JSON is valid YAML.
  await writeFile(join(at, 'registry.yaml'), JSON.stringify(rules))
  const url = `http://127.0.0.1:${await freePort()}/`
  const program = join(tool, 'node_modules/verdaccio/bin/verdaccio')
  const args = [program, '--config', join(at, 'registry.yaml'), '--listen', url]
  const running = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] })
  t.teardown(() => running.kill('SIGKILL'))
  const user = { name: 'ada', password: 'tinsel walrus oboe fjord' }
  const body = JSON.stringify(user)
  const register = () => {
    if (running.exitCode !== null) throw new Error(`${registry} has ended`)
    const headers = { 'content-type': 'application/json' }
    return fetch(`${url}-/user/org.couchdb.user:${user.name}`, { method: 'PUT', headers, body }).catch(() => undefined)
  }
  let answered: Response | undefined
  await until(async () => {
    answered = await register()
    return answered !== undefined
  })
  const { token } = (await (answered as Response).json()) as { token: string }
  return { url, token }
}
