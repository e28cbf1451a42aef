import { join } from 'node:path'
import { quotas } from '../../../generated/limits.ts'
import { access } from './access.ts'
import { backup, databaseUrl, directDatabaseUrl, natsUrls, s3 } from './storage.ts'
import {
  ConfigError,
  type Env,
  integer,
  oneOf,
  optional,
  origin,
  refuseEmpty,
  required,
  requiredSecret,
  secret,
  text,
  variableOf,
} from './values.ts'
import { cookieDomain, corsOrigins, githubApiUrl, hostName, publicOrigin, trustProxy } from './web.ts'

export type Config = ReturnType<typeof readConfig>

const environments = ['development', 'staging', 'production'] as const
const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']
const addressForms = ['none', 'network', 'full'] as const

/** Reads and checks the settings. docs/operating/configuration.md lists every variable. */
export function readConfig(env: Env) {
  refuseEmpty(env)
  const environment = oneOf(env, 'NODE_ENV', environments, 'development')
  const host = hostName(env, 'HOST')
  const port = integer(env, 'PORT', 3000, 0, 65535)
  const publicUrl = publicOrigin(env, environment, `http://${host.includes(':') ? `[${host}]` : host}:${port}`)
  const dataDir = text(env, 'DATA_DIR', './data')
  const storedIn = databaseUrl(env, dataDir)
  const bucket = s3(env)
  return Object.freeze({
    environment,
    host,
    port,
    publicUrl,
    adminHost: hostName(env, 'ADMIN_HOST'),
    adminPort: optional(env, 'ADMIN_PORT') === undefined ? undefined : integer(env, 'ADMIN_PORT', 0, 1, 65535),
    dataDir,
    databaseUrl: storedIn,
    databaseServer: {
      directUrl: directDatabaseUrl(env, storedIn),
      poolSize: integer(env, 'DATABASE_POOL_SIZE', 20, 5, 1000),
      waitMs: integer(env, 'START_TIMEOUT', 60, 0, 3600, 'seconds') * 1000,
    },
    natsUrls: natsUrls(env, storedIn),
    exportsDir: text(env, 'EXPORTS_DIR', join(dataDir, 'exports')),
    s3: bucket,
    backup: backup(env, dataDir, storedIn, bucket),
    secretKeys: secretKeys(env, environment),
    identityProvider: identityProvider(env, environment),
    access: access(env),
    developmentProviderPort: integer(env, 'DEV_IDP_PORT', 3001, 0, 65535),
    origins: corsOrigins(env, environment, publicUrl),
    appUrl: optional(env, 'APP_URL') === undefined ? undefined : origin(env, 'APP_URL', ''),
    cookieDomain: cookieDomain(env, environment, publicUrl),
    secureCookies: publicUrl.startsWith('https://'),
    trustProxy: trustProxy(env),
    serveApp: serveApp(env, environment),
    githubApiUrl: githubApiUrl(env),
    maxUserBytes: integer(env, 'MAX_USER_BYTES', quotas.storedBytes, 1, Number.MAX_SAFE_INTEGER),
    keepVersionsDays: integer(env, 'KEEP_VERSIONS_DAYS', quotas.versionDays, 1, 3650),
    maxUserRecords: integer(env, 'MAX_USER_RECORDS', quotas.storedRecords, 1, Number.MAX_SAFE_INTEGER),
    maxUserExportBytes: integer(env, 'MAX_USER_EXPORT_BYTES', quotas.exportBytes, 1, Number.MAX_SAFE_INTEGER),
    rateLimitPerMinute: integer(env, 'RATE_LIMIT_PER_MINUTE', quotas.requestsPerMinute, 1, 1_000_000_000),
    drainSeconds: integer(env, 'DRAIN_SECONDS', 0, 0, 3600),
    ...logging(env),
  })
}

/** In 2.0.0, the variable was called SERVE_DEMO. */
function serveApp(env: Env, environment: string): boolean {
  const values = ['true', 'false'] as const
  const before = oneOf(env, 'SERVE_DEMO', values, environment === 'development' ? 'true' : 'false')
  return oneOf(env, 'SERVE_APP', values, before) === 'true'
}

