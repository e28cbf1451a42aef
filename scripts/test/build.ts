import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { glob, readFile, rm, writeFile } from 'node:fs/promises'

/** The sources of dist/web and dist/docs. */
const sources = [
  '{openapi,asyncapi}.yaml',
  '{CHANGELOG,README}.md',
  'package-lock.json',
  'generated/*',
  'docs/**/*.*',
  'src/{client,protocol,web}/**/*.*',
  'scripts/{contract,package}/**/*.ts',
]
const stamp = 'dist/.tested'

/** Builds the parts of dist/ that the tests read, unless they were already built from the same sources. */
export async function buildForTests(): Promise<void> {
  const hash = await hashSources()
  if ((await readFile(stamp, 'utf8').catch(() => '')) === hash) return
  await rm(stamp, { force: true })
  const building = spawn(process.execPath, ['scripts/package/build.ts', 'web', 'docs'], { stdio: 'inherit' })
  const [status] = await once(building, 'close')
  if (status !== 0) throw new Error('dist/web and dist/docs could not be built')
  await writeFile(stamp, hash)
}

async function hashSources(): Promise<string> {
  const hash = createHash('sha256')
  for (const path of (await Array.fromAsync(glob(sources))).sort()) hash.update(path).update(await readFile(path))
  return hash.digest('hex')
}
