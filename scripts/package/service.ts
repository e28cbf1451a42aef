import { chmod, copyFile, cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import ts from 'typescript'
import packageJson from '../../package.json' with { type: 'json' }
import { modulesOf, thirdPartyFile, thirdPartyText } from './licences.ts'

const root = new URL('../../', import.meta.url)
export const serviceFolder = new URL('dist/service/', root)

const entryPoints = {
  ebs: 'src/service/commands/ebs.ts',
  'backup-process': 'src/service/backup/process.ts',
  'checkpoint-thread': 'src/service/db/engine/sqlite/checkpoint-thread.ts',
  testing: 'src/service/testing.ts',
}
/** Files that each run one command of `ebs`. */
const oneCommand = {
  main: 'serve',
  backup: 'backup',
  restore: 'restore',
  restored: 'restored',
  migrate: 'migrate',
  move: 'move',
  reseal: 'reseal',
  admin: 'admin',
}
/** Starts Node with an option that saves memory (docs/operating/deployment.md). */
const shebang = '#!/usr/bin/env -S node --max-semi-space-size=16\n'
/** Folders of deploy/ that are useful for every kind of installation, and are copied. */
const examples = ['caddy', 'nginx', 'prometheus', 'grafana']
/** The commands that npm installs. Without arguments, the second one runs `serve`. */
const programs = { ebs: 'ebs.mjs', 'encrypted-bookmark-sync': 'encrypted-bookmark-sync.mjs' }
/**
 * Restores Node's `Uint8Array`. Tests of apps often run in jsdom, which replaces it. The service would then not recognize
 * the bytes that Node gives it.
 */
const nodesBytes = 'globalThis.Uint8Array = Object.getPrototypeOf(Buffer)\n'
/** Bundled CommonJS modules call `require` for Node's own modules. ES modules do not have that function. */
const require =
  "import { createRequire as createBundleRequire } from 'node:module'; const require = createBundleRequire(import.meta.url);"

/**
 * Bundles the service and its commands, with copies of the documents and the web page. The bundle needs only Node and
 * the SQLite driver, whose native code cannot be bundled. Rarely used libraries are loaded on demand.
 */
export async function buildService(folder = serviceFolder, copied = ['docs/', 'web/']): Promise<void> {
  await rm(folder, { recursive: true, force: true })
  const { metafile } = await build({
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
    // No `minifyIdentifiers`, because logs show names of classes and functions. `keepNames` would name each closure when
    // it is created, which takes a tenth of a small request. `minifySyntax` would make a full pull a fifth slower.
    minifyWhitespace: true,
    // Licence comments may contain non-ASCII characters, and one is enough to double the memory of a file's text in Node.
    legalComments: 'external',
    banner: { js: require },
    // The development provider needs oidc-provider, which may be left out in production.
    external: ['better-sqlite3', 'oidc-provider'],
    metafile: true,
    logLevel: 'warning',
  })
  const requireNode = await readFile(new URL('../require-node.mjs', import.meta.url), 'utf8')
  const write = (name: string, code: string) => writeFile(new URL(name, folder), code)
  const start = (name: keyof typeof entryPoints) => `${requireNode}await import('./run-${name}.mjs')\n`
  await write(thirdPartyFile, thirdPartyText(modulesOf(metafile)))
  await write('backup-process.mjs', start('backup-process'))
  await write('checkpoint-thread.mjs', start('checkpoint-thread'))
  for (const [name, command] of Object.entries(oneCommand))
    await write(`${name}.mjs`, `process.argv.splice(2, 0, '${command}')\n${start('ebs')}`)
  await write('testing.mjs', `${nodesBytes}export const { startService } = await import('./run-testing.mjs')\n`)
  const testing = await readFile(new URL(entryPoints.testing, root), 'utf8')
  await write('testing.d.ts', ts.transpileDeclaration(testing, { reportDiagnostics: false }).outputText)
  await write('ebs.mjs', shebang + start('ebs'))
  const serves = "if (process.argv.length === 2) process.argv.push('serve')\n"
  await write('encrypted-bookmark-sync.mjs', shebang + serves + start('ebs'))
  for (const name of Object.values(programs)) await chmod(new URL(name, folder), 0o755)
  for (const name of ['openapi.yaml', 'asyncapi.yaml', 'LICENSE'])
    await copyFile(new URL(name, root), new URL(name, folder))
  await copyFile(new URL('src/service/README.md', root), new URL('README.md', folder))
  for (const name of examples)
    await cp(new URL(`deploy/${name}`, root), new URL(`examples/${name}`, folder), { recursive: true })
  for (const name of copied) await copyBuilt(new URL(`dist/${name}`, root), new URL(name, folder))
  await writeFile(new URL('package.json', folder), `${JSON.stringify(describe(), null, 2)}\n`)
}

async function copyBuilt(from: URL, to: URL): Promise<void> {
  await mkdir(from, { recursive: true })
  await cp(from, to, { recursive: true })
}

/** The package.json of the published package: `npx encrypted-bookmark-sync` starts the service, like `npm start`. */
function describe(): object {
  const { name, version, description, license, repository, homepage, engines, allowScripts, dependencies } = packageJson
  const driver = 'better-sqlite3'
  const provider = 'oidc-provider'
  return {
    name,
    version,
    description,
    license,
    repository,
    homepage,
    type: 'module',
    bin: programs,
    exports: { './testing': { types: './testing.d.ts', default: './testing.mjs' } },
    files: ['*.mjs', '*.d.ts', '*.txt', '*.yaml', 'docs', 'examples', 'web'],
    // No version of npm is required, unlike in the repository, because no install scripts are needed.
    engines: { node: engines.node },
    allowScripts: { [driver]: allowScripts[driver] },
    dependencies: { [driver]: dependencies[driver] },
    // Only for development: `npm install --omit=optional` leaves it out.
    optionalDependencies: { [provider]: packageJson.devDependencies[provider] },
  }
}
