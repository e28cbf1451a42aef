import { distance } from 'fastest-levenshtein'
import { readConfig } from './config.ts'
import type { Env } from './values.ts'

/** The share of a name's letters that may differ from the variable that was meant. */
const wrongShare = 1 / 4
/** Prefixes of other programs' variables: NODE_OPTIONS, MALLOC_CHECK_, NO_COLOR. */
const ofOthers = new Set(['NODE', 'MALLOC', 'NO', 'HTTP', 'HTTPS'])

/** The variables that `readConfig` reads. */
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

/** Variables that nothing reads, each with the similar one that was probably meant. */
export function misspelt(env: Env): { name: string; meant: string }[] {
  // The memory allocator reads MALLOC_ARENA_MAX. FTP_PROXY is often set together with the other proxies.
  const known = knownVariables().add('MALLOC_ARENA_MAX').add('FTP_PROXY')
  return Object.keys(env).flatMap((name) => {
    if (known.has(name) || name.startsWith('OTEL_')) return []
    if (known.has(name.toUpperCase())) return [{ name, meant: name.toUpperCase() }]
    if (!/^[A-Z][A-Z\d_]+$/.test(name)) return []
    const [nearest] = [...known]
      .filter((one) => isLike(name, one))
      .sort(
        (one, other) =>
          sharedWords(name, other) - sharedWords(name, one) || distance(name, one) - distance(name, other),
      )
    return nearest === undefined ? [] : [{ name, meant: nearest }]
  })
}

function isLike(name: string, known: string): boolean {
  // Such as SIGNUPS for SIGN_UP.
  const [own, other] = [name.replaceAll('_', ''), known.replaceAll('_', '')]
  if (distance(own, other) <= Math.floor(Math.max(name.length, known.length) * wrongShare)) return true
  // Such as SING_UP.
  if (lettersOf(own) === lettersOf(other)) return true
  // Such as BACKUP_INTERVAL for BACKUP_EVERY.
  const [[first = '', ...rest], [knownFirst]] = [name.split('_'), known.split('_')]
  return rest.length > 0 && first === knownFirst && !ofOthers.has(first)
}

/** Counts shared words: OIDC_SECRET is closer to OIDC_CLIENT_SECRET than to OIDC_SCOPES. */
function sharedWords(name: string, known: string): number {
  const words = new Set(known.split('_'))
  return name.split('_').filter((word) => words.has(word)).length
}

function lettersOf(name: string): string {
  return [...name].sort().join('')
}
