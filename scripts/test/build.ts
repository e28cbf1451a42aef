import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { glob, readFile, rm, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Part } from '../package/parts.ts'

/** The sources of the parts that tests read. */
export const sources = [
  '{openapi,asyncapi}.yaml',
  '{CHANGELOG,README}.md',
  '{package,package-lock,tsconfig*}.json',
  'LICENSE',
  'generated/*',
  'docs/{**,.vitepress/**}/*.*',
  'src/{client,extension,protocol,web}/**/*.*',
  'scripts/{contract,docs,package}/**/*.ts',
  'workflows.arazzo.yaml',
  'test/vectors/*.json',
]

const withService = [...sources, 'src/service/**/*.*']

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
  await unlessBuilt('bundle', withService, async () => {
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

async function unlessBuilt(name: string, patterns: string[], build: () => Promise<void>): Promise<void> {
  const stamp = `dist/.tested-${name}`
  const hash = await hashSources(patterns)
  if ((await readFile(stamp, 'utf8').catch(() => '')) === hash) return
  await rm(stamp, { force: true })
  await build()
  await writeFile(stamp, hash)
}

async function hashSources(patterns: string[]): Promise<string> {
  const hash = createHash('sha256')
  for (const path of (await Array.fromAsync(glob(patterns))).sort()) hash.update(path).update(await readFile(path))
  return hash.digest('hex')
}
