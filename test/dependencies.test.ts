/** What `npm ci --omit=dev` installs: all that the service imports, and nothing else. */
import { spawnSync } from 'node:child_process'
import { copyFile, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import t from 'tap'
import packageJson from '../package.json' with { type: 'json' }
import { folder } from './support/service.ts'

const root = new URL('../', import.meta.url)
const started = ['src/main.ts', 'src/commands/backup.ts', 'src/commands/reseal.ts']

t.test('The service imports each dependency, and nothing but dependencies', async (t) => {
  const { metafile } = await build({
    entryPoints: started,
    absWorkingDir: fileURLToPath(root),
    outdir: 'none',
    write: false,
    bundle: true,
    metafile: true,
    format: 'esm',
    platform: 'node',
    packages: 'external',
  })
  const imports = Object.entries(metafile.inputs)
    // Only imported in development.
    .filter(([path]) => !path.startsWith('src/provider/development/'))
    .flatMap(([, file]) => file.imports)
    .filter(({ external, path }) => external && !path.startsWith('node:'))
    .map(({ path }) => /^(@[^/]+\/)?[^/]+/.exec(path)?.[0])
  t.same([...new Set(imports)].sort(), Object.keys(packageJson.dependencies).sort())
})

t.test('Without the development dependencies, `npm start` builds nothing and goes on', async (t) => {
  const cwd = await folder(t)
  const [program, script = '', ...parts] = packageJson.scripts.prestart.split(' ')
  await mkdir(join(cwd, 'scripts/package'), { recursive: true })
  for (const name of [script, 'scripts/package/build.ts']) await copyFile(new URL(name, root), join(cwd, name))
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...parts], { cwd, encoding: 'utf8' })
  t.equal(program, 'node')
  t.match(stdout, /not built/)
  t.same([status, stderr], [0, ''])
})
