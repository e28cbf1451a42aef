import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Part } from '../package/parts.ts'
import { unlessBuilt, unlessPartBuilt, withService } from '../package/unless-built.ts'

/** The service as it is installed, for tests that start it. They may build dist/service again meanwhile. */
export const bundleFolder = new URL('../../dist/tested-service/', import.meta.url)
/** Its files have other names when they change, so what Node keeps of them is removed with them. */
export const bundleCache = { NODE_COMPILE_CACHE: fileURLToPath(new URL('compile-cache/', bundleFolder)) }

/**
 * Builds the parts of dist/ that tests read, unless they were already built from the same sources. Each part has a lock of its
 * own: test processes that run side by side and need different sets of parts never remove each other's files.
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
    // A test process prints TAP there.
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const [status] = await once(building, 'close')
  if (status !== 0) throw new Error(`${part} could not be built`)
}
