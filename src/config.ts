import { isIP } from 'node:net'
import { join } from 'node:path'
import ipaddr from 'ipaddr.js'

/** A fault of the environment. Its message begins with the variable's name. */
export class ConfigError extends Error {
  override name = 'ConfigError'
}

export type Config = ReturnType<typeof readConfig>

const environments = ['development', 'staging', 'production'] as const
const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']

/** Reads the environment once. The README's configuration table lists every variable. */
export function readConfig(env: Record<string, string | undefined>) {
  const environment = oneOf(env, 'NODE_ENV', environments, 'development')
  const host = hostName(env)
  const port = integer(env, 'PORT', 3000, 0, 65535)
  const publicUrl = origin(env, 'PUBLIC_URL', `http://${host.includes(':') ? `[${host}]` : host}:${port}`)
  const dataDir = text(env, 'DATA_DIR', './data')
  return Object.freeze({
    environment,
    host,
    port,
    publicUrl,
    dataDir,
    databaseUrl: databaseUrl(env, dataDir),
    exportsDir: text(env, 'EXPORTS_DIR', join(dataDir, 'exports')),
    s3: s3(env),
    secretKeys: secretKeys(env, environment),
    identityProvider: identityProvider(env, environment),
    developmentProviderPort: integer(env, 'DEV_IDP_PORT', 3001, 0, 65535),
    origins: corsOrigins(env, publicUrl),
    appUrl: optional(env, 'APP_URL') === undefined ? undefined : origin(env, 'APP_URL', ''),
    cookieDomain: cookieDomain(env, environment, publicUrl),
    secureCookies: publicUrl.startsWith('https://'),
    trustProxy: trustProxy(env),
    rateLimitPerMinute: integer(env, 'RATE_LIMIT_PER_MINUTE', 1200, 1, 1_000_000_000),
    logLevel: oneOf(env, 'LOG_LEVEL', logLevels, 'info'),
  })
}

type Env = Record<string, string | undefined>
type Environment = (typeof environments)[number]

function optional(env: Env, name: string): string | undefined {
  return env[name]?.trim() || undefined
}

function text(env: Env, name: string, fallback: string): string {
  return optional(env, name) ?? fallback
}

function integer(env: Env, name: string, fallback: number, min: number, max: number): number {
  const value = optional(env, name)
  if (value === undefined) return fallback
  const number = Number(value)
  if (!/^\d+$/.test(value) || number < min || number > max) {
    throw new ConfigError(`${name} must be an integer from ${min} to ${max}`)
  }
  return number
}

function oneOf<T extends string>(env: Env, name: string, values: readonly T[], fallback: T): T {
  const value = text(env, name, fallback) as T
  if (!values.includes(value)) throw new ConfigError(`${name} must be one of: ${values.join(', ')}`)
  return value
}

function hostName(env: Env): string {
  const value = text(env, 'HOST', '127.0.0.1')
  if (!isIP(value) && !/^[A-Za-z0-9.-]+$/.test(value)) throw new ConfigError('HOST must be an address or a host name')
  return value
}

function origin(env: Env, name: string, fallback: string): string {
  const value = text(env, name, fallback)
  const url = URL.parse(value)
  if (!url || !/^https?:$/.test(url.protocol) || (value !== url.origin && value !== `${url.origin}/`)) {
    throw new ConfigError(`${name} must be an http or https origin without a path`)
  }
  return url.origin
}

function databaseUrl(env: Env, dataDir: string): string {
  const value = text(env, 'DATABASE_URL', `sqlite:${join(dataDir, 'bookmarks.db')}`)
  if (!/^(sqlite:.|postgres(ql)?:\/\/.)/.test(value))
    throw new ConfigError('DATABASE_URL must begin with sqlite: or postgres://')
  return value
}

