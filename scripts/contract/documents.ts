import { copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import openapi from '../../generated/openapi.json' with { type: 'json' }
import { readHistory, writeChangelog } from './documents/changelog.ts'
import { withBodyErrors } from './documents/errors.ts'
import { readGuides } from './documents/guides.ts'
import { changelogPage, referencePage } from './documents/pages.ts'
import { realtimeReference } from './documents/realtime.ts'
import { withSamples } from './documents/samples.ts'
import type { Contract } from './openapi.ts'

const root = new URL('../../', import.meta.url)
const folder = new URL('dist/docs/', root)
const assets = new URL('docs/assets/', root)

/** Writes the documentation as a flat folder of static files that work under any path and on any host. */
export async function buildDocs(): Promise<void> {
  const contract = openapi as unknown as Contract
  const guides = await readGuides(new URL('docs/', root), contract)
  const http = { ...withBodyErrors(withSamples(contract)), info: { ...contract.info, description: guides.http } }
  const files = {
    'index.html': referencePage('HTTP', 'openapi'),
    'openapi.json': JSON.stringify(http),
    'realtime.html': referencePage('Realtime', 'asyncapi'),
    'asyncapi.json': JSON.stringify(realtimeReference()),
    'operating.html': referencePage('Operating', 'operating'),
    'operating.json': JSON.stringify(operatingGuides(contract, guides.operating)),
    'changelog.html': changelogPage(writeChangelog(await readHistory(root))),
    'redoc.standalone.js': await readRedoc(),
  }
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  for (const [name, content] of Object.entries(files)) await writeFile(new URL(name, folder), content)
  for (const name of await readdir(assets)) await copyFile(new URL(name, assets), new URL(name, folder))
  for (const name of ['openapi.yaml', 'asyncapi.yaml']) await copyFile(new URL(name, root), new URL(name, folder))
}

/** A contract without operations, so that Redoc shows the guides alone. */
function operatingGuides({ openapi, info }: Contract, description: string): object {
  return { openapi, info: { title: 'Operating', version: info.version, description }, paths: {} }
}

/** Redoc loads a logo from another host, which the page's policy blocks: an empty image replaces it. */
async function readRedoc(): Promise<string> {
  const bundle = await readFile(createRequire(import.meta.url).resolve('redoc/bundles/redoc.standalone.js'), 'utf8')
  const empty = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg'/%3E"
  return bundle.replaceAll('https://cdn.redoc.ly/redoc/logo-mini.svg', empty)
}
