/** All that is published or served has the licence texts of the packages that it contains. */
import { spawnSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type BuildOptions, build } from 'esbuild'
import t, { type Test } from 'tap'
import { modulesOf, thirdPartyText } from '../scripts/package/licences.ts'
import { buildForTests, bundleForTests } from '../scripts/test/build.ts'
import { buildApp } from './support/app.ts'
import { deep } from './support/depth.ts'
import { folder } from './support/service.ts'

await buildForTests('web', 'docs', 'extension')
await bundleForTests()
/** The names in a file's list. */
const namesIn = (text: string) => {
  const [, list = ''] = text.split('\n\n')
  return list.split('\n').map((line) => (line.split(', ')[0] as string).replace(/( [\d.]+)?: .*$/, ''))
}
const read = (path: string) => readFile(`dist/${path}/THIRD-PARTY.txt`, 'utf8')
const packageOf = (path: string) => /^.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]
const tool = 'esbuild'

async function packagesIn(options: BuildOptions): Promise<string[]> {
  const { metafile } = await build({
    ...options,
    bundle: true,
    format: 'esm',
    target: 'esnext',
    splitting: true,
    minify: true,
    outdir: 'unwritten',
    write: false,
    metafile: true,
    logLevel: 'error',
  })
  const inputs = Object.values(metafile.outputs).flatMap((output) => Object.entries(output.inputs))
  const names = inputs.flatMap(([path, { bytesInOutput }]) => (bytesInOutput > 0 ? (packageOf(path) ?? []) : []))
  return [...new Set([tool, ...names])].sort()
}

t.test('The files of the service and the extension name exactly the packages in their bundles', async (t) => {
  const service = await packagesIn({
    entryPoints: [
      'src/service/commands/ebs.ts',
      'src/service/backup/process.ts',
      'src/service/db/engine/sqlite/checkpoint-thread.ts',
      'src/service/testing.ts',
    ],
    platform: 'node',
    external: ['better-sqlite3', 'oidc-provider'],
  })
  t.ok(service.length > 100)
  t.same([...new Set(namesIn(await read('tested-service')))].sort(), service)
  const pages = ['worker', 'start', 'popup', 'options'].map((name) => `src/extension/app/${name}.ts`)
  const extension = await packagesIn({ entryPoints: pages })
  for (const browser of ['chrome', 'firefox'])
    t.same(namesIn(await read(`extension/${browser}`)).sort(), extension, browser)
})

t.test("The page's file names exactly the packages of its source maps and of the judge of passphrases", async (t) => {
  const judge = await packagesIn({ entryPoints: ['src/web/vault/strength-worker.ts'] })
  const mapped = globSync('dist/web/*.js.map').flatMap((path) => {
    const { sources } = JSON.parse(readFileSync(path, 'utf8')) as { sources: string[] }
    return sources.flatMap((source) => packageOf(source) ?? [])
  })
  t.ok(mapped.includes('preact'))
  t.same(namesIn(await read('web')).sort(), [...new Set([...judge, ...mapped])].sort())
})

t.test("The documents' file names what VitePress and the bundle of Redoc contain", async (t) => {
  const text = await read('docs')
  const { sources } = JSON.parse(readFileSync('node_modules/redoc/bundles/redoc.standalone.js.map', 'utf8'))
  const built = (sources as string[]).flatMap((source) => packageOf(source) ?? [])
  const names = namesIn(text)
  t.same(
    [
      ...built,
      'redoc',
      'webpack',
      'lunr',
      'vitepress',
      'vite',
      '@vue/runtime-core',
      'minisearch',
      '@docsearch/css',
    ].filter((name) => !names.includes(name)),
    [],
  )
  t.ok(built.length > 60)
  t.match(text, /^redoc 2[\d.]+: MIT\n/m)
  t.match(text, /^styled-components, built into redoc 2[\d.]+: MIT\n/m)
  t.match(text, 'Copyright (c) 2015, Yahoo! Inc.', 'the licence of a package that is only within another one is there')
})

t.test('The files have notices, and licences that only a README or this repository has', async (t) => {
  const web = await read('web')
  t.match(web, /OpenSubtitles via OPUS.*Any redistribution of this package must retain this notice/s)
  const service = await read('tested-service')
  t.match(
    service,
    /^@opentelemetry\/api [\d.]+\n@opentelemetry\/core [\d.]+\n(\S+ [\d.]+\n)+\nApache License$/m,
    'a text is there once, for all packages that have it',
  )
  for (const holder of ['Brian M. Carlson', 'Hannes Hörl', 'James Sumners', 'Amit Gupta', 'Matteo Collina'])
    t.match(service, new RegExp(`Copyright .*${holder}`), holder)
})

const mit = 'Copyright (c) Ada\n\nPermission is hereby granted, free of charge, …'
const packages = {
  plain: { license: 'MIT', LICENSE: mit },
  readme: { license: 'ISC', 'README.md': `# readme\n\n## License\n\n${mit} to all.\n\n## Usage\n\nAny.` },
  noticed: { license: '(MPL-2.0 OR Apache-2.0)', 'LICENSE.txt': 'Apache License', NOTICE: 'By Ada.' },
  shaken: { license: 'UNLICENSED' },
}

