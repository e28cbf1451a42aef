/**
 * `npm run build`: writes dist/ from generated/ and src/. Arguments name the parts to build instead of all:
 *
 *   client   dist/client, the package that frontend teams install
 *   web      dist/web, the demo app
 *   docs     dist/docs, the documentation, for `/docs` and any static host
 *   service  dist/service, the service as production runs it, with dist/web and dist/docs as they are
 */
import { copyFile, rm } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { buildDocs } from '../contract/documents.ts'
import { buildClient } from './client.ts'
import { buildService } from './service.ts'

const parts = { client: buildClient, web: buildWeb, docs: buildDocs, service: buildService }

const named = process.argv.slice(2)
const unknown = named.find((name) => !(name in parts))
if (unknown) throw new Error(`${unknown} is none of: ${Object.keys(parts).join(', ')}`)
for (const [name, write] of Object.entries(parts)) if (named.length === 0 || named.includes(name)) await write()

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
