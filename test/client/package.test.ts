import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { buildClient } from '../../scripts/package/client.ts'

const run = promisify(execFile)
const dist = fileURLToPath(new URL('../../dist/client/', import.meta.url))
const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc')

/** What its readers would put around the examples of the package's README. */
const examples = {
  'web.ts': 'A web app',
  'react.tsx': 'React',
  'extension.ts': 'A browser extension',
  'node.ts': 'Node',
}

t.test('the tarball installs in an empty project, type-checks with every example, and runs', async (t) => {
  await buildClient()
  const project = await mkdtemp(join(tmpdir(), 'ebs-package-'))
  t.teardown(() => rm(project, { recursive: true, force: true }))
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', project], { cwd: dist })
  const [{ filename, files }] = JSON.parse(stdout) as [{ filename: string; files: { path: string }[] }]
  t.ok(files.some(({ path }) => path === 'README.md') && files.some(({ path }) => path === 'LICENSE'))
  t.notOk(files.some(({ path }) => path.endsWith('.ts') && !path.endsWith('.d.ts')))

  await writeFile(join(project, 'package.json'), '{ "type": "module", "private": true }')
  await run(
    'npm',
    ['install', '--no-audit', '--no-fund', '--prefer-offline', join(project, filename), '@types/react@19'],
    {
      cwd: project,
    },
  )
  const readme = await readFile(join(project, 'node_modules/encrypted-bookmark-sync-client/README.md'), 'utf8')
  for (const [file, title] of Object.entries(examples)) await writeFile(join(project, file), exampleOf(readme, title))
  await writeFile(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts', '*.tsx'] }))
  await t.resolves(run(process.execPath, [tsc, '-p', project]), 'strict, with skipLibCheck off')

  await mkdir(join(project, 'run'))
  await writeFile(join(project, 'run/all.js'), everyEntryPoint)
  const ran = await run(process.execPath, [join(project, 'run/all.js')])
  t.equal(ran.stdout, 'A title <DL><p>\n')
})

const compilerOptions = {
  strict: true,
  skipLibCheck: false,
  noEmit: true,
  target: 'ES2022',
  module: 'NodeNext',
  jsx: 'react-jsx',
  lib: ['ES2022', 'DOM', 'DOM.Iterable', 'DOM.AsyncIterable', 'ESNext.Disposable'],
  types: [],
}

const everyEntryPoint = `
import { createClient, createSync, memoryStore } from 'encrypted-bookmark-sync-client'
import { decryptBookmark, deriveKeys, encryptBookmark } from 'encrypted-bookmark-sync-client/crypto'
import { writeBookmarkFile } from 'encrypted-bookmark-sync-client/bookmark-file'
const keys = deriveKeys(new Uint8Array(32))
const bookmark = { id: 'one', title: 'A title', source: 'bookmarks' }
const opened = decryptBookmark(keys, { id: 'one', ...encryptBookmark(keys, bookmark) })
const client = createClient({ baseUrl: 'http://127.0.0.1:9', deviceId: 'd' })
createSync({ client, keys, userId: 'u', deviceId: 'd', store: memoryStore() })
console.log(opened.title, writeBookmarkFile([bookmark]).match('<DL><p>')[0])
`

/** The code of the section with this title. */
function exampleOf(readme: string, title: string): string {
  const section = readme.split('\n## ').find((part) => part.startsWith(title)) ?? ''
  const [, code] = /```tsx?\n([\s\S]*?)```/.exec(section) ?? []
  if (code === undefined) throw new Error(`The README has no example under ${title}`)
  return code
}
