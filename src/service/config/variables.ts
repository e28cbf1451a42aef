import { distance } from 'fastest-levenshtein'
import { readConfig } from './config.ts'
import type { Env } from './values.ts'

/** Each is allowed so many wrong letters for each letter that it has. */
const wrongShare = 1 / 4

/** Every variable by which the service is configured. */
export function knownVariables(): Set<string> {
  const known = new Set<string>()
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
  // The allocator reads this one.
  const known = knownVariables().add('MALLOC_ARENA_MAX')
  return Object.keys(env).flatMap((name) => {
    if (known.has(name) || !/^[A-Z][A-Z\d_]+$/.test(name) || name.startsWith('OTEL_')) return []
    const [nearest] = [...known]
      .filter((one) => isLike(name, one))
      .sort((one, other) => distance(name, one) - distance(name, other))
    return nearest === undefined ? [] : [{ name, meant: nearest }]
  })
}

function isLike(name: string, known: string): boolean {
  // SIGNUPS for SIGN_UP.
  const [own, other] = [name.replaceAll('_', ''), known.replaceAll('_', '')]
  if (distance(own, other) <= Math.floor(Math.max(name.length, known.length) * wrongShare)) return true
  const [words, others] = [name.split('_'), known.split('_')]
  // OIDC_SECRET for OIDC_CLIENT_SECRET.
  if (words.length > 1 && words[0] === others[0] && words.every((word) => others.includes(word))) return true
  // OIDC_REQUIRED_GROUP for OIDC_REQUIRED_CLAIM.
  return (
    words.length > 2 && words.length === others.length && words.slice(0, -1).every((word, at) => word === others[at])
  )
}
