import { glob, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path/posix'
import { type Contract, operationsOf } from '../openapi.ts'
import { errorRows, loginFailureLines } from './errors.ts'

/** The guides of each page, in reading order. */
const order = {
  http: [
    'start',
    'client',
    'demo',
    'languages',
    'sync',
    'conflicts',
    'history',
    'encryption',
    'sessions',
    'errors',
    'limits',
    'versioning',
  ],
  operating: [
    'operating/deployment',
    'operating/configuration',
    'operating/running',
    'operating/monitoring',
    'operating/backups',
    'operating/upgrading',
    'operating/sizing',
    'operating/scaling',
    'promises',
    'threat-model',
    'contributing',
  ],
}
type PageName = keyof typeof order

const pageOf: Record<string, PageName> = Object.fromEntries(
  Object.entries(order).flatMap(([page, names]) => names.map((name) => [name, page as PageName])),
)
const addresses = { http: './', operating: 'operating.html', realtime: 'realtime.html' }

interface Guide {
  name: string
  page: PageName
  text: string
}

/**
 * The guides as one text for Redoc, for each page. Links between the files (`sync.md#push`) and to the contracts
 * (`../openapi.yaml#operation/pullChanges`) become anchors of the pages; a broken link stops the build.
 */
export async function readGuides(folder: URL, contract: Contract): Promise<Record<PageName, string>> {
  const files = await Array.fromAsync(glob('**/*.md', { cwd: folder }))
  const unlisted = files.find((file) => !(file.slice(0, -3) in pageOf))
  if (unlisted) throw new Error(`docs/${unlisted} is not in the order of the guides`)
  const guides = await Promise.all(
    Object.entries(pageOf).map(async ([name, page]) => {
      const text = await readFile(new URL(`${name}.md`, folder), 'utf8')
      const withErrors = text
        .replace('<!-- the errors of openapi.yaml -->\n', errorRows(contract))
        .replace('<!-- the sign-in failures of openapi.yaml -->\n', loginFailureLines(contract))
      return { name, page, text: withErrors }
    }),
  )
  const targets = new Map([...guides.flatMap(headings), ...contracts(contract)])
  const textOf = (page: PageName) =>
    guides.filter((guide) => guide.page === page).map((guide) => withAnchors(guide, targets))
  return {
    http: [contract.info.description, ...textOf('http')].join('\n\n'),
    operating: textOf('operating').join('\n\n'),
  }
}

interface Target {
  page: keyof typeof addresses
  /** Redoc's. */
  anchor: string
}

function withAnchors({ name, page, text }: Guide, targets: Map<string, Target>): string {
  return text.replaceAll(/\]\(([^)\s]+)\)/g, (link, to: string) => {
    // In the built folder all files are side by side.
    if (to.startsWith('assets/')) return `](${to.slice('assets/'.length)})`
    if (/^https?:/.test(to)) return link
    const target = targets.get(fullPath(name, to))
    if (target === undefined) throw new Error(`docs/${name}.md has a link to ${to}, which is nowhere`)
    return `](${target.page === page ? '' : addresses[target.page]}${target.anchor})`
  })
}

function fullPath(name: string, to: string): string {
  // The contract's own texts, such as the remedies of its errors, link within it.
  if (to.startsWith('#operation/')) return `../openapi.yaml${to}`
  return to.startsWith('#') ? `${name}.md${to}` : join(dirname(name), to)
}

/** The possible targets of a link, by their paths from the folder of the guides. */
function headings({ name, page, text }: Guide): [string, Target][] {
  const prose = text.replaceAll(/^```.*?^```$/gms, '')
  const [, title = ''] = /^# (.+)$/m.exec(prose) ?? []
  const chapter = `#section/${slug(title)}`
  const sections = [...prose.matchAll(/^## (.+)$/gm)].map(([, section = '']): [string, Target] => [
    `${name}.md#${slug(section).toLowerCase()}`,
    { page, anchor: `${chapter}/${slug(section)}` },
  ])
  return [[`${name}.md`, { page, anchor: chapter }], ...sections]
}

function contracts(contract: Contract): [string, Target][] {
  const operations = operationsOf(contract).map(({ operationId }): [string, Target] => [
    `../openapi.yaml#operation/${operationId}`,
    { page: 'http', anchor: `#operation/${operationId}` },
  ])
  return [...operations, ['../asyncapi.yaml', { page: 'realtime', anchor: '' }]]
}

function slug(heading: string): string {
  return heading.replaceAll(/[^\w\s-]/g, '').replaceAll(' ', '-')
}
