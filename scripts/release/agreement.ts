import { execFileSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { UsageError } from '../../src/service/terminal/command.ts'
import { nodeVersion } from './node.ts'

const root = new URL('../../', import.meta.url)

/** The files that contain the version, each with the pattern that finds it. */
const places: Record<string, RegExp> = {
  'package.json': /^ {2}"version": "(.*)"/m,
  'package-lock.json': /^ {2}"version": "(.*)"/m,
  'openapi.yaml': /^ {2}version: (.*)$/m,
  'asyncapi.yaml': /^ {2}version: (.*)$/m,
  'examples/extension/manifest.json': /^ {2}"version": "(.*)"/m,
  'deploy/kubernetes/deployment.yaml': /image: encrypted-bookmark-sync:(.*)$/m,
  'CHANGELOG.md': /^## (.*)$/m,
}

/** The version. Fails if a place or a `v*` tag of this commit differs, or node.ts and the dev dependency `node` do. */
export async function agreed(): Promise<string> {
  const texts = Object.keys(places).map(async (path) => [path, await readFile(new URL(path, root), 'utf8')] as const)
  const { version, faults } = compareVersions(Object.fromEntries(await Promise.all(texts)), tags())
  if (faults.length > 0) throw new UsageError(faults.join('; '))
  return version
}

/** The version of package.json, and a sentence for each place or tag that differs, and for a differing `node`. */
export function compareVersions(
  texts: Record<string, string>,
  tagged: string[],
): { version: string; faults: string[] } {
  const named = Object.entries(places).map(([path, pattern]) => [path, pattern.exec(texts[path] ?? '')?.[1]] as const)
  const version = named[0]?.[1] ?? ''
  const others = named.flatMap(([path, other]) =>
    other === version ? [] : [`${path} has ${other ?? 'no version'}, package.json ${version}`],
  )
  const tags = tagged.flatMap((tag) =>
    tag === `v${version}` ? [] : [`the tag is ${tag}, package.json has ${version}`],
  )
  const { node = '' } = JSON.parse(texts['package.json'] ?? '{}').devDependencies ?? {}
  const sums = node === nodeVersion ? [] : [`scripts/release/node.ts has the sums of Node ${nodeVersion}, not ${node}`]
  return { version, faults: [...others, ...tags, ...sums] }
}

/** The version tags of this commit. None outside of a Git checkout. */
function tags(): string[] {
  try {
    const printed = execFileSync('git', ['tag', '--points-at', 'HEAD', '--list', 'v*'], {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    return printed.split('\n').filter(Boolean)
  } catch {
    return []
  }
}
