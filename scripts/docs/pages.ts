import { copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import openapi from '../../generated/openapi.json' with { type: 'json' }
import { type Contract, type Cost, type Operation, operationsOf, resolve } from '../contract/openapi.ts'
import type { Prebuilt } from '../package/licences.ts'
import { apiPage, readApi } from './api.ts'
import { languageOf, linksBetween, plainFiles, readGuides, withLinks } from './guides.ts'
import { realtimePage } from './realtime.ts'
import { samplesOf, withSamples } from './samples.ts'

const root = new URL('../../', import.meta.url)
const contract = openapi as unknown as Contract
/** The folder for the Markdown pages from which VitePress makes the site. */
const folder = new URL('dist/docs-pages/', root)

const redocFolder = dirname(createRequire(import.meta.url).resolve('redoc/bundles/redoc.standalone.js'))

interface Link {
  text: string
  link: string
}

type Sidebar = { text: string; items: Link[] }[]

interface Site {
  /** The folder of the pages. */
  source: string
  sidebar: Sidebar
  /** The sidebar of the pages in German. */
  german: Sidebar
  /** Links to the descriptions of the client package's exports, by name. */
  names: Map<string, string>
  /** The operations as Markdown, for the search index. */
  operations: string
  /** The modules in bundles that the site serves ready-made, for the list of licences. */
  prebuilt: Prebuilt[]
}

/** Writes the pages of the documents from files of the repository and the contracts. */
export async function writePages(): Promise<Site> {
  const guides = await readGuides(root, contract)
  const entries = readApi()
  const resolveIn = linksBetween(guides, contract, entries)
  const guidesToHttp = guides.filter(({ path }) =>
    /^docs\/(start|sync|sessions|errors|limits|versioning)\.md$/.test(path),
  )
  const description = `${contract.info.description}\n**Guides.** ${guidesToHttp.map(({ title, page }) => `[${title}](${page})`).join(', ')}.`
  const http = { ...withSentences(withBodyErrors(withSamples(contract))), info: { ...contract.info, description } }
  const connect = operationsOf(contract).find(({ operationId }) => operationId === 'openRealtime')
  if (!connect) throw new Error('The contract has no openRealtime')
  const changelog = await readFile(new URL('CHANGELOG.md', root), 'utf8')
  const files = {
    ...Object.fromEntries(guides.map(({ path, page, text }) => [page, withLinks(text, resolveIn(path))])),
    ...Object.fromEntries(entries.map((entry) => [entry.page, apiPage(entry)])),
    'realtime.html': withLinks(realtimePage(samplesOf(contract, connect).typescript), resolveIn('asyncapi.yaml')),
    'changelog.html': withLinks(changelog, resolveIn('CHANGELOG.md')),
    'http.html': '---\nlayout: page\ntitle: HTTP\nsidebar: false\n---\n\n<HttpReference />\n',
    'public/openapi.json': JSON.stringify(http),
    'public/redoc.standalone.js': await readRedoc(),
    // The bundle refers to this file.
    'public/redoc.standalone.js.LICENSE.txt': await readFile(
      join(redocFolder, 'redoc.standalone.js.LICENSE.txt'),
      'utf8',
    ),
  }
  await rm(folder, { recursive: true, force: true })
  await mkdir(new URL('public/vectors/', folder), { recursive: true })
  await mkdir(new URL('de/', folder), { recursive: true })
  for (const [name, content] of Object.entries(files))
    await writeFile(new URL(name.replace('.html', '.md'), folder), content)
  const assets = (await readdir(new URL('docs/assets/', root))).map((name) => [`docs/assets/${name}`, name] as const)
  for (const [path, name] of [...plainFiles, ...assets])
    await copyFile(new URL(path, root), new URL(`public/${name}`, folder))
  const linkOf = ({ page, title }: { page: string; title: string }) => ({ text: title, link: `/${page}` })
  const sidebarIn = (language: string) => {
    const groups = Map.groupBy(
      guides.filter(({ group, path }) => group !== '' && languageOf(path) === language),
      ({ group }) => group,
    )
    return [...groups].map(([text, members]) => ({ text, items: members.map(linkOf) }))
  }
  const sidebar = sidebarIn('en')
  // The reference comes after the guides for the client package.
  const reference = entries.map(({ name, page }) => linkOf({ page, title: name || 'The main entry' }))
  sidebar.splice(2, 0, { text: 'The client package by name', items: reference })
  const names = new Map(
    entries.flatMap(({ page, symbols }) => symbols.map(({ name }): [string, string] => [name, `${page}#${name}`])),
  )
  return {
    source: fileURLToPath(folder),
    sidebar,
    german: sidebarIn('de'),
    names,
    operations: operationsText(),
    prebuilt: [await readRedocModules()],
  }
}

/** The operations as Markdown for the search index, which cannot read Redoc's page. */
function operationsText(): string {
  const sections = operationsOf(contract).map(
    ({ operationId, summary = '', method, path, description = '' }) =>
      `## ${operationId}: ${summary} {#operation/${operationId}}\n\n${method.toUpperCase()} ${path} ${description}\n`,
  )
  return `# HTTP\n\n${sections.join('\n')}`
}

/** Adds the error for a malformed body, which `x-invalid` names, to the examples of each operation's 400. */
function withBodyErrors(contract: Contract): Contract {
  const copy = structuredClone(contract)
  for (const { path, method, 'x-invalid': code } of operationsOf(copy)) {
    const { responses = {} } = copy.paths?.[path]?.[method] ?? {}
    const response = responses['400'] && structuredClone(resolve(copy, responses['400']))
    const media = response?.content?.['application/json']
    if (!code || !response || !media) continue
    media.examples = { [code]: { $ref: `#/components/examples/${code}` }, ...media.examples }
    responses['400'] = response
  }
  return copy
}

/** Adds sentences about `x-recent-sign-in` and `x-cost` to each operation's description. */
function withSentences(contract: Contract): Contract {
  const copy = structuredClone(contract)
  for (const { path, method, description = '', 'x-cost': cost, 'x-recent-sign-in': signIn } of operationsOf(copy)) {
    const sentences = [description, ...(signIn ? [recentSignInText(signIn)] : []), costText(cost)]
    Object.assign(copy.paths?.[path]?.[method] ?? {}, { description: sentences.join('\n\n') })
  }
  return copy
}

const recentSignInNeeds = {
  always: 'Needs a recent sign-in.',
  sometimes: 'Sometimes needs a recent sign-in.',
  never: 'Needs no recent sign-in.',
}

function recentSignInText({ required, because }: NonNullable<Operation['x-recent-sign-in']>): string {
  return `${recentSignInNeeds[required]} ${because}`
}

function costText({ request, per, every, unless, more }: Cost = { request: 0 }): string {
  if (request === 0) return 'Does not count against a [rate](limits.html).'
  const ofList = per === undefined ? '' : `, and one more for each full ${every} of \`${per}\``
  const ofField = unless === undefined ? '' : `, and as ${more} more without \`${unless}\``
  return `Counts as ${request === 1 ? 'one request' : `${request} requests`}${ofList}${ofField} ([rates](limits.html)).`
}

/** Lists the modules in Redoc's bundle and its worker, from their source maps. */
async function readRedocModules(): Promise<Prebuilt> {
  const maps = (await readdir(redocFolder)).filter((name) => /(standalone|worker)\.js\.map$/.test(name))
  const modules = maps.map(async (name) => {
    const { sources } = JSON.parse(await readFile(join(redocFolder, name), 'utf8')) as { sources: string[] }
    return sources.map((source) => source.replace('webpack://Redoc/', ''))
  })
  return { package: 'redoc', modules: (await Promise.all(modules)).flat() }
}

/** Redoc's bundle, without a logo from another host, which the CSP blocks, and with more contrast on dark pages. */
async function readRedoc(): Promise<string> {
  const bundle = await readFile(join(redocFolder, 'redoc.standalone.js'), 'utf8')
  const empty = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg'/%3E"
  return bundle.replaceAll('https://cdn.redoc.ly/redoc/logo-mini.svg', empty).replaceAll('#0e7c86', 'currentColor')
}
