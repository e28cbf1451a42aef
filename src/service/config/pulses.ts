import { secret } from './secret-value.ts'
import { ConfigError, type Env } from './values.ts'

/** Servers of NATS. None: pulses go through Postgres. */
export function pulseUrls(env: Env, databaseUrl: string): string[] {
  const value = secret(env, 'PULSE_URL')
  if (value === undefined) return []
  const urls = value.split(',').map((url) => url.trim())
  if (!urls.every(isNatsUrl)) throw new ConfigError('PULSE_URL must be nats:// or tls:// URLs, comma-separated')
  if (!urls.every(canBeDecoded))
    throw new ConfigError('PULSE_URL must have the special characters of its password percent-encoded')
  if (databaseUrl.startsWith('sqlite:')) throw new ConfigError('PULSE_URL is for Postgres only')
  return urls
}

function isNatsUrl(value: string): boolean {
  const url = URL.parse(value)
  return url !== null && /^(nats|tls):$/.test(url.protocol) && url.host !== '' && /^\/?$/.test(url.pathname)
}

function canBeDecoded(value: string): boolean {
  try {
    return decodeURIComponent(value) !== ''
  } catch {
    return false
  }
}
