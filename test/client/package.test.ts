import { execFile } from 'node:child_process'
import { cp, lstat, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import ts from 'typescript'
import { signInAt } from '../../scripts/servers/sign-in.ts'
import { buildForTests, bundleFolder, bundleForTests } from '../../scripts/test/build.ts'
import { createSync, createVault, type Sync } from '../../src/client/index.ts'
import { openDevice } from '../../src/client/node/device.ts'
import { isDeep } from '../support/depth.ts'
import { buildWithEmbedded } from '../support/mock-service.ts'
import { samples } from '../support/samples.ts'
import { until } from '../support/until.ts'
import { sessionTakers, unexportedTypes } from './exported-types.ts'
import { readSamples } from './package-samples.ts'
import { runStart } from './package-story.ts'
import { rows, throughSync } from './session/rows.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../', import.meta.url))
const dist = join(root, 'dist/client')
const name = 'encrypted-bookmark-sync-client'
const serviceName = 'encrypted-bookmark-sync'

await buildForTests('client')
await bundleForTests()
const { exports, dependencies, peerDependencies } = JSON.parse(await readFile(join(dist, 'package.json'), 'utf8')) as {
  exports: Record<string, { types: string }>
  dependencies: object
  peerDependencies: object
}
const entryPoints = Object.keys(exports)
const project = await mkdtemp(join(tmpdir(), 'ebs-package-'))
t.teardown(() => rm(project, { recursive: true, force: true }))
await writeFile(join(project, 'package.json'), '{ "type": "module", "private": true }')
await (isDeep ? installByReadme() : linkDependencies())

t.test('The package has its documents and licence, and types in place of its sources', async (t) => {
  const files = await readdir(join(project, 'node_modules', name), { recursive: true })
  const wanted = ['README.md', 'LICENSE', 'src/client/index.js', 'src/client/index.d.ts']
  const sources = files.filter((file) => /(?<!\.d)\.ts$/.test(file))
  t.same([wanted.filter((file) => !files.includes(file)), sources], [[], []])
  const hooks = await readFile(join(project, 'node_modules', name, 'src/client/react.js'), 'utf8')
  t.match(hooks, /^(\/\*.*?\*\/\s*)?'use client'/s, "React on a server needs 'use client' first")
})

t.test('Every sample of READMEs, client guide and operations compiles against the package', async (t) => {
  const code = [
    ...(await readSamples()),
    ...samples.map(({ operationId, typescript }) => [`${operationId}.ts`, typescript] as const),
  ]
  for (const [file, source] of code) await writeFile(join(project, file), source)
  t.same(
    await faultsIn(
      code.map(([file]) => file),
      compilerOptions,
    ),
    [],
  )
  t.ok(samples.length > 20 && samples.every(({ typescript }) => /client\.|WebSocket/.test(typescript)))
})

t.test("The package's types compile strictly and without the DOM, and a misspelt field does not compile", async (t) => {
  await mkdir(join(project, 'in-node'))
  const file = join(project, 'in-node/all.ts')
  await writeFile(file, everyType)
  const strict = {
    ...compilerOptions,
    skipLibCheck: false,
    lib: ['ES2022'],
    types: ['node'],
    typeRoots: ['node_modules/@types'],
  }
  t.same(await faultsIn([file], strict, 'sync/store/tabs.d.ts'), [])
})

t.test('The package exports every type that its exported functions and types use', async (t) => {
  const folder = join(project, 'node_modules', name)
  const entries = Object.values(exports).map(({ types }) => join(folder, types))
  const { options } = ts.convertCompilerOptionsFromJson({ ...compilerOptions, lib: ['ES2022'] }, project)
  const program = ts.createProgram(entries, options)
  t.same(unexportedTypes(program, entries, folder), [])
  // `reservePairing` takes a client without a session: nobody is signed in yet.
  const tried = [...Object.keys(rows), ...throughSync, 'reservePairing'].sort()
  t.same(sessionTakers(program, entries), tried, 'each function with a session is in another-session.test.ts')
})

t.test('Every entry point of the package runs', async (t) => {
  await mkdir(join(project, 'run'))
  await writeFile(join(project, 'run/all.js'), everyEntryPoint)
  const ran = await run(process.execPath, [join(project, 'run/all.js')])
  t.equal(ran.stdout, 'A title <DL><p> useBookmark\n')
})

t.test("The README's web app goes from sign-in to sign-out, also offline, and the guide's samples run in it", (t) =>
  runStart(t, project),
)

