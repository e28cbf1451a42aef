import { readFileSync } from 'node:fs'

/** Reads the test vectors with this name. Each file has a comment that says how it was made. */
export function readVectors<Vectors>(name: string): Vectors {
  return JSON.parse(readFileSync(new URL(`../vectors/${name}.json`, import.meta.url), 'utf8')) as Vectors
}
