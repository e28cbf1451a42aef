import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { ConfigError, type Env, optional, origin, text } from './values.ts'

export function hostName(env: Env, name: string): string {
  const value = text(env, name, '127.0.0.1')
  if (!isIP(value) && !/^[A-Za-z0-9.-]+$/.test(value))
    throw new ConfigError(`${name} must be an IP address or a host name`)
  return value
}

/** Refuses a public HTTPS origin in development, which trusts everyone who can reach it. */
export function publicOrigin(env: Env, environment: string, fallback: string): string {
  const value = origin(env, 'PUBLIC_URL', fallback)
  const { protocol, hostname } = new URL(value)
  if (environment === 'production' && protocol !== 'https:') {
    throw new ConfigError('PUBLIC_URL must be https if NODE_ENV is production')
  }
  if (environment === 'development' && protocol === 'https:' && !isLoopback(hostname)) {
    throw new ConfigError('PUBLIC_URL is public: set NODE_ENV to production (or staging), not development')
  }
  return value
}

function isLoopback(hostname: string): boolean {
  return /^(127(\.\d+){3}|\[::1\]|(.+\.)?localhost)$/.test(hostname)
}

/** Requires a domain that covers PUBLIC_URL's host, because browsers drop other cookies. */
export function cookieDomain(env: Env, environment: string, publicUrl: string): string | undefined {
  const value = optional(env, 'COOKIE_DOMAIN')
  if (value === undefined) return undefined
  if (environment !== 'production') throw new ConfigError('COOKIE_DOMAIN is for production only')
  const { hostname } = new URL(publicUrl)
  const domain = value.toLowerCase().replace(/^\./, '')
  if (domain !== hostname && !hostname.endsWith(`.${domain}`)) {
    throw new ConfigError(`COOKIE_DOMAIN must be the host of PUBLIC_URL, ${hostname}, or a parent domain`)
  }
  return value
}

/** Refuses public suffixes such as `org`, whose cookies browsers drop. Loads the list only if needed. */
export async function requireOwnDomain(config: { cookieDomain: string | undefined; publicUrl: string }): Promise<void> {
  const { cookieDomain: domain, publicUrl } = config
  if (domain === undefined) return
  const name = domain.toLowerCase().replace(/^\./, '')
  // A cookie of the host itself, such as `intranet`, is kept.
  if (name === new URL(publicUrl).hostname) return
  const { isPublicSuffix } = await import('./public-suffix.ts')
  if (!isPublicSuffix(name)) return
  throw new ConfigError(`COOKIE_DOMAIN must not be ${name}, a public suffix: browsers would drop every cookie of it`)
}

/** The extension of examples/extension as Chrome loads it unpacked: its manifest's key gives it this id everywhere. */
const exampleExtension = 'chrome-extension://pcbjnhkdokakkkiifmcaohcbjmochang'

/** The API from which the web page reads starred repositories; undefined if an empty value turns that off. */
export function githubApiUrl(env: Env): string | undefined {
  if (env.GITHUB_API_URL?.trim() === '') return undefined
  const value = text(env, 'GITHUB_API_URL', 'https://api.github.com')
  const url = URL.parse(value)
  // The host becomes part of the page's Content-Security-Policy.
  const isHost = /^(?:[a-z0-9.-]+|\[[0-9a-f:]+\])(?::\d+)?$/.test(url?.host ?? '')
  const isSound =
    url && isHost && /^https?:$/.test(url.protocol) && !url.search && !url.hash && !url.username && !url.password
  if (!isSound)
    throw new ConfigError('GITHUB_API_URL must be an http or https URL, such as https://github.example/api/v3')
  return url.href.replace(/\/$/, '')
}

/** Accepts exact origins and `moz-extension://*`. `URL` has no origin for extensions, so a pattern checks theirs. */
export function corsOrigins(env: Env, environment: string, publicUrl: string): ReadonlySet<string> {
  const listed = (optional(env, 'CORS_ORIGIN') ?? '')
    .split(',')
    .map((item) => item.trim())
    .filter(Boolean)
  const exact = /^(https?:\/\/[^/\s*?#@]+|(chrome|moz|safari-web)-extension:\/\/[A-Za-z0-9-]+)$/
  for (const item of listed) {
    const web = item.startsWith('http') && URL.parse(item)?.origin !== item
    if (item !== 'moz-extension://*' && (!exact.test(item) || web)) {
      throw new ConfigError(`CORS_ORIGIN must be a comma-separated list of exact origins: ${item}`)
    }
  }
  const app = optional(env, 'APP_URL') ? [origin(env, 'APP_URL', '')] : []
  const unpacked = environment === 'development' ? [exampleExtension] : []
  return new Set([publicUrl, ...app, ...unpacked, ...listed])
}

/** Which addresses in X-Forwarded-For belong to proxies: a number of hops, or a list of networks. */
export function trustProxy(env: Env): ((address: string, hop: number) => boolean) | string[] | false {
  const value = optional(env, 'TRUST_PROXY')
  if (value === undefined) return false
  if (/^\d+$/.test(value)) return (_address, hop) => hop < Number(value)
  const ranges = value.split(',').map((item) => item.trim())
  if (!ranges.every(isNetwork)) {
    throw new ConfigError('TRUST_PROXY must be a number of hops or a list of addresses and CIDR ranges')
  }
  return ranges
}

function isNetwork(range: string): boolean {
  // The library reads 1.5 as 1.0.0.5.
  if (!isIP(range.replace(/\/\d+$/, ''))) return false
  return ipaddr.isValidCIDR(range) ? ipaddr.parseCIDR(range)[1] > 0 : ipaddr.isValid(range)
}
