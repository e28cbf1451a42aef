import { createHash } from 'node:crypto'
import { copyFile, readFile, rm, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { type BuildOptions, build, type Metafile } from 'esbuild'
import { languages } from '../../src/web/words/language.ts'
import { modulesOf, thirdPartyFile, thirdPartyText } from './licences.ts'

const source = new URL('../../src/web/', import.meta.url)
const folder = new URL('../../dist/web/', import.meta.url)

const options = {
  outdir: fileURLToPath(folder),
  bundle: true,
  format: 'esm',
  target: 'es2022',
  minify: true,
  sourcemap: true,
  metafile: true,
  logLevel: 'warning',
} satisfies BuildOptions

/** Bundles the web page. Rarely used code, such as Argon2id and most views, is loaded on demand. */
export async function buildWeb(): Promise<void> {
  await rm(folder, { recursive: true, force: true })
  const { metafile } = await build({
    ...options,
    entryPoints: { app: pathOf('main.tsx'), style: pathOf('style.css') },
    splitting: true,
    jsx: 'automatic',
    jsxImportSource: 'preact',
    // The page rates passphrases in `strength.js`, and never loads the client package's code for that.
    external: ['@zxcvbn-ts/*'],
    // The hooks of the client package import React.
    alias: { react: 'preact/compat' },
  })
  // A separate build: code that it shares with the page would be split into more files.
  const reading = await build({ ...options, entryPoints: { reading: pathOf('settings/reading-worker.ts') } })
  const outputs = [...Object.keys(metafile.outputs), ...Object.keys(reading.metafile.outputs)]
  const files = outputs.filter((path) => !path.endsWith('.map'))
  const page = await readFile(new URL('index.html', source), 'utf8')
  const filled = page
    .replace('</head>', `${preloads(metafile)}</head>`)
    .replace(/(?<=<div id="page">\n).*(?=\n<\/div>)/, await firstWords())
  const contents = files.map(async (path) => [`/demo/${nameOf(path)}`, hashOf(await readFile(path))])
  const builtFiles = JSON.stringify([['/', hashOf(filled)], ...(await Promise.all(contents))])
  const serviceWorker = await build({
    ...options,
    entryPoints: { 'service-worker': pathOf('offline/service-worker.ts') },
    define: { builtFiles, buildHash: JSON.stringify(hashOf(builtFiles)) },
  })
  // A separate build after the list of files to keep for offline: this one is large, and not kept.
  const strength = await build({
    ...options,
    entryPoints: { strength: pathOf('vault/strength-worker.ts') },
    sourcemap: false,
  })
  const modules = modulesOf(metafile, reading.metafile, serviceWorker.metafile, strength.metafile)
  await writeFile(new URL(thirdPartyFile, folder), thirdPartyText(modules))
  await copyFile(new URL('app.webmanifest', source), new URL('app.webmanifest', folder))
  const icon = await readFile(new URL('../../docs/assets/icon.svg', import.meta.url), 'utf8')
  await writeFile(new URL('icon.svg', folder), icon)
  // Systems crop this icon to a shape, so it needs no round corners.
  await writeFile(new URL('icon-maskable.svg', folder), icon.replace(' rx="7"', ''))
  await writeFile(new URL('index.html', folder), filled)
}

function pathOf(name: string): string {
  return fileURLToPath(new URL(name, source))
}

/** Preload links for the files that the page starts with, so that the browser loads them in parallel. */
function preloads({ outputs }: Metafile): string {
  const entry = Object.keys(outputs).find((path) => path.endsWith('/app.js')) as string
  const loaded = new Set([entry])
  for (const path of loaded) {
    for (const { kind, path: next } of outputs[path]?.imports ?? []) if (kind === 'import-statement') loaded.add(next)
  }
  return [...loaded].map((path) => `<link rel="modulepreload" href="/demo/${nameOf(path)}">\n`).join('')
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

/** Texts that are shown before the first script knows the language, so each language has them. */
async function firstWords(): Promise<string> {
  const lines: string[] = []
  for (const language of languages) {
    const file = new URL(`words/${language}.ts`, source).href
    const { [language]: words } = (await import(file)) as Record<string, { ui: Record<string, string> }>
    const { needsScript, loading, loadsLong = '' } = words?.ui ?? {}
    lines.push(
      `<noscript><p lang="${language}">${needsScript}</p></noscript>`,
      `<p role="status" lang="${language}">${loading}</p>`,
      `<p class="overdue" lang="${language}">${loadsLong.replace('<a>', '<a href="/">')}</p>`,
    )
  }
  return lines.join('\n')
}

function hashOf(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('base64')
}
