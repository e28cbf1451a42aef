import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Part } from '../package/parts.ts'
import { unlessBuilt, unlessPartBuilt, withService } from '../package/unless-built.ts'

/** The built service that tests start. It is not dist/service, because a developer may rebuild that meanwhile. */
export const bundleFolder = new URL('../../dist/tested-service/', import.meta.url)
export const bundleMain = fileURLToPath(new URL('main.mjs', bundleFolder))
/** Node's compile cache is inside this folder, so that a new build removes it, too. */
export const bundleCache = { NODE_COMPILE_CACHE: fileURLToPath(new URL('compile-cache/', bundleFolder)) }

/**
 * Builds the parts of dist/ that tests read, unless the sources are unchanged. Each part has its own lock, so that
 * parallel test processes never remove each other's files.
 */
export async function buildForTests(...parts: Part[]): Promise<void> {
  for (const part of parts) await unlessPartBuilt(part, () => buildPart(part))
}

export async function bundleForTests(): Promise<void> {
  await unlessBuilt('tested-service', withService, async () => {
    const { buildService } = await import('../package/service.ts')
    await buildService(bundleFolder)
  })
}

async function buildPart(part: Part): Promise<void> {
  const building = spawn(process.execPath, ['scripts/build.ts', part], {
    // The test process prints TAP on stdout.
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const [status] = await once(building, 'close')
  if (status !== 0) throw new Error(`${part} could not be built`)
}
