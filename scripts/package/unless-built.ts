import { createHash } from 'node:crypto'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { glob, mkdir, rm, writeFile } from 'node:fs/promises'
import { lockFile } from '../servers/lock.ts'

/** The sources of all parts of dist/ except the service. */
export const sources = [
  '{openapi,asyncapi}.yaml',
  '{CHANGELOG,README}.md',
  '{package,package-lock,tsconfig*}.json',
  'LICENSE',
  'generated/*',
  'docs/{**,.vitepress/**}/*.*',
  'src/{client,extension,protocol,web}/**/*.*',
  'examples/extension/**/*.*',
  'scripts/{contract,docs}/**/*.ts',
  'scripts/package/**/*.*',
  'workflows.arazzo.yaml',
  'test/vectors/*.json',
]

/** The sources of the service, which contains the other parts. */
export const withService = [
  ...sources,
  'deploy/{caddy,nginx,prometheus,grafana}/*',
  'scripts/require-node.mjs',
  'src/service/**/*.*',
]

function stampOf(name: string): string {
  return `dist/.built-${name}`
}

export function isBuilt(name: string, patterns: string[], outcome: string, hash = hashSources(patterns)): boolean {
  const stamp = stampOf(name)
  return existsSync(outcome) && existsSync(stamp) && readFileSync(stamp, 'utf8') === hash
}

/** Runs `build`, unless it was run under this name for the same sources and `outcome` still exists. */
export async function unlessBuilt(
  name: string,
  patterns: string[],
  build: () => Promise<void>,
  outcome = 'dist',
): Promise<void> {
  const stamp = stampOf(name)
  // Writes nothing if everything is built, because the checkout may be read-only.
  if (isBuilt(name, patterns, outcome)) return
  await mkdir('dist', { recursive: true })
  // Two builds at once would remove each other's files.
  using _ = await lockFile(`dist/.building-${name}`)
  const hash = hashSources(patterns)
  if (isBuilt(name, patterns, outcome, hash)) return
  await rm(stamp, { force: true })
  await build()
  await writeFile(stamp, hash)
}

/** Like `unlessBuilt`, for a part of dist/. */
export async function unlessPartBuilt(part: string, build: () => Promise<void>): Promise<void> {
  await unlessBuilt(`part-${part}`, part === 'service' ? withService : sources, build, `dist/${part}`)
}

/** Makes the next build build everything. Called before a build with other options, whose results must not be kept. */
export async function forgetBuilt(): Promise<void> {
  for await (const stamp of glob('dist/.built-*')) await rm(stamp)
}

/** Reads synchronously, which takes a third of the time. Each start waits for this. */
function hashSources(patterns: string[]): string {
  const hash = createHash('sha256')
  for (const path of globSync(patterns).sort()) hash.update(path).update(readFileSync(path))
  return hash.digest('hex')
}
