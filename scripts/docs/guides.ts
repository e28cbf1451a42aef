import { existsSync, readdirSync } from 'node:fs'
import { glob, readFile } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path/posix'
import { type Contract, operationsOf } from '../contract/openapi.ts'
import { listedErrors, loginFailuresOf } from '../contract/texts.ts'

const root = new URL('../../', import.meta.url)

/** The guides for end users, in each language. */
const using = [
  'index',
  'bring-your-bookmarks',
  'on-your-phone',
  'in-your-browser',
  'tab-groups',
  'find-and-tidy',
  'browsing-history',
  'github-stars',
  'lost-passphrase',
  'lost-or-stolen',
  'changed-on-two-devices',
  'your-own-backups',
  'leaving',
]

/** The paths of all guides, in reading order. A new guide must be added here. */
const order = {
  'Using it': using.map((name) => `docs/using/${name}.md`),
  'So benutzen Sie es': using.map((name) => `docs/using/de/${name}.md`),
  'Get started': ['docs/start.md', 'docs/demo.md'],
  'The client package': [
    'docs/client.md',
    'docs/extension.md',
    'docs/privacy.md',
    'src/client/README.md',
    'docs/languages.md',
  ],
  'How it works': [
    'docs/sync.md',
    'docs/conflicts.md',
    'docs/history.md',
    'docs/encryption.md',
    'docs/formats.md',
    'docs/lost-device.md',
    'docs/sessions.md',
  ],
  'Look it up': ['docs/errors.md', 'docs/limits.md', 'docs/versioning.md'],
  'Run it': [
    'docs/operating/deployment.md',
    'docs/operating/configuration.md',
    'docs/operating/identity-provider.md',
    'docs/operating/running.md',
    'docs/operating/storage.md',
    'docs/operating/users.md',
    'docs/operating/monitoring.md',
    'docs/operating/backups.md',
    'docs/operating/after-a-restore.md',
    'docs/operating/another-provider.md',
    'docs/operating/upgrading.md',
    'docs/operating/growing.md',
    'docs/operating/sizing.md',
    'docs/operating/scaling.md',
  ],
  'The project': [
    'docs/promises.md',
    'docs/threat-model.md',
    'docs/contributing.md',
    'docs/commands.md',
    'docs/releasing.md',
    'src/web/README.md',
  ],
  Decisions: [
    'docs/decisions/index.md',
    'docs/decisions/no-entities.md',
    'docs/decisions/one-writer.md',
    'docs/decisions/two-clocks.md',
    'docs/decisions/no-session-cache.md',
    'docs/decisions/charged-by-count.md',
    'docs/decisions/typescript-as-it-is.md',
    'docs/decisions/two-databases.md',
    'docs/decisions/opaque-records.md',
    'docs/decisions/outside-parts.md',
    'docs/decisions/plaintext-in-the-browser.md',
    'docs/decisions/pairing.md',
    'docs/decisions/development-provider.md',
  ],
}
/** Pages with another name or title than their file. */
const names: Record<string, { page: string; title: string }> = {
  'docs/using/index.md': { page: 'using.html', title: 'Using it' },
  'docs/using/de/index.md': { page: 'de/using.html', title: 'So benutzen Sie es' },
  'src/client/README.md': { page: 'web-app.html', title: 'A web app, from sign-in to sign-out' },
  'docs/decisions/index.md': { page: 'decisions.html', title: 'Decisions' },
  'src/web/README.md': { page: 'web-page.html', title: 'How the web page is made' },
}
const first = 'docs/index.md'

/** The service's address in samples. A running service replaces it by its own address in `/docs`. */
export const sampleOrigin = 'http://127.0.0.1:3000'
/** The address of a production service in the guides. */
const exampleOrigin = 'https://sync.example.org'

export interface Guide {
  /** The file's path in the repository. */
  path: string
  /** The name of its page. All pages of a language are in one folder. */
  page: string
  title: string
  group: string
  text: string
}