/** Undefined: exports lie in EXPORTS_DIR. S3 takes keys of the caller's (SSE-C) over https alone. */
function s3(env: Env) {
  const names = ['S3_ENDPOINT', 'S3_BUCKET', 'S3_ACCESS_KEY', 'S3_SECRET_KEY', 'S3_REGION', 'S3_CA_FILE']
  const given = names.find((name) => optional(env, name))
  if (given === undefined) return undefined
  const endpoint = origin(env, 'S3_ENDPOINT', required(env, 'S3_ENDPOINT', given))
  if (!endpoint.startsWith('https:')) throw new ConfigError('S3_ENDPOINT must be https')
  const bucket = required(env, 'S3_BUCKET', given)
  if (!/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(bucket)) throw new ConfigError('S3_BUCKET must be a bucket name')
  return {
    endpoint,
    bucket,
    accessKey: required(env, 'S3_ACCESS_KEY', given),
    secretKey: required(env, 'S3_SECRET_KEY', given),
    region: optional(env, 'S3_REGION'),
    caFile: optional(env, 'S3_CA_FILE'),
  }
}

/** A domain that does not cover PUBLIC_URL's host would make every browser drop the cookies. */
function cookieDomain(env: Env, environment: Environment, publicUrl: string): string | undefined {
  const value = optional(env, 'COOKIE_DOMAIN')
  if (value === undefined) return undefined
  if (environment !== 'production') throw new ConfigError('COOKIE_DOMAIN is for production only')
  const { hostname } = new URL(publicUrl)
  const domain = value.toLowerCase().replace(/^\./, '')
  if (domain !== hostname && !hostname.endsWith(`.${domain}`)) {
    throw new ConfigError(`COOKIE_DOMAIN must be the host of PUBLIC_URL, ${hostname}, or a domain above it`)
  }
  return value
}

/** The first key seals, all of them open. Undefined in development, where one is made in DATA_DIR. */
function secretKeys(env: Env, environment: Environment): Uint8Array[] | undefined {
  const value = optional(env, 'SECRET_KEY')
  if (value === undefined) {
    if (environment !== 'development') throw new ConfigError(`SECRET_KEY is required in ${environment}`)
    return undefined
  }
  return value.split(',').map((item) => parseSecretKey(item.trim(), 'SECRET_KEY'))
}

export function parseSecretKey(value: string, name: string): Uint8Array {
  const key = Buffer.from(value, 'base64')
  if (key.length !== 32 || key.toString('base64') !== value) throw new ConfigError(`${name} must be 32 bytes in base64`)
  return key
}

/** Undefined in development without an issuer: the embedded provider takes its place. */
function identityProvider(env: Env, environment: Environment) {
  const issuer = optional(env, 'OIDC_ISSUER')
  if (issuer === undefined) {
    if (environment !== 'development') throw new ConfigError(`OIDC_ISSUER is required in ${environment}`)
    return undefined
  }
  const url = URL.parse(issuer)
  if (!url || !/^https?:$/.test(url.protocol)) throw new ConfigError('OIDC_ISSUER must be an http or https URL')
  if (url.protocol === 'http:' && environment !== 'development') {
    throw new ConfigError(`OIDC_ISSUER must be https in ${environment}`)
  }
  const scopes = text(env, 'OIDC_SCOPES', 'openid profile email offline_access')
  if (!scopes.split(' ').includes('openid')) throw new ConfigError('OIDC_SCOPES must contain openid')
  return {
    issuer,
    clientId: required(env, 'OIDC_CLIENT_ID', 'OIDC_ISSUER'),
    clientSecret: required(env, 'OIDC_CLIENT_SECRET', 'OIDC_ISSUER'),
    scopes,
  }
}

function required(env: Env, name: string, reason: string): string {
  const value = optional(env, name)
  if (value === undefined) throw new ConfigError(`${name} is required with ${reason}`)
  return value
}

/** Exact origins. Browser extensions have origins of their own schemes, which `URL` does not parse as such. */
function corsOrigins(env: Env, publicUrl: string): ReadonlySet<string> {
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
  return new Set([publicUrl, ...app, ...listed])
}

/** Which of the addresses in X-Forwarded-For are proxies: a number of hops from here, or networks. */
function trustProxy(env: Env): ((address: string, hop: number) => boolean) | string[] | false {
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
  return ipaddr.isValidCIDR(range) ? ipaddr.parseCIDR(range)[1] > 0 : ipaddr.isValid(range)
}
