import { createHash } from 'node:crypto'
import { glob, mkdir, readFile, rm, writeFile } from 'node:fs/promises'

/** All that the parts of dist/ are built from, but for the service. */
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

export const withService = [...sources, 'src/service/**/*.*']

/** Runs `build`, which writes into dist/, unless it was run under this name for the same sources. */
export async function unlessBuilt(name: string, patterns: string[], build: () => Promise<void>): Promise<void> {
  const stamp = `dist/.built-${name}`
  const hash = await hashSources(patterns)
  if ((await readFile(stamp, 'utf8').catch(() => '')) === hash) return
  await rm(stamp, { force: true })
  await build()
  await mkdir('dist', { recursive: true })
  await writeFile(stamp, hash)
}

/** For whoever builds parts of dist/ in another way. */
export async function forgetBuilt(): Promise<void> {
  for await (const stamp of glob('dist/.built-*')) await rm(stamp)
}

async function hashSources(patterns: string[]): Promise<string> {
  const hash = createHash('sha256')
  for (const path of (await Array.fromAsync(glob(patterns))).sort()) hash.update(path).update(await readFile(path))
  return hash.digest('hex')
}