/** A project with these packages and a bundle of code that imports them. */
async function bundleOf(t: Test, added: Record<string, Record<string, string>> = {}) {
  const at = await folder(t)
  for (const [name, { license, ...files }] of Object.entries({ ...packages, ...added })) {
    const home = join(at, 'node_modules', name)
    await mkdir(home, { recursive: true })
    await writeFile(join(home, 'package.json'), JSON.stringify({ name, version: '1.2.3', license, sideEffects: false }))
    await writeFile(join(home, 'index.js'), `export const value = '${name}'; export const other = 1`)
    for (const [file, text] of Object.entries(files)) await writeFile(join(home, file), text)
  }
  const names = [...Object.keys(packages), ...Object.keys(added)]
  const lines = names.map((name, index) => `import { value as v${index} } from '${name}'\n`)
  const used = names.flatMap((name, index) => (name === 'shaken' ? [] : [`v${index}`]))
  const esbuild = join(at, 'node_modules/esbuild')
  await mkdir(esbuild)
  await writeFile(join(esbuild, 'package.json'), JSON.stringify({ version: '1.0.0', license: 'MIT' }))
  await writeFile(join(esbuild, 'LICENSE.md'), mit)
  const { metafile } = await build({
    stdin: { contents: `${lines.join('')}console.log(${used.join()})`, resolveDir: at },
    absWorkingDir: at,
    bundle: true,
    format: 'esm',
    outdir: 'unwritten',
    write: false,
    metafile: true,
  })
  return () => thirdPartyText(modulesOf(metafile), [], at)
}

t.test('A package is named if its code is in the bundle, and a text of several packages is there once', async (t) => {
  const line = '-'.repeat(80)
  t.equal(
    (await bundleOf(t))(),
    `The files beside this one contain code of these packages.

esbuild 1.0.0: MIT
noticed 1.2.3: (MPL-2.0 OR Apache-2.0)
plain 1.2.3: MIT
readme 1.2.3: ISC

${line}
esbuild 1.0.0
plain 1.2.3

${mit}

${line}
noticed 1.2.3

Apache License

${line}
noticed 1.2.3

By Ada.

${line}
readme 1.2.3

${mit} to all.
`,
  )
})

deep(t, 'The build fails, naming the package, if a licence has no text or is not accepted', async (t) => {
  const cases: [string, Record<string, string>, string][] = [
    ['bare', { license: 'MIT' }, 'bare 1.2.3 has no licence text'],
    [
      'linked',
      { license: 'MIT', 'README.md': '## License\n\n[MIT](https://ada.example)\n' },
      'linked 1.2.3 has no licence text',
    ],
    ['viral', { license: 'AGPL-3.0-only', LICENSE: mit }, 'the licence of viral 1.2.3, AGPL-3.0-only, is not accepted'],
    [
      'both',
      { license: 'MIT AND GPL-3.0-only', LICENSE: mit },
      'the licence of both 1.2.3, MIT AND GPL-3.0-only, is not',
    ],
    ['unnamed', { LICENSE: mit }, 'the licence of unnamed 1.2.3, undefined, is not accepted'],
    // This repository has the licence text of this package, but of another version.
    ['abstract-logging', { license: 'MIT' }, 'abstract-logging 1.2.3 has no licence text'],
  ]
  for (const [name, files, message] of cases)
    t.throws(await bundleOf(t, { [name]: files }), { message: new RegExp(message) })
  t.throws(() => thirdPartyText(['\0plugin:helper']), /"\\u0000plugin:helper" has no licence text/)
  t.throws(
    () => thirdPartyText([], [{ package: 'redoc', modules: ['./node_modules/@x/y/z.js'] }]),
    /@x\/y, built into redoc/,
  )
})

// Packs everything. The first tests read the same texts from the builds.
deep(t, 'npm packages and the extension have their files, and the service serves those of its pages', async (t) => {
  await buildForTests('service')
  const { stdout } = spawnSync('npm', ['pack', '--dry-run', '--json', './dist/service'], { encoding: 'utf8' })
  const [{ files }] = JSON.parse(stdout) as [{ files: { path: string }[] }]
  const packed = files.map(({ path }) => path).filter((path) => /THIRD-PARTY|LICENSE/.test(path))
  const texts = [
    'LICENSE',
    'THIRD-PARTY.txt',
    'docs/THIRD-PARTY.txt',
    'docs/redoc.standalone.js.LICENSE.txt',
    'web/THIRD-PARTY.txt',
  ]
  t.same(packed.sort(), texts.sort())
  for (const browser of ['chrome', 'firefox'])
    t.ok((await readFile(`dist/extension/${browser}.zip`)).includes('THIRD-PARTY.txt'), browser)
  const { listen } = await buildApp(t, { SERVE_APP: 'true' })
  const origin = await listen()
  for (const [path, part] of Object.entries({ '/demo/THIRD-PARTY.txt': 'web', '/docs/THIRD-PARTY.txt': 'docs' })) {
    const response = await fetch(origin + path)
    t.same([response.status, response.headers.get('content-type')], [200, 'text/plain; charset=utf-8'])
    t.equal(await response.text(), await read(part), path)
  }
})
