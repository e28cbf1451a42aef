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
/** Files that call one command of `ebs`. */
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
/** Gives Node the option that deployments give it; it uses a fifth more memory if this is missing. */
const shebang = '#!/usr/bin/env -S node --max-semi-space-size=16\n'
/** Folders of deploy/ with what an operator needs beside the service, however it is installed. */
const examples = ['caddy', 'nginx', 'prometheus', 'grafana']
/** An installation puts these on the PATH. Without a command, the second serves. */
const programs = { ebs: 'ebs.mjs', 'encrypted-bookmark-sync': 'encrypted-bookmark-sync.mjs' }
/**
 * Tests of apps often run on jsdom, which replaces `Uint8Array` by one of its own. Node's functions take and return others, so the
 * service would find that no bytes are bytes.
 */
const nodesBytes = 'globalThis.Uint8Array = Object.getPrototypeOf(Buffer)\n'
/** Modules of CommonJS in the bundle load Node's own by this function, which an ES module does not have. */
const require =
  "import { createRequire as createBundleRequire } from 'node:module'; const require = createBundleRequire(import.meta.url);"

/**
 * Bundles the service and its commands, with copies of what was built for `/docs` and of the demo app. It starts with Node
 * and the driver of SQLite, whose native code cannot be bundled. Clients that few need are files that load when needed.
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
    // Identifiers stay as they are, because logs show those of classes and functions. `keepNames` would name each closure
    // again whenever one is made, which takes a tenth of a small request. `minifySyntax` would cost a fifth of a full pull.
    minifyWhitespace: true,
    // Node keeps two bytes of each character if a text has any that is not ASCII.
    legalComments: 'external',
    banner: { js: require },
    // Sign-ins of development need a package that production does without.
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

/** npm publishes this folder as it is: `npx encrypted-bookmark-sync` starts it as `npm start` starts the checkout. */
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
    // npm itself may be an older one: nothing here needs a script of a package.
    engines: { node: engines.node },
    allowScripts: { [driver]: allowScripts[driver] },
    dependencies: { [driver]: dependencies[driver] },
    // Nobody signs in by it in production: `npm install --omit=optional` leaves it out.
    optionalDependencies: { [provider]: packageJson.devDependencies[provider] },
  }
}
