import { existsSync } from 'node:fs'
import { glob, readFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path/posix'
import { type Contract, operationsOf } from '../openapi.ts'
import { errorRows, loginFailureLines } from './errors.ts'
import { headingsOf } from './markdown.ts'

const root = new URL('../../../', import.meta.url)

/** The guides in reading order, by their paths in the repository. A new guide needs its file and its place here. */
const order = {
  'Get started': ['docs/start.md', 'docs/demo.md'],
  'The client package': ['docs/client.md', 'docs/extension.md', 'src/client/README.md', 'docs/languages.md'],
  'How it works': [
    'docs/sync.md',
    'docs/conflicts.md',
    'docs/history.md',
    'docs/encryption.md',
    'docs/lost-device.md',
    'docs/sessions.md',
  ],
  'Look it up': ['docs/errors.md', 'docs/limits.md', 'docs/versioning.md'],
  'Run it': [
    'docs/operating/deployment.md',
    'docs/operating/configuration.md',
    'docs/operating/running.md',
    'docs/operating/monitoring.md',
    'docs/operating/backups.md',
    'docs/operating/after-a-restore.md',
    'docs/operating/upgrading.md',
    'docs/operating/sizing.md',
    'docs/operating/scaling.md',
  ],
  'The project': ['docs/promises.md', 'docs/threat-model.md', 'docs/contributing.md', 'src/web/README.md'],
}
/** Where the name of a page, or its title, is not that of the file. */
const names: Record<string, { page: string; title: string }> = {
  'src/client/README.md': { page: 'web-app.html', title: 'A web app, from sign-in to sign-out' },
  'src/web/README.md': { page: 'web-page.html', title: 'How the web page is made' },
}
const first = 'docs/index.md'

export interface Guide {
  /** In the repository. */
  path: string
  /** The name of its file among the built ones, which are all side by side. */
  page: string
  title: string
  group: string
  text: string
}

/** All guides in reading order, the first page before them. */
export async function readGuides(root: URL, contract: Contract): Promise<Guide[]> {
  const listed = [[first, ''], ...Object.entries(order).flatMap(([group, paths]) => paths.map((path) => [path, group]))]
  const readme = await readFile(new URL('README.md', root), 'utf8')
  const [program = ''] = /^```ts\n.*?^```\n/ms.exec(readme) ?? []
  const files = await Array.fromAsync(glob('docs/**/*.md', { cwd: root }))
  const unlisted = files.find((file) => !listed.some(([path]) => path === file))
  if (unlisted) throw new Error(`${unlisted} is not in the order of the guides`)
  return Promise.all(
    listed.map(async ([path = '', group = '']) => {
      const text = fillIn(await readFile(new URL(path, root), 'utf8'), contract).replace(
        '<!-- the ten lines of README.md -->\n',
        program,
      )
      const [, heading = path] = /^# (.*)/.exec(text) ?? []
      const { page, title } = names[path] ?? { page: `${basename(path, '.md')}.html`, title: heading }
      return { path, page, title, group, text: text.replace(/^# .*/, `# ${title}`) }
    }),
  )
}

function fillIn(text: string, contract: Contract): string {
  return text
    .replace('<!-- the errors of openapi.yaml -->\n', errorRows(contract))
    .replace('<!-- the sign-in failures of openapi.yaml -->\n', loginFailureLines(contract))
}

/** Where a link leads; undefined for a file of the repository that is none of the pages. */
export type Resolve = (to: string) => string | undefined

/**
 * Turns the links of a file, which lead to other files, into those of its page. Those to the source of an entry of the client
 * package lead to its reference. A broken link stops the build.
 */
export function linksBetween(
  guides: Guide[],
  contract: Contract,
  entries: { path: string; page: string }[],
): (path: string) => Resolve {
  const targets = new Map([
    ...guides.flatMap(placesIn),
    ...contracts(contract),
    ...entries.map(({ path, page }): [string, string] => [path, page]),
    ['CHANGELOG.md', 'changelog.html'],
  ])
  return (from) => (to) => {
    // In the built folder all files are side by side.
    if (to.startsWith('assets/')) return to.slice('assets/'.length)
    if (/^https?:/.test(to)) return to
    const path = fullPath(from, to)
    const target = targets.get(path)
    if (target === undefined && !isOtherFile(path)) throw new Error(`${from} has a link to ${to}, which is nowhere`)
    return target
  }
}

function isOtherFile(path: string): boolean {
  return /^(src|test|scripts|deploy)\//.test(path) && existsSync(new URL(path, root))
}

function fullPath(from: string, to: string): string {
  // The contract's own texts, such as the remedies of its errors, link within it.
  if (to.startsWith('#operation/')) return `openapi.yaml${to}`
  return to.startsWith('#') ? from + to : join(dirname(from), to)
}

/** What a link can lead to, by its path in the repository. */
function placesIn({ path, page, text }: Guide): [string, string][] {
  return [[path, page], ...headingsOf(text).map(({ id }): [string, string] => [`${path}#${id}`, `${page}#${id}`])]
}

function contracts(contract: Contract): [string, string][] {
  const operations = operationsOf(contract).map(({ operationId }): [string, string] => [
    `openapi.yaml#operation/${operationId}`,
    `http.html#operation/${operationId}`,
  ])
  return [...operations, ['openapi.yaml', 'http.html'], ['asyncapi.yaml', 'realtime.html']]
}
