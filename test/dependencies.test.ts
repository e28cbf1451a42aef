/** The `dependencies` of package.json are the packages that the service imports in production, and no others. */
import { spawnSync } from 'node:child_process'
import { copyFile, mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, type Metafile } from 'esbuild'
import t from 'tap'
import packageJson from '../package.json' with { type: 'json' }
import { folder } from './support/service.ts'

const root = new URL('../', import.meta.url)
const started = ['src/service/main.ts', 'src/service/backup/process.ts']

t.test('The service imports every package of `dependencies`, and no other package', async (t) => {
  const files = Object.entries(await importsFrom(started))
    // Only imported in development.
    .filter(([path]) => !path.startsWith('src/service/provider/development/'))
  const imports = files.flatMap(([, file]) => packagesOf(file.imports))
  t.same([...new Set(imports)].sort(), Object.keys(packageJson.dependencies).sort())
})

t.test('The client of a provider, bucket or database is only loaded when it is needed', async (t) => {
  const files = await importsFrom(['src/service/start.ts'])
  const loaded = new Set(['src/service/start.ts'])
  const atOnce = (path: string) => files[path]?.imports.filter(({ kind }) => kind !== 'dynamic-import') ?? []
  for (const one of loaded) for (const { path, external } of atOnce(one)) if (!external) loaded.add(path)
  const packages = new Set([...loaded].flatMap((path) => packagesOf(atOnce(path))))
  const later = ['@nats-io/transport-node', 'better-sqlite3', 'minio', 'oidc-provider', 'pg', 'undici']
  t.same(
    later.filter((name) => packages.has(name)),
    [],
  )
  t.ok(packages.has('fastify'))
})

async function importsFrom(entryPoints: string[]): Promise<Metafile['inputs']> {
  const { metafile } = await build({
    entryPoints,
    absWorkingDir: fileURLToPath(root),
    outdir: 'none',
    write: false,
    bundle: true,
    metafile: true,
    format: 'esm',
    platform: 'node',
    packages: 'external',
  })
  return metafile.inputs
}

function packagesOf(imports: Metafile['inputs'][string]['imports']) {
  return imports
    .filter(({ external, path }) => external && !path.startsWith('node:'))
    .map(({ path }) => /^(@[^/]+\/)?[^/]+/.exec(path)?.[0])
}

t.test('Without development dependencies, `npm start` starts the sources and builds nothing', async (t) => {
  const cwd = await folder(t)
  const [, last = ''] = packageJson.scripts.prestart.split(' && ')
  const [program, script = '', ...parts] = last.split(' ')
  await mkdir(join(cwd, 'scripts/package'), { recursive: true })
  for (const name of [script, 'scripts/package/parts.ts']) await copyFile(new URL(name, root), join(cwd, name))
  await mkdir(join(cwd, 'dist/start'), { recursive: true })
  await writeFile(join(cwd, 'dist/start/main.mjs'), "throw new Error('stale')\n")
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...parts], { cwd, encoding: 'utf8' })
  t.equal(program, 'node')
  t.match(stdout, /not installed/)
  t.same([status, stderr], [0, ''])
  t.same(await readdir(join(cwd, 'dist')), [])
})
