import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { glob, readFile, rm, writeFile } from 'node:fs/promises'
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
]

/** Builds the parts of dist/ that tests read, unless they were already built from the same sources. */
export async function buildForTests(...parts: Part[]): Promise<void> {
  const stamp = `dist/.tested-${parts.join('-')}`
  const hash = await hashSources(parts.includes('service') ? [...sources, 'src/service/**/*.*'] : sources)
  if ((await readFile(stamp, 'utf8').catch(() => '')) === hash) return
  await rm(stamp, { force: true })
  const building = spawn(process.execPath, ['scripts/build.ts', ...parts], {
    // A test process prints TAP there.
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const [status] = await once(building, 'close')
  if (status !== 0) throw new Error(`${parts.join(' and ')} could not be built`)
  await writeFile(stamp, hash)
}

async function hashSources(patterns: string[]): Promise<string> {
  const hash = createHash('sha256')
  for (const path of (await Array.fromAsync(glob(patterns))).sort()) hash.update(path).update(await readFile(path))
  return hash.digest('hex')
}