t.test("The guide's test runs on the service in its process, also where jsdom has replaced Node's bytes", async (t) => {
  const replace = join(project, 'replace-bytes.mjs')
  await writeFile(
    replace,
    `import { runInNewContext } from 'node:vm'\nglobalThis.Uint8Array = runInNewContext('Uint8Array')`,
  )
  const replaced = await run(process.execPath, ['--import', replace, join(project, 'testing.ts')])
  t.equal(replaced.stdout, 'made offline\n')
  if (!isDeep) return
  const { stdout } = await run(process.execPath, [join(project, 'testing.ts')])
  t.equal(stdout, 'made offline\n')
  await writeFile(join(project, 'in-jsdom.test.ts'), inVitest)
  const { stdout: inJsdom } = await run('npx', ['vitest', 'run', '--environment', 'jsdom'], { cwd: project })
  t.match(inJsdom, 'made offline\n')
})

t.test("The guide's Node script keeps a copy, live, then offline; the README's adds a bookmark", async (t) => {
  const app = await buildWithEmbedded(t)
  const baseUrl = await app.listen()
  const passphrase = 'tinsel walrus oboe fjord'
  const [here, there] = [join(project, 'here.db'), join(project, 'there.db')]
  const { keepCopy } = (await import(pathToFileURL(join(project, 'node.ts')).href)) as {
    keepCopy(file: string, baseUrl: string, passphrase: string): Promise<Sync>
  }
  const printed: string[] = []
  const signInWhenPrinted = async (line: string) => {
    printed.push(String(line))
    const [, url] = /^Sign in: (.*)/.exec(line) ?? []
    if (url === undefined) return
    const { pathname, search } = new URL(await signInAt(url, 'Ada'))
    await fetch(baseUrl + pathname + search)
  }
  t.intercept(console, 'log', { value: signInWhenPrinted })

  const other = openDevice(there, { baseUrl })
  const userId = await other.signIn((url) => signInWhenPrinted(`Sign in: ${url}`))
  const draft = await createVault(other.client, { userId, passphrase })
  const { keys } = await draft.confirm()
  const theirs = createSync({ ...other, userId, keys })
  await theirs.put({ id: 'one', title: 'from before', source: 'bookmarks' })
  await theirs.start()

  const sync = await keepCopy(here, baseUrl, passphrase)
  await until(() => sync.get('one') !== undefined)
  await theirs.put({ id: 'two', title: 'from another device', source: 'bookmarks' })
  await until(() => sync.get('two') !== undefined)

  const laptop = await readFile(join(project, 'laptop.ts'), 'utf8')
  t.ok(laptop.trim().split('\n').filter(Boolean).length <= 10, 'ten lines')
  const runLaptop = join(project, 'run-laptop.mjs')
  const program = laptop.replace('http://127.0.0.1:3000', baseUrl).replace('laptop.db', join(project, 'laptop.db'))
  await writeFile(runLaptop, program)
  await import(pathToFileURL(runLaptop).href)
  // Whose bookmarks come first depends on the devices' ids.
  const orders = ['RFC 9106,from before,from another device', 'from before,from another device,RFC 9106']
  t.ok(
    printed.some((line) => orders.includes(line)),
    "its own bookmark and the other devices'",
  )
  await until(() => sync.get('argon2') !== undefined)
  await Promise.all([sync.stop(), theirs.stop()])

  printed.length = 0
  const offline = await keepCopy(here, 'http://127.0.0.1:9', passphrase)
  const titles = offline.tree().map(({ bookmark }) => bookmark.title)
  t.ok(orders.includes(titles.join()), titles.join())
  t.equal(printed.length, 1, 'only the bookmarks are printed, no request to sign in')
  await offline.stop()
})

/** Installs the package like an app, with the README's commands. */
async function installByReadme(): Promise<void> {
  const readme = await readFile(join(dist, 'README.md'), 'utf8')
  const [build, install, ...more] = [...readme.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, lines = '']) => lines)
  if (build !== 'npm ci && npm run build\n' || !install || more.length > 0)
    throw new Error('The README installs otherwise')
  const env = { ...process.env, npm_config_audit: 'false', npm_config_fund: 'false', npm_config_prefer_offline: 'true' }
  const service = `npm pack '${fileURLToPath(bundleFolder)}' && npm install ./${serviceName}-[0-9]*.tgz`
  const others = 'npm install react@19 @types/react@19 @types/node@24 zod@4 vitest jsdom'
  for (const command of [install, service, others]) {
    const script = command.replaceAll('../encrypted-bookmark-sync/', `'${root}'`)
    await run('sh', ['-ec', script], { cwd: project, env })
    // A link to the folder would use this repository's React.
    if ((await lstat(join(project, 'node_modules', name))).isSymbolicLink())
      throw new Error('The package is only linked')
  }
}

