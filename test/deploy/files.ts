import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseYaml } from '@redocly/openapi-core'
import { readConfig } from '../../src/service/config/config.ts'
import { knownVariables } from '../../src/service/config/variables.ts'

export const root = new URL('../../', import.meta.url)
export const deploy = fileURLToPath(new URL('deploy', root))

export function read(path: string): string {
  return readFileSync(new URL(path, root), 'utf8')
}

export function readYaml<T>(path: string): T {
  return parseYaml(read(path)) as T
}

/** A variable that the C library reads, and not the service: the number of its heaps for threads. */
const libcVariable = 'MALLOC_ARENA_MAX'

/** The configuration that the service reads from an environment, and the variables that it does not know. */
export function configure(env: Record<string, string>) {
  const known = new Set([...knownVariables(), libcVariable])
  return { config: readConfig(env), unknown: Object.keys(env).filter((name) => !known.has(name)) }
}

/** `NAME=value` lines. */
export function readLines(text: string): Record<string, string> {
  const lines = text.split('\n').filter((line) => /^\w+=/.test(line))
  return Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]))
}

/** The seconds that a stop may take after DRAIN_SECONDS: 1 to end open connections, 10 for everything else. */
export const stopSeconds = 11
