import { copyFile, rm } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const root = new URL('../../', import.meta.url)
const folder = new URL('dist/web/', root)

/** Bundles the demo app; Argon2id is a file of its own, loaded when a passphrase is typed. */
export async function buildWeb(): Promise<void> {
  await rm(folder, { recursive: true, force: true })
  await build({
    entryPoints: { app: fileURLToPath(new URL('src/web/main.ts', root)) },
    outdir: fileURLToPath(folder),
    bundle: true,
    splitting: true,
    format: 'esm',
    target: 'es2022',
    minify: true,
    sourcemap: true,
    logLevel: 'warning',
  })
  for (const name of ['index.html', 'app.css']) await copyFile(new URL(`src/web/${name}`, root), new URL(name, folder))
}