/** The first page, and then all guides in reading order. */
export async function readGuides(root: URL, contract: Contract): Promise<Guide[]> {
  const listed = [[first, ''], ...Object.entries(order).flatMap(([group, paths]) => paths.map((path) => [path, group]))]
  const readme = await readFile(new URL('README.md', root), 'utf8')
  const [program = ''] = /^```ts\n.*?^```\n/ms.exec(readme) ?? []
  const files = await Array.fromAsync(glob('docs/**/*.md', { cwd: root }))
  const unlisted = files.find((file) => !listed.some(([path]) => path === file))
  if (unlisted) throw new Error(`${unlisted} is not in the order of the guides`)
  const guides = await Promise.all(
    listed.map(async ([path = '', group = '']) => {
      const text = (await readFile(new URL(path, root), 'utf8'))
        .replace('<!-- the ten lines of README.md -->\n', program)
        .replace('<!-- the errors of openapi.yaml -->\n', errorRows(contract))
        .replace('<!-- the sign-in failures of openapi.yaml -->\n', loginFailureLines(contract))
      const [, heading = path] = /^# (.*)/.exec(text) ?? []
      const folder = languageOf(path) === 'en' ? '' : `${languageOf(path)}/`
      const { page, title } = names[path] ?? { page: `${folder}${basename(path, '.md')}.html`, title: heading }
      return { path, page, title, group, text: text.replace(/^# .*/, `# ${title}`) }
    }),
  )
  const list = listOf(guides)
  return guides.map((guide) => ({ ...guide, text: guide.text.replace('<!-- all guides -->\n', list) }))
}

/** The language of a page. Only the guides for end users exist in several. */
export function languageOf(path: string): string {
  return /^docs\/using\/(\w+)\//.exec(path)?.[1] ?? 'en'
}

/** The contract's errors as table rows. Errors with the same status and remedy share a row. */
function errorRows(contract: Contract): string {
  const rows = Map.groupBy(listedErrors(contract), ({ status, remedy }) => `${status} ${remedy}`)
  return [...rows.values()]
    .map((errors) => {
      const texts = errors.map(({ code, text }) => `\`${text}\` (\`${code}\`)`).join(', ')
      return `| ${errors[0]?.status} | ${texts} | ${errors[0]?.remedy} |\n`
    })
    .join('')
}

function loginFailureLines(contract: Contract): string {
  return Object.values(loginFailuresOf(contract))
    .map((message) => `- \`${message}\`\n`)
    .join('')
}

/** The list on the first page: each English guide with its first sentence. */
function listOf(guides: Guide[]): string {
  const groups = Map.groupBy(
    guides.filter(({ group, path }) => group !== '' && languageOf(path) === 'en'),
    ({ group }) => group,
  )
  return [...groups]
    .map(([group, members]) => {
      const items = members.map(({ path, title, text }) => {
        const [, paragraph = ''] = /^# .*\n\n((?:[^\n|#<`-].*\n)+)/.exec(text) ?? []
        const plain = paragraph.replaceAll('\n', ' ').replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
        const sentence = /^.*?[.:](?= |$)/.exec(plain)?.[0].replace(/:$/, '.') ?? plain
        return `- [${title}](../${path}). ${sentence}\n`
      })
      return `### ${group}\n\n${items.join('')}\n`
    })
    .join('')
}

/** Files for clients in other languages, unchanged: by the path in the repository, the path on the site. */
export const plainFiles = new Map([
  ...['openapi.yaml', 'asyncapi.yaml', 'workflows.arazzo.yaml'].map((name): [string, string] => [name, name]),
  ...readdirSync(new URL('test/vectors/', root)).map((name): [string, string] => [
    `test/vectors/${name}`,
    `vectors/${name}`,
  ]),
])

/** Resolves a link; undefined for files of the repository that are not pages. */
export type Resolve = (to: string) => string | undefined

/**
 * Turns links to files into links to pages. A link to the source of an entry point of the client package leads to its
 * reference. A broken link stops the build.
 */
export function linksBetween(
  guides: Guide[],
  contract: Contract,
  entries: { path: string; page: string }[],
): (path: string) => Resolve {
  const targets = new Map([
    // First, because `contractPages` replaces the targets of the contracts by their pages.
    ...plainFiles,
    ...guides.flatMap(placesIn),
    ...contractPages(contract),
    ...entries.map(({ path, page }): [string, string] => [path, page]),
    ['CHANGELOG.md', 'changelog.html'],
  ])
  return (from) => (to) => {
    if (/^https?:/.test(to)) return to
    const folder = dirname(targets.get(from) ?? '')
    const path = fullPath(from, to)
    // The site serves these files at its root.
    if (path.startsWith('docs/assets/')) return path.slice('docs/assets'.length)
    const target = targets.get(path)
    if (target === undefined && !isOtherFile(path)) throw new Error(`${from} has a link to ${to}, which is nowhere`)
    return target && relative(folder, target)
  }
}

function isOtherFile(path: string): boolean {
  return /^(src|test|scripts|bench|deploy)\//.test(path) && existsSync(new URL(path, root))
}

function fullPath(from: string, to: string): string {
  // Texts of the contract, such as the remedies of errors, have links to its operations.
  if (to.startsWith('#operation/')) return `openapi.yaml${to}`
  return to.startsWith('#') ? from + to : join(dirname(from), to)
}

/** The link targets in a guide: the guide and its headings, by path in the repository. */
function placesIn({ path, page, text }: Guide): [string, string][] {
  const prose = text.replaceAll(/^ *```.*?^ *```$/gms, '')
  const seen = new Map<string, number>()
  const headings = [...prose.matchAll(/^##+ (.*)$/gm)].map(([, heading = '']): [string, string] => {
    const slug = slugOf(heading)
    const count = seen.get(slug) ?? 0
    seen.set(slug, count + 1)
    const id = count === 0 ? slug : `${slug}-${count}`
    return [`${path}#${id}`, `${page}#${id}`]
  })
  return [[path, page], ...headings]
}

/** The anchor that GitHub gives a heading. */
export function slugOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_\s-]/gu, '')
    .replaceAll(' ', '-')
}

function contractPages(contract: Contract): [string, string][] {
  const operations = operationsOf(contract).map(({ operationId }): [string, string] => [
    `openapi.yaml#operation/${operationId}`,
    `http.html#operation/${operationId}`,
  ])
  return [...operations, ['openapi.yaml', 'http.html'], ['asyncapi.yaml', 'realtime.html']]
}

/** Markdown with links as on the site, and `sampleOrigin` in code. A link to a file without a page becomes text. */
export function withLinks(markdown: string, resolve: Resolve): string {
  const codeOrLink = /^ *```.*?^ *```$|`[^`\n]+`|(!?)\[((?:`[^`]*`|[^\]`])*)\]\(([^)\s]+)\)/gms
  return markdown.replaceAll(codeOrLink, (all: string, mark?: string, text?: string, to?: string) => {
    if (to === undefined) return all.replaceAll(exampleOrigin, sampleOrigin)
    const target = resolve(to)
    return target === undefined ? `${text}` : `${mark}[${text}](${target})`
  })
}
