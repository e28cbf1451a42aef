import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path/posix'
import t from 'tap'
import { operations } from '../../generated/operations.ts'
import packageJson from '../../package.json' with { type: 'json' }
import { slugOf } from '../../scripts/docs/guides.ts'

const root = new URL('../../', import.meta.url)
/** Files that operators create. */
const made = ['deploy/.env', 'deploy/secrets/secret_key']
const exists = (path: string) => made.includes(path) || globSync(path, { cwd: root }).length > 0
const files = [
  'README.md',
  'CHANGELOG.md',
  'SECURITY.md',
  'src/client/README.md',
  ...globSync('docs/**/*.md', { cwd: root }),
]
const documents = files.map((file) => {
  const text = readFileSync(new URL(file, root), 'utf8')
  return { file, text, prose: text.replaceAll(/^ *```.*?^ *```$/gms, '') }
})

const pathInText = /`((?:src|test|scripts|bench|generated|deploy|docs)\/[\w./{},*-]*)`/g

function commentsOf(file: string): string[] {
  return readFileSync(new URL(file, root), 'utf8').match(/\/\*.*?\*\/|^\s*\/\/.*$/gms) ?? []
}

t.test('The README has at most 700 words without its code', async (t) => {
  const [readme] = documents
  const words = readme?.prose.match(/\S*\w\S*/g)?.length ?? 0
  t.ok(words > 300 && words <= 700, `${words} words`)
})

t.test("The README's picture is a PNG of at most 200 kB", async (t) => {
  const [, path = ''] = /!\[[^\]]+\]\((\S+)\)/.exec(documents[0]?.prose ?? '') ?? []
  const picture = readFileSync(new URL(path, root))
  t.equal(picture.toString('latin1', 1, 4), 'PNG')
  t.ok(picture.length <= 200_000, `${picture.length} bytes`)
})

t.test('Every file, folder and command that the documents name exists', async (t) => {
  const paths = documents.flatMap(({ file, text }) =>
    Array.from(text.matchAll(pathInText), ([, path = '']) => ({ file, path })),
  )
  t.ok(paths.length > 100, `${paths.length} paths`)
  const commented = globSync('{src,scripts,bench}/**/*.{ts,tsx}', {
    cwd: root,
    exclude: ['scripts/conform/stories/**'],
  })
    .flatMap((file) => commentsOf(file).map((text) => ({ file, text })))
    .flatMap(({ file, text }) => Array.from(text.matchAll(pathInText), ([, path = '']) => ({ file, path })))
  t.ok(commented.length > 0, `${commented.length} paths in comments`)
  t.same(
    [...paths, ...commented].filter(({ path }) => !exists(path)),
    [],
  )
  const known = new Set([...Object.keys(packageJson.scripts), 'ci', 'install', 'pack'])
  const commands = documents.flatMap(({ file, text }) =>
    [...text.matchAll(/(?:`|^ *|&& )npm (?:run )?([a-z]+)/gm)].map(([command, name = '']) => ({ file, command, name })),
  )
  t.ok(commands.length > 50, `${commands.length} commands`)
  t.same(
    commands.filter(({ name }) => !known.has(name)),
    [],
  )
})

t.test('Every command of package.json is in the list of commands', async (t) => {
  const guide = documents.find(({ file }) => file === 'docs/commands.md')?.text ?? ''
  const named = new Set([...guide.matchAll(/`npm (?:run )?([a-z]+)/g)].map(([, name]) => name))
  t.same(
    Object.keys(packageJson.scripts).filter((name) => !name.startsWith('pre') && !named.has(name)),
    [],
  )
})

t.test('All files in the description of a push exist, and the glossary has at most 40 words', async (t) => {
  const guide = documents.find(({ file }) => file === 'docs/contributing.md')?.text ?? ''
  const [, way = '', words = ''] = /^## The way of a push$(.*?)^## Words$(.*?)^## /ms.exec(guide) ?? []
  const named = [...way.matchAll(/(?:src\/[\w./-]+|`[a-z]+\/[\w./-]+)\.ts/g)].map(([path]) =>
    path.startsWith('`') ? path.slice(1) : path,
  )
  t.ok(named.length > 30, `${named.length} files`)
  t.same(
    named.filter((path) => !['', 'src/', 'src/service/'].some((folder) => exists(folder + path))),
    [],
  )
  const rows = words.match(/^\| [a-z].*$/gm) ?? []
  t.ok(rows.length > 20 && rows.length <= 40, `${rows.length} words`)
})

t.test('Every promise names a test that proves it', async (t) => {
  const guide = documents.find(({ file }) => file === 'docs/promises.md')?.text ?? ''
  const rows = guide.split('\n').filter((line) => /^\| (?!Promise )[A-Z]/.test(line))
  t.ok(rows.length > 25, `${rows.length} promises`)
  t.same(
    rows.filter((row) => !/`test\/[^`]+\.test\.ts`/.test(row)),
    [],
  )
})

t.test('Every relative link of the documents leads to a file, and to a heading of it', async (t) => {
  const links = documents.flatMap(({ file, prose }) =>
    [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, to = '']) => ({ file, to })),
  )
  t.ok(links.length > 80, `${links.length} links`)
  t.same(
    links.filter(({ file, to }) => !/^https?:/.test(to) && !leadsSomewhere(file, to)),
    [],
  )
})

function leadsSomewhere(file: string, to: string): boolean {
  const [, path = '', heading] = /^([^#]*)(?:#(.*))?$/.exec(to) ?? []
  const target = path === '' ? file : join(dirname(file), path)
  if (target === 'openapi.yaml' && heading?.startsWith('operation/'))
    return heading.slice('operation/'.length) in operations
  if (heading === undefined) return exists(target)
  return (
    documents
      .find(({ file }) => file === target)
      ?.prose.match(/(?<=^#+ ).+$/gm)
      ?.map(slugOf)
      .includes(heading) ?? false
  )
}
