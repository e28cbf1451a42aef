import { readdir, readFile } from 'node:fs/promises'
import { type Contract, operationsOf } from '../openapi.ts'
import { errorRows, loginFailureLines } from './errors.ts'

/** In reading order. */
const order = [
  'start',
  'client',
  'languages',
  'sync',
  'conflicts',
  'encryption',
  'sessions',
  'errors',
  'limits',
  'versioning',
]

interface Guide {
  name: string
  text: string
}

/**
 * The contract's introduction and the guides, as one text for Redoc. Links between the files (`sync.md#push`) become
 * anchors of the page; a broken link stops the build.
 */
export async function readGuides(folder: URL, contract: Contract): Promise<string> {
  const found = (await readdir(folder)).filter((name) => name.endsWith('.md')).map((name) => name.slice(0, -3))
  const unlisted = found.find((name) => !order.includes(name))
  if (unlisted) throw new Error(`docs/${unlisted}.md is not in the order of the guides`)
  const guides = await Promise.all(
    order.map(async (name) => {
      const text = await readFile(new URL(`${name}.md`, folder), 'utf8')
      const withErrors = text
        .replace('<!-- the errors of openapi.yaml -->\n', errorRows(contract))
        .replace('<!-- the sign-in failures of openapi.yaml -->\n', loginFailureLines(contract))
      return { name, text: withErrors }
    }),
  )
  const anchors = new Map(guides.flatMap(headings))
  for (const { operationId } of operationsOf(contract)) anchors.set(`#operation/${operationId}`, operationId)
  const texts = guides.map((guide) => withAnchors(guide, anchors))
  return [contract.info.description, ...texts].join('\n\n')
}

function withAnchors({ name, text }: Guide, anchors: Map<string, string>): string {
  return text.replaceAll(/\]\(([^)\s]+)\)/g, (link, to: string) => {
    // In the built folder all files are side by side.
    if (to.startsWith('assets/')) return `](${to.slice('assets/'.length)})`
    if (!/^(#|[\w-]+\.md)/.test(to)) return link
    const anchor = anchors.get(to)
    if (anchor === undefined) throw new Error(`docs/${name}.md has a link to ${to}, which is nowhere`)
    return to.startsWith('#') ? link : `](${anchor})`
  })
}

/** The possible targets of a link, each with Redoc's anchor for it. */
function headings({ name, text }: Guide): [string, string][] {
  const prose = text.replaceAll(/^```.*?^```$/gms, '')
  const [, title = ''] = /^# (.+)$/m.exec(prose) ?? []
  const chapter = `#section/${slug(title)}`
  const sections = [...prose.matchAll(/^## (.+)$/gm)].map(([, section = '']): [string, string] => [
    `${name}.md#${slug(section).toLowerCase()}`,
    `${chapter}/${slug(section)}`,
  ])
  return [[`${name}.md`, chapter], ...sections]
}

function slug(heading: string): string {
  return heading.replaceAll(/[^\w\s-]/g, '').replaceAll(' ', '-')
}
