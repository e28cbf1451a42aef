import { readFileSync } from 'node:fs'

/** Test vectors by name; each file says in its comment how it was made. */
export function readVectors<Vectors>(name: string): Vectors {
  return JSON.parse(readFileSync(new URL(`../vectors/${name}.json`, import.meta.url), 'utf8')) as Vectors
}
