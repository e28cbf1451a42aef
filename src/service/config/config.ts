import { join } from 'node:path'
import { quotas } from '../../../generated/limits.ts'
import { backup } from './backup.ts'
import { identityProvider } from './identity-provider.ts'
import { logging } from './log.ts'
import { pulseUrls } from './pulses.ts'
import { secretKeys } from './secrets.ts'
import { databaseUrl, pulseDatabaseUrl, s3 } from './storage.ts'
import { type Env, integer, oneOf, optional, origin, text } from './values.ts'
import { cookieDomain, corsOrigins, hostName, publicOrigin, trustProxy } from './web.ts'

export type Config = ReturnType<typeof readConfig>

const environments = ['development', 'staging', 'production'] as const

/** Reads the environment once. docs/operating/configuration.md lists every variable. */
export function readConfig(env: Env) {
  const environment = oneOf(env, 'NODE_ENV', environments, 'development')
  const host = hostName(env, 'HOST')
  const port = integer(env, 'PORT', 3000, 0, 65535)
  const publicUrl = publicOrigin(env, environment, `http://${host.includes(':') ? `[${host}]` : host}:${port}`)
  const dataDir = text(env, 'DATA_DIR', './data')
  const storedIn = databaseUrl(env, dataDir)
  const directUrl = pulseDatabaseUrl(env, storedIn)
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
    pulseDatabaseUrl: directUrl,
    pulseUrls: pulseUrls(env, storedIn),
    databaseServer: {
      directUrl,
      poolSize: integer(env, 'DATABASE_POOL_SIZE', 20, 5, 1000),
      waitMs: integer(env, 'START_TIMEOUT', 60, 0, 3600) * 1000,
    },
    exportsDir: text(env, 'EXPORTS_DIR', join(dataDir, 'exports')),
    s3: bucket,
    backup: backup(env, { dataDir, databaseUrl: storedIn, s3: bucket }),
    secretKeys: secretKeys(env, environment),
    identityProvider: identityProvider(env, environment),
    developmentProviderPort: integer(env, 'DEV_IDP_PORT', 3001, 0, 65535),
    origins: corsOrigins(env, environment, publicUrl),
    appUrl: optional(env, 'APP_URL') === undefined ? undefined : origin(env, 'APP_URL', ''),
    cookieDomain: cookieDomain(env, environment, publicUrl),
    secureCookies: publicUrl.startsWith('https://'),
    trustProxy: trustProxy(env),
    serveDemo: oneOf(env, 'SERVE_DEMO', ['true', 'false'], `${environment === 'development'}`) === 'true',
    maxUserBytes: integer(env, 'MAX_USER_BYTES', quotas.storedBytes, 1, Number.MAX_SAFE_INTEGER),
    keepVersionsDays: integer(env, 'KEEP_VERSIONS_DAYS', quotas.versionDays, 0, 3650),
    maxUserRecords: integer(env, 'MAX_USER_RECORDS', quotas.storedRecords, 1, Number.MAX_SAFE_INTEGER),
    maxUserExportBytes: integer(env, 'MAX_USER_EXPORT_BYTES', quotas.exportBytes, 1, Number.MAX_SAFE_INTEGER),
    rateLimitPerMinute: integer(env, 'RATE_LIMIT_PER_MINUTE', quotas.requestsPerMinute, 1, 1_000_000_000),
    drainSeconds: integer(env, 'DRAIN_SECONDS', 0, 0, 3600),
    ...logging(env),
  })
}
