import { createHash } from 'node:crypto'
import { copyFile, readFile, rm } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { type BuildOptions, build } from 'esbuild'

const source = new URL('../../src/web/', import.meta.url)
const folder = new URL('../../dist/web/', import.meta.url)

const options: BuildOptions = {
  outdir: fileURLToPath(folder),
  bundle: true,
  format: 'esm',
  target: 'es2022',
  minify: true,
  sourcemap: true,
  logLevel: 'warning',
}

/** Bundles the web app. What few need, such as Argon2id and most views, is in files that load when needed. */
export async function buildWeb(): Promise<void> {
  await rm(folder, { recursive: true, force: true })
  const { metafile } = await build({
    ...options,
    entryPoints: { app: pathOf('main.tsx'), style: pathOf('style.css') },
    splitting: true,
    metafile: true,
    jsx: 'automatic',
    jsxImportSource: 'preact',
    // The hooks of the client package are written for React.
    alias: { react: 'preact/compat' },
  })
  const files = Object.keys(metafile.outputs).filter((path) => !path.endsWith('.map'))
  await build({
    ...options,
    entryPoints: { 'service-worker': pathOf('offline/service-worker.ts') },
    define: {
      builtFiles: JSON.stringify(files.map((path) => path.slice(path.lastIndexOf('/') + 1))),
      buildHash: JSON.stringify(await hashOf(files)),
    },
  })
  await copyFile(new URL('index.html', source), new URL('index.html', folder))
}

function pathOf(name: string): string {
  return fileURLToPath(new URL(name, source))
}

async function hashOf(files: string[]): Promise<string> {
  const hash = createHash('sha256')
  for (const path of files) hash.update(await readFile(path))
  return hash.digest('hex').slice(0, 16)
}
