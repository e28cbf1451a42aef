/**
 * Before `npm start`, builds the web page, the documents and the service, unless they were built from the same sources, and
 * writes dist/start.mjs. After `npm ci --omit=dev` the tools are not installed: then the service starts from its sources, and
 * shows what was built before, if anything.
 */
import { mkdir, writeFile } from 'node:fs/promises'

const dist = new URL('../dist/', import.meta.url)
const fromSources = "await import('../src/service/main.ts')\n"
/** It starts sooner and holds less. What Node keeps of the files is removed with them. */
const fromBundle = `import { enableCompileCache } from 'node:module'
enableCompileCache(\`\${import.meta.dirname}/start/compile-cache\`)
await import('./start/main.mjs')
`

if (hasTools()) {
  const [{ buildParts }, { buildService }, { unlessBuilt, sources, withService }, { withProgress }] = await Promise.all(
    [
      import('./package/parts.ts'),
      import('./package/service.ts'),
      import('./package/unless-built.ts'),
      import('../src/service/terminal/progress.ts'),
    ],
  )
  await withProgress(async ({ report }) => {
    await unlessBuilt('web-docs', sources, () => buildParts(['web', 'docs'], report))
    await unlessBuilt('start', withService, () => buildService(new URL('start/', dist)))
  })
} else console.log('Nothing is built, because the development dependencies are not installed.')
await mkdir(dist, { recursive: true })
await writeFile(new URL('start.mjs', dist), hasTools() ? fromBundle : fromSources)

function hasTools(): boolean {
  try {
    import.meta.resolve('esbuild')
    return true
  } catch {
    return false
  }
}
