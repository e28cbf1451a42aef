import type { Report } from '../../src/service/terminal/progress.ts'
import { buildDocs } from '../docs/docs.ts'
import { buildClient } from './client.ts'
import { buildExtension } from './extension.ts'
import { buildService } from './service.ts'
import { sources, unlessBuilt } from './unless-built.ts'
import { buildWeb } from './web.ts'

/** In the order of building. The service comes last, because it contains the page and the documents. */
const parts = {
  client: buildClient,
  web: buildWeb,
  docs: buildUsualDocs,
  extension: buildExtension,
  service: buildService,
}

export type Part = keyof typeof parts

export async function buildParts(named: Part[], report: Report, docsBase = '/docs/'): Promise<void> {
  const chosen = Object.entries(parts).filter(([name]) => named.includes(name as Part))
  for (const [index, [name, write]] of chosen.entries()) {
    report(`building dist/${name}`, index, chosen.length)
    await (name === 'docs' && docsBase !== '/docs/' ? buildDocs(docsBase) : write())
  }
}

/** Builds the documents only if their sources have changed, because they take longest. */
async function buildUsualDocs(): Promise<void> {
  await unlessBuilt('docs', sources, () => buildDocs(), 'dist/docs/index.html')
}
