import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Part } from '../package/parts.ts'
import { sources, unlessBuilt, withService } from '../package/unless-built.ts'

/** The service as it is installed, for tests that start it. They may build dist/service anew meanwhile. */
export const bundleFolder = new URL('../../dist/tested-service/', import.meta.url)
/** Its files have other names when they change, so what Node keeps of them is removed with them. */
export const bundleCache = { NODE_COMPILE_CACHE: fileURLToPath(new URL('compile-cache/', bundleFolder)) }

/** Builds the parts of dist/ that tests read, unless they were already built from the same sources. */
export async function buildForTests(...parts: Part[]): Promise<void> {
  const read = parts.includes('service') ? withService : sources
  await unlessBuilt(parts.join('-'), read, () => buildParts(parts))
}

export async function bundleForTests(): Promise<void> {
  await unlessBuilt('tested-service', withService, async () => {
    const { buildService } = await import('../package/service.ts')
    await buildService(bundleFolder)
  })
}

async function buildParts(parts: Part[]): Promise<void> {
  const building = spawn(process.execPath, ['scripts/build.ts', ...parts], {
    // A test process prints TAP there.
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const [status] = await once(building, 'close')
  if (status !== 0) throw new Error(`${parts.join(' and ')} could not be built`)
}
