import { createHash, generateKeyPairSync } from 'node:crypto'
import { copyFile, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const worker = fileURLToPath(new URL('worker.ts', import.meta.url))
const page = fileURLToPath(new URL('page.ts', import.meta.url))
const html = new URL('page.html', import.meta.url)

/** An extension's key, which decides its origin. */
export interface ExtensionKey {
  key: string
  origin: string
}

/** The id is the start of the key's SHA-256, in the letters a to p. */
export function makeExtensionKey(): ExtensionKey {
  const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const der = publicKey.export({ type: 'spki', format: 'der' })
  const digits = createHash('sha256').update(der).digest('hex').slice(0, 32)
  const id = [...digits].map((digit) => String.fromCharCode(97 + Number.parseInt(digit, 16))).join('')
  return { key: der.toString('base64'), origin: `chrome-extension://${id}` }
}

/** Writes the unpacked extension of a service, whose people sign in at `provider`, into the folder. */
export async function writeExtension(
  folder: string,
  { key }: ExtensionKey,
  { service, provider }: { service: string; provider: string },
): Promise<string> {
  await mkdir(folder)
  await build({
    entryPoints: [worker, page],
    outdir: folder,
    bundle: true,
    splitting: true,
    format: 'esm',
    target: 'es2022',
    define: { SERVICE: JSON.stringify(service) },
    logLevel: 'warning',
  })
  await copyFile(html, join(folder, 'page.html'))
  const manifest = {
    manifest_version: 3,
    name: 'Bookmarks in step',
    version: '1.0.0',
    key,
    background: { service_worker: 'worker.js', type: 'module' },
    permissions: ['cookies'],
    host_permissions: [`http://${new URL(service).hostname}/*`],
    // Signing in ends with a redirect to the page, which counts as the provider's.
    web_accessible_resources: [{ resources: ['page.html'], matches: [`${provider}/*`] }],
    content_security_policy: { extension_pages: "script-src 'self' 'wasm-unsafe-eval'; object-src 'self'" },
  }
  await writeFile(join(folder, 'manifest.json'), JSON.stringify(manifest))
  return folder
}
