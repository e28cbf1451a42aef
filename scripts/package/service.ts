import { copyFile, cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import packageJson from '../../package.json' with { type: 'json' }

const root = new URL('../../', import.meta.url)
export const serviceFolder = new URL('dist/service/', root)

const entryPoints = {
  main: 'src/service/main.ts',
  backup: 'src/service/commands/backup.ts',
  'backup-process': 'src/service/backup/process.ts',
  admin: 'src/service/commands/admin.ts',
  migrate: 'src/service/commands/migrate.ts',
  'checkpoint-thread': 'src/service/db/engine/sqlite/checkpoint-thread.ts',
  restore: 'src/service/commands/restore.ts',
  restored: 'src/service/commands/restored.ts',
  reseal: 'src/service/commands/reseal.ts',
}
/** Modules of CommonJS in the bundle load Node's own by this function, which an ES module does not have. */
const require =
  "import { createRequire as createBundleRequire } from 'node:module'; const require = createBundleRequire(import.meta.url);"

/**
 * Bundles the service and its commands, with copies of what was built for `/docs` and of the demo app. It starts with Node
 * and the driver of SQLite, whose native code cannot be bundled. Clients that few need are files that load when needed.
 */
export async function buildService(folder = serviceFolder): Promise<void> {
  await rm(folder, { recursive: true, force: true })
  await build({
    absWorkingDir: fileURLToPath(root),
    entryPoints,
    outdir: fileURLToPath(folder),
    entryNames: 'run-[name]',
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    // Identifiers stay as they are, because logs show those of classes and functions. `keepNames` would name each closure
    // again whenever one is made, which takes a tenth of a small request.
    minifySyntax: true,
    minifyWhitespace: true,
    // Of a text with other than ASCII characters, Node keeps two bytes of each.
    legalComments: 'external',
    banner: { js: require },
    // Sign-ins of development need the repository's dependencies.
    external: ['better-sqlite3', 'oidc-provider'],
    logLevel: 'warning',
  })
  const demandNode = await readFile(new URL('../demand-node.mjs', import.meta.url), 'utf8')
  for (const name of Object.keys(entryPoints))
    await writeFile(new URL(`${name}.mjs`, folder), `${demandNode}await import('./run-${name}.mjs')\n`)
  for (const name of ['openapi.yaml', 'asyncapi.yaml', 'LICENSE'])
    await copyFile(new URL(name, root), new URL(name, folder))
  for (const name of ['docs/', 'web/']) await copyBuilt(new URL(`dist/${name}`, root), new URL(name, folder))
  await writeFile(new URL('package.json', folder), `${JSON.stringify(describe(), null, 2)}\n`)
}

async function copyBuilt(from: URL, to: URL): Promise<void> {
  await mkdir(from, { recursive: true })
  await cp(from, to, { recursive: true })
}

function describe(): object {
  const { name, version, license, engines, dependencies } = packageJson
  const driver = 'better-sqlite3'
  return {
    name,
    version,
    license,
    private: true,
    type: 'module',
    engines,
    allowScripts: { [driver]: packageJson.allowScripts[driver] },
    dependencies: { [driver]: dependencies[driver] },
  }
}
