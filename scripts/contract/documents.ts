import { copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import openapi from '../../generated/openapi.json' with { type: 'json' }
import { type ApiEntry, readApi } from './documents/api.ts'
import { apiPage } from './documents/api-page.ts'
import { withBodyErrors } from './documents/errors.ts'
import { type Guide, linksBetween, type Resolve, readGuides } from './documents/guides.ts'
import { htmlOf, summaryOf } from './documents/markdown.ts'
import { type Entry, guideCards, referencePage, type TextPage, textPage } from './documents/pages.ts'
import { realtimePage } from './documents/realtime.ts'
import { withSamples } from './documents/samples.ts'
import { type Place, placesOf } from './documents/search.ts'
import { type Contract, operationsOf } from './openapi.ts'

const root = new URL('../../', import.meta.url)
const folder = new URL('dist/docs/', root)
const assets = new URL('docs/assets/', root)
const contract = openapi as unknown as Contract

const guidesToHttp =
  '**Guides.** [Start in five calls](start.html), [How sync works](sync.html), [Sessions, cookies and CORS](sessions.html), ' +
  '[Errors](errors.html), [Limits](limits.html), [Versioning](versioning.html).'

/** Static hosts know it by this name. */
const missingPage: TextPage = {
  page: '404.html',
  title: 'No such page',
  tab: 'Guides',
  html:
    '<h1>There is no such page</h1>\n<p>It may have another name now. Search for it, take one of the list, or ' +
    'begin with <a href="index.html">the first page</a>.</p>\n',
}

/** Writes the documentation as a flat folder of static files that work under any path and on any host. */
export async function buildDocs(): Promise<void> {
  const guides = await readGuides(root, contract)
  const api = readApi()
  const resolveIn = linksBetween(guides, contract, api)
  const entries = entriesOf(guides, api)
  const pages: TextPage[] = [
    ...guides.map((guide) => ({
      ...guide,
      tab: tabOf(guide),
      html: withMarks(htmlOf(guide.text, resolveIn(guide.path)), guides),
    })),
    ...api.map((entry) => ({
      page: entry.page,
      title: entry.specifier,
      tab: 'Client' as const,
      html: apiPage(entry, api),
    })),
    { page: 'realtime.html', title: 'Realtime', tab: 'Realtime', html: realtimePage(resolveIn('asyncapi.yaml')) },
    { page: 'changelog.html', title: 'Changelog', tab: 'Changelog', html: await changelog(resolveIn('CHANGELOG.md')) },
  ]
  const info = { ...contract.info, description: `${contract.info.description}\n${guidesToHttp}` }
  const http = { ...withBodyErrors(withSamples(contract)), info }
  const places = [...pages.flatMap(({ page, title, html }) => placesOf(page, title, html)), ...operationPlaces()]
  const files = {
    ...Object.fromEntries(pages.map((page) => [page.page, textPage(page, entries)])),
    '404.html': textPage(missingPage, entries),
    'http.html': referencePage(),
    'openapi.json': JSON.stringify(http),
    'search.json': JSON.stringify(places),
    'redoc.standalone.js': await readRedoc(),
  }
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  for (const [name, content] of Object.entries(files)) await writeFile(new URL(name, folder), content)
  for (const name of await readdir(assets)) await copyFile(new URL(name, assets), new URL(name, folder))
  for (const name of ['openapi.yaml', 'asyncapi.yaml']) await copyFile(new URL(name, root), new URL(name, folder))
  await bundleScripts()
}

function tabOf({ group }: Guide): TextPage['tab'] {
  return group === 'The client package' ? 'Client' : 'Guides'
}

/** The reference of the client package comes after the guides to it. */
function entriesOf(guides: Guide[], api: ApiEntry[]): Entry[] {
  const entries = guides.filter(({ group }) => group !== '')
  const before = entries.findLastIndex((guide) => tabOf(guide) === 'Client') + 1
  const names = api.map(({ name, page }) => ({
    page,
    title: name || 'The main entry',
    group: 'The client package by name',
  }))
  return [...entries.slice(0, before), ...names, ...entries.slice(before)]
}

function withMarks(html: string, guides: Guide[]): string {
  const cards = guides
    .filter(({ group }) => group !== '')
    .map((guide) => ({ ...guide, summary: summaryOf(guide.text) }))
  return html.replace('<!-- all guides -->', `<div class="cards">\n${guideCards(cards)}</div>`)
}

async function changelog(resolve: Resolve): Promise<string> {
  return htmlOf(await readFile(new URL('CHANGELOG.md', root), 'utf8'), resolve)
}

function operationPlaces(): Place[] {
  return operationsOf(contract).map(({ operationId, method, path, summary = '', description = '' }) => ({
    page: `http.html#operation/${operationId}`,
    title: 'HTTP',
    heading: `${operationId}: ${summary}`,
    text: `${method.toUpperCase()} ${path} ${description.replaceAll('`', '')}`,
  }))
}

/** What the pages run. The search is a file of its own, which loads when it is opened. */
async function bundleScripts(): Promise<void> {
  await build({
    entryPoints: ['page', 'search', 'reference'].map((name) =>
      fileURLToPath(new URL(`documents/browser/${name}.ts`, import.meta.url)),
    ),
    outdir: fileURLToPath(folder),
    bundle: true,
    splitting: true,
    format: 'esm',
    target: 'es2022',
    minify: true,
    logLevel: 'warning',
  })
}

/** Redoc loads a logo from another host, which the page's policy blocks, and has a colour too faint on a dark page. */
async function readRedoc(): Promise<string> {
  const bundle = await readFile(createRequire(import.meta.url).resolve('redoc/bundles/redoc.standalone.js'), 'utf8')
  const empty = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg'/%3E"
  return bundle.replaceAll('https://cdn.redoc.ly/redoc/logo-mini.svg', empty).replaceAll('#0e7c86', 'currentColor')
}