/** Installs without npm and the registry: the package finds only its declared dependencies and those of the samples. */
async function linkDependencies(): Promise<void> {
  await cp(dist, join(project, 'node_modules', name), { recursive: true })
  await symlink(fileURLToPath(bundleFolder), join(project, 'node_modules', serviceName))
  const used = ['@types/react', '@types/node', 'zod']
  for (const dependency of [...Object.keys({ ...dependencies, ...peerDependencies }), ...used]) {
    const link = join(project, 'node_modules', dependency)
    await mkdir(dirname(link), { recursive: true })
    await symlink(join(root, 'node_modules', dependency), link)
  }
}

/** Compiles with `tsc` and these options of a tsconfig.json. TypeScript 7 takes a tenth of the time of 5. */
async function faultsIn(files: string[], options: object, checked = ''): Promise<string[]> {
  await writeFile(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, files }))
  const all: string[] = []
  for (const version of isDeep ? ['typescript-7', 'typescript'] : ['typescript-7']) {
    const tsc = join(root, 'node_modules', version, 'bin/tsc')
    const { stdout } = await run(process.execPath, [tsc, '--listFiles', '-p', project], { cwd: project }).catch(
      (failed) => failed,
    )
    const lines: string[] = stdout.trim().split('\n')
    if (!lines.some((line) => line.endsWith(checked))) all.push(`${version} did not check ${checked}`)
    all.push(...lines.filter((line) => !line.startsWith('/')))
  }
  return all
}

const compilerOptions = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  // Checking the libraries takes as long as all the rest.
  skipLibCheck: !isDeep,
  noEmit: true,
  allowImportingTsExtensions: true,
  target: 'ES2022',
  module: 'NodeNext',
  jsx: 'react-jsx',
  lib: ['ES2022', 'DOM', 'DOM.Iterable', 'DOM.AsyncIterable', 'ESNext.Disposable'],
  // The types of `openDevice` need Node's. Without them, a sample that uses Node's globals by mistake does not compile.
  types: isDeep ? ['node'] : [],
}

const inVitest = `
import { expect, test } from 'vitest'
test('it runs', async () => {
  expect(typeof document).toBe('object')
  await import('./testing.ts')
})
`

const importAll = (paths: string[]) =>
  paths.map((path, index) => `import * as entry${index} from '${name}${path.slice(1)}'`).join('\n')

const everyEntryPoint = `
${importAll(entryPoints)}
import { createClient, createSync, memoryStore } from '${name}'
import { createClient as createCalls } from '${name}/calls'
import { decryptBookmark, deriveKeys, encryptBookmark, openKeyring } from '${name}/crypto'
import { writeBookmarkFile } from '${name}/bookmark-file'
import { useBookmark } from '${name}/react'
import { storeCases } from '${name}/testing'
import { undoable } from '${name}/undo'
import vector from '${join(root, 'test/vectors/keyring.json')}' with { type: 'json' }
import { createSync as createWorkerSync } from '${name}/worker'
const entries = [${entryPoints.map((_, index) => `entry${index}`)}]
if (createCalls !== createClient || entries.some((entry) => Object.keys(entry).length === 0)) throw new Error('empty')
const keys = deriveKeys(await openKeyring(vector.keyring, { userId: vector.user_id, passphrase: vector.passphrase }))
const bookmark = { id: 'one', title: 'A title', source: 'bookmarks' }
const opened = decryptBookmark(keys, { id: 'one', ...encryptBookmark(keys, bookmark) })
const client = createClient({ baseUrl: 'http://127.0.0.1:9', deviceId: 'd' })
const options = { client, keys, userId: 'u', deviceId: 'd', store: memoryStore() }
undoable(createSync(options))
createWorkerSync(options)
await Promise.all(storeCases.slice(0, 1).map(({ run }) => run(() => memoryStore())))
console.log(opened.title, writeBookmarkFile([bookmark]).match('<DL><p>')[0], useBookmark.name)
`

// Without `./react`, because React's types need the DOM.
const everyType = `
${importAll(entryPoints.filter((path) => path !== './react'))}
import * as client from '${name}'
import * as testing from '${serviceName}/testing'
const known: client.PlaintextBookmark = { id: 'one', title: 'A title', source: 'bookmarks', extra: { colour: 'red' } }
// @ts-expect-error: the field is called dateAdded
export const misspelt: client.PlaintextBookmark = { ...known, dateadded: '2026-11-22' }
// @ts-expect-error: the same when it is read
export const { dateadded } = known
// Undefined can be passed for optional values, also under exactOptionalPropertyTypes.
export async function passOn(sync: client.Sync, options: { signal: AbortSignal | undefined; fetch: client.SendRequest | undefined; now: (() => number) | undefined }) {
  await sync.syncNow(options)
  return [client.createClient({ baseUrl: 'https://sync.example.org', deviceId: 'd', ...options }), await testing.startService(options)]
}
`
