import { readConfig } from './config.ts'
import type { Env } from './values.ts'

/** Each is allowed so many wrong letters for each letter that it has. */
const wrongShare = 1 / 4

/** Every variable that the service reads. */
export function knownVariables(): Set<string> {
  const known = new Set(['MALLOC_ARENA_MAX'])
  const provider = { OIDC_ISSUER: 'https://id.example', OIDC_CLIENT_ID: 'id', OIDC_CLIENT_SECRET: 'secret' }
  const watched = new Proxy<Env>(provider, {
    get(env, name: string) {
      known.add(name)
      return env[name]
    },
  })
  readConfig(watched)
  return known
}

/** Variables that nothing reads, but that look like one that the service does, with that one. */
export function misspelt(env: Env): { name: string; meant: string }[] {
  const known = knownVariables()
  return Object.keys(env).flatMap((name) => {
    if (known.has(name) || !/^[A-Z][A-Z\d_]+$/.test(name) || name.startsWith('OTEL_')) return []
    const [nearest] = [...known]
      .filter((one) => isLike(name, one))
      .sort((one, other) => distance(name, one) - distance(name, other))
    return nearest === undefined ? [] : [{ name, meant: nearest }]
  })
}

function isLike(name: string, known: string): boolean {
  if (distance(name, known) <= Math.floor(Math.max(name.length, known.length) * wrongShare)) return true
  // OIDC_SECRET for OIDC_CLIENT_SECRET.
  const [words, others] = [name.split('_'), known.split('_')]
  return words.length > 1 && words[0] === others[0] && words.every((word) => others.includes(word))
}

/** How many letters have to be added, left out or changed. */
function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (const [at, letter] of [...one].entries()) {
    const next = [at + 1]
    for (const [index, compared] of [...other].entries()) {
      const changed = (row[index] ?? 0) + (letter === compared ? 0 : 1)
      next.push(Math.min(changed, (row[index + 1] ?? 0) + 1, (next[index] ?? 0) + 1))
    }
    row = next
  }
  return row.at(-1) ?? 0
}
