/**
 * Before `npm start`, builds the web page and the service, unless these sources have been built already. A built
 * service starts faster and needs less memory. The documents take ten times as long, so a background process builds
 * them. After `npm ci --omit=dev` there are no build tools: then it removes old builds, and the sources are started.
 */
import { spawn } from 'node:child_process'
import { mkdir, rm } from 'node:fs/promises'

const dist = new URL('../dist/', import.meta.url)

if (hasTools()) {
  const { isBuilt, sources, unlessBuilt, unlessPartBuilt, withService } = await import('./package/unless-built.ts')
  await unlessBuilt('start', withService, async () => {
    // Imported here, because most starts build nothing.
    const [{ buildParts }, { buildService }, { withProgress }] = await Promise.all([
      import('./package/parts.ts'),
      import('./package/service.ts'),
      import('../src/service/terminal/progress.ts'),
    ])
    await withProgress(async ({ report }) => {
      await unlessPartBuilt('web', () => buildParts(['web'], report))
      await buildService(new URL('start/', dist), ['web/'])
    })
  })
  if (!isBuilt('start-docs', sources, 'dist/start/docs')) {
    await mkdir(new URL('start/docs.part/', dist), { recursive: true })
    spawn(process.execPath, ['scripts/start-docs.ts'], { stdio: 'ignore' }).unref()
  }
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