/** Undefined in development without an issuer: then the development provider is used. */
function identityProvider(env: Env, environment: string) {
  const issuer = optional(env, 'OIDC_ISSUER')
  if (issuer === undefined) {
    if (environment !== 'development') throw new ConfigError(`OIDC_ISSUER is required in ${environment}`)
    return undefined
  }
  const url = URL.parse(issuer)
  if (!url || !/^https?:$/.test(url.protocol)) throw new ConfigError('OIDC_ISSUER must be an http or https URL')
  if (url.username || url.password) throw new ConfigError('OIDC_ISSUER must not contain a user or password')
  if (/\/\.well-known\/openid-configuration\/?$/.test(url.pathname)) {
    throw new ConfigError('OIDC_ISSUER must be the issuer itself, without /.well-known/openid-configuration')
  }
  if (url.protocol === 'http:' && environment !== 'development') {
    throw new ConfigError(`OIDC_ISSUER must be https in ${environment}`)
  }
  const scopes = text(env, 'OIDC_SCOPES', 'openid profile email offline_access')
  if (!scopes.split(' ').includes('openid')) throw new ConfigError('OIDC_SCOPES must include openid')
  return {
    issuer,
    clientId: required(env, 'OIDC_CLIENT_ID', 'OIDC_ISSUER'),
    clientSecret: requiredSecret(env, 'OIDC_CLIENT_SECRET', 'OIDC_ISSUER'),
    scopes,
    proxies: proxies(env),
  }
}

/** Forward proxies for requests to the provider, by the request's scheme. */
export interface Proxies {
  http: string | undefined
  https: string | undefined
  /** Hosts that are reached directly, comma-separated. */
  none: string | undefined
}

/** Like other programs, prefers the lower-case name. */
function proxies(env: Env): Proxies {
  return {
    http: proxyUrl(env, 'http_proxy') ?? proxyUrl(env, 'HTTP_PROXY'),
    https: proxyUrl(env, 'https_proxy') ?? proxyUrl(env, 'HTTPS_PROXY'),
    none: optional(env, 'no_proxy') ?? optional(env, 'NO_PROXY'),
  }
}

/** The value may contain a password, so messages do not repeat it. */
function proxyUrl(env: Env, name: string): string | undefined {
  const value = optional(env, name)
  if (value === undefined) return undefined
  const url = URL.parse(value.includes('://') ? value : `http://${value}`)
  const isSound = url !== null && /^https?:$/.test(url.protocol) && /^\/?$/.test(url.pathname)
  if (!isSound)
    throw new ConfigError(`${name} must be the http or https URL of a proxy, such as http://proxy.example:3128`)
  try {
    decodeURIComponent(`${url.username}:${url.password}`)
  } catch {
    throw new ConfigError(`${name} must have percent signs in its user and password as %25`)
  }
  return url.href
}

/** The first key encrypts, all of them decrypt. Undefined in development if not set: then DATA_DIR stores a new key. */
function secretKeys(env: Env, environment: string): Uint8Array[] | undefined {
  const value = secret(env, 'SECRET_KEY')
  if (value === undefined) {
    if (environment !== 'development') throw new ConfigError(`SECRET_KEY is required in ${environment}`)
    return undefined
  }
  return value.split(',').map((item) => parseSecretKey(item.trim(), variableOf(env, 'SECRET_KEY')))
}

export function parseSecretKey(value: string, name: string): Uint8Array {
  const key = Buffer.from(value, 'base64')
  if (key.length !== 32 || key.toString('base64') !== value) throw new ConfigError(`${name} must be 32 bytes in base64`)
  if (key.every((byte) => byte === 0))
    throw new ConfigError(`${name} must not be zeros: openssl rand -base64 32 makes one`)
  return key
}

/** OpenTelemetry's exporter itself reads the endpoints that `exportsTraces` checks. */
function logging(env: Env) {
  return {
    logLevel: oneOf(env, 'LOG_LEVEL', logLevels, 'info'),
    logAddresses: oneOf(env, 'LOG_ADDRESSES', addressForms, 'network'),
    exportTraces: exportsTraces(env),
  }
}

function exportsTraces(env: Env): boolean {
  const endpoints = ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT']
  const given = endpoints.filter((name) => optional(env, name) !== undefined)
  const exporter = oneOf(env, 'OTEL_TRACES_EXPORTER', ['otlp', 'none'], given.length === 0 ? 'none' : 'otlp')
  const isDisabled = optional(env, 'OTEL_SDK_DISABLED')?.toLowerCase() === 'true'
  if (exporter === 'none' || isDisabled) return false
  for (const name of given) requireHttpUrl(env, name)
  return true
}

/** The exporter would take `collector:4318` for a URL with the scheme `collector`, and silently send nothing. */
function requireHttpUrl(env: Env, name: string): void {
  const url = URL.parse(optional(env, name) ?? '')
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new ConfigError(`${name} must be a URL that begins with http:// or https://`)
  }
}
