/**
 * Before `npm start`, builds the web page, the documents and the service, unless they were built from the same sources: the
 * bundle starts sooner than the sources, and holds less. After `npm ci --omit=dev` the tools are not installed: then an earlier
 * bundle goes, the service starts from its sources, and shows what was built before, if anything.
 */
import { rm } from 'node:fs/promises'

const dist = new URL('../dist/', import.meta.url)

if (hasTools()) {
  const { unlessBuilt, unlessPartBuilt, withService } = await import('./package/unless-built.ts')
  await unlessBuilt('start', withService, async () => {
    // Later starts need none of it.
    const [{ buildParts }, { buildService }, { withProgress }] = await Promise.all([
      import('./package/parts.ts'),
      import('./package/service.ts'),
      import('../src/service/terminal/progress.ts'),
    ])
    await withProgress(async ({ report }) => {
      // The bundle has copies of both.
      for (const part of ['web', 'docs'] as const) await unlessPartBuilt(part, () => buildParts([part], report))
      await buildService(new URL('start/', dist))
    })
  })
} else {
  console.log('Nothing is built, because the development dependencies are not installed.')
  for (const old of ['start/', '.built-start']) await rm(new URL(old, dist), { recursive: true, force: true })
}

function hasTools(): boolean {
  try {
    import.meta.resolve('esbuild')
    return true
  } catch {
    return false
  }
}
