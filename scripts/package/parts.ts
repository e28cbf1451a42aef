import { copyFile, rm } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import type { Report } from '../../src/terminal/progress.ts'
import { buildDocs } from '../contract/documents.ts'
import { buildClient } from './client.ts'
import { buildService } from './service.ts'

/** The service takes the web page and the documents as they are, so it comes last. */
const parts = { client: buildClient, web: buildWeb, docs: buildDocs, service: buildService }

export type Part = keyof typeof parts

export async function buildParts(named: Part[], report: Report): Promise<void> {
  const chosen = Object.entries(parts).filter(([name]) => named.includes(name as Part))
  for (const [index, [name, write]] of chosen.entries()) {
    report(`building dist/${name}`, index, chosen.length)
    await write()
  }
}

/** Bundles the demo app. Argon2id is a separate file, which is loaded when a passphrase is typed. */
async function buildWeb(): Promise<void> {
  const source = new URL('../../src/web/', import.meta.url)
  const folder = new URL('../../dist/web/', import.meta.url)
  await rm(folder, { recursive: true, force: true })
  await build({
    entryPoints: { app: fileURLToPath(new URL('main.ts', source)) },
    outdir: fileURLToPath(folder),
    bundle: true,
    splitting: true,
    format: 'esm',
    target: 'es2022',
    minify: true,
    sourcemap: true,
    logLevel: 'warning',
  })
  for (const name of ['index.html', 'app.css']) await copyFile(new URL(name, source), new URL(name, folder))
}
