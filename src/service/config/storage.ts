import { join } from 'node:path'
import {
  ConfigError,
  duration,
  type Env,
  integer,
  optional,
  origin,
  required,
  requiredSecret,
  secret,
  text,
  variableOf,
} from './values.ts'

/** The value of BACKUP_TO that stands for the bucket named by S3_BUCKET. */
const inBucket = 's3'
const scheme = 'sqlite:'

/** The path of a SQLite database; undefined for Postgres. */
export function sqliteFile(databaseUrl: string): string | undefined {
  return databaseUrl.startsWith(scheme) ? databaseUrl.slice(scheme.length) : undefined
}

export function databaseUrl(env: Env, dataDir: string): string {
  const value = secret(env, 'DATABASE_URL') ?? `${scheme}${join(dataDir, 'bookmarks.db')}`
  requireDatabaseUrl(variableOf(env, 'DATABASE_URL'), value)
  return value
}

export function requireDatabaseUrl(name: string, value: string): void {
  if (!/^(sqlite:.|postgres(ql)?:\/\/.)/.test(value))
    throw new ConfigError(`${name} must begin with sqlite: or postgres://`)
  if (sqliteFile(value) === undefined) requireServer(name, value)
}

/** The URL in printable form; undefined if it is not a URL. */
export function withoutPassword(value: string): string | undefined {
  const url = URL.parse(value)
  if (!url) return undefined
  url.password = ''
  url.searchParams.delete('password')
  return url.href
}

/** The URL for LISTEN and most commands, which do not work over a pooler that assigns connections per transaction. */
export function directDatabaseUrl(env: Env, databaseUrl: string): string {
  const value = secret(env, 'PULSE_DATABASE_URL')
  if (value === undefined) return databaseUrl
  const name = variableOf(env, 'PULSE_DATABASE_URL')
  if (!/^postgres(ql)?:\/\/./.test(value)) throw new ConfigError(`${name} must begin with postgres://`)
  requireServer(name, value)
  if (sqliteFile(databaseUrl) !== undefined) throw new ConfigError(`${name} is for Postgres only`)
  return value
}

/** The parameters of a Postgres URL that the driver knows. It ignores others, so `ssmlode` would mean no encryption. */
const urlParameters = [
  'application_name',
  'host',
  'options',
  'password',
  'port',
  'sslcert',
  'sslkey',
  'sslmode',
  'sslnegotiation',
  'sslrootcert',
  'user',
]

/**
 * Refuses several hosts, which other Postgres clients try in turn, but this driver takes for one host name. Refuses
 * parameters that are unknown, empty or repeated.
 */
function requireServer(name: string, value: string): void {
  // If the URL does not name a host, the driver uses its default.
  const url = URL.parse(value.replace('@/', '@localhost/'))
  const hosts = /^\w+:\/\/([^/?#]*@)?([^/?#]*)/.exec(value)?.[2] ?? ''
  if (`${hosts}${url?.searchParams.get('host') ?? ''}`.includes(',')) {
    throw new ConfigError(`${name} must name one host: a name or a proxy that leads to the current primary`)
  }
  if (!url) throw new ConfigError(`${name} must be a URL, with the special characters of its password percent-encoded`)
  const parameters = [...url.searchParams.keys()]
  const wrong = parameters.find(
    (one, index) => !urlParameters.includes(one) || !url.searchParams.get(one) || parameters.indexOf(one) !== index,
  )
  if (wrong === undefined) return
  const known = `give each of these once, with a value: ${urlParameters.join(', ')}`
  throw new ConfigError(`${name} has a parameter ${JSON.stringify(wrong)} that is unknown, empty or repeated; ${known}`)
}

/** Undefined if exports are stored in EXPORTS_DIR. S3 accepts customer keys (SSE-C) only over HTTPS. */
export function s3(env: Env) {
  const credentials = ['S3_ACCESS_KEY', 'S3_ACCESS_KEY_FILE', 'S3_SECRET_KEY', 'S3_SECRET_KEY_FILE']
  const names = ['S3_ENDPOINT', 'S3_BUCKET', ...credentials, 'S3_REGION', 'S3_CA_FILE']
  const given = names.find((name) => optional(env, name))
  if (given === undefined) return undefined
  const endpoint = origin(env, 'S3_ENDPOINT', required(env, 'S3_ENDPOINT', given))
  if (!endpoint.startsWith('https:')) throw new ConfigError('S3_ENDPOINT must be https')
  const bucket = required(env, 'S3_BUCKET', given)
  if (!/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(bucket)) throw new ConfigError('S3_BUCKET must be a valid bucket name')
  return {
    endpoint,
    bucket,
    accessKey: requiredSecret(env, 'S3_ACCESS_KEY', given),
    secretKey: requiredSecret(env, 'S3_SECRET_KEY', given),
    region: optional(env, 'S3_REGION'),
    caFile: optional(env, 'S3_CA_FILE'),
  }
}

/** URLs of NATS servers. If there are none, notifications to other instances go through Postgres. */
export function natsUrls(env: Env, databaseUrl: string): string[] {
  const value = secret(env, 'PULSE_URL')
  if (value === undefined) return []
  const name = variableOf(env, 'PULSE_URL')
  const urls = value.split(',').map((url) => url.trim())
  if (!urls.every(isNatsUrl)) throw new ConfigError(`${name} must be nats:// or tls:// URLs, comma-separated`)
  if (!urls.every(canBeDecoded))
    throw new ConfigError(`${name} must have the special characters of its password percent-encoded`)
  if (sqliteFile(databaseUrl) !== undefined) throw new ConfigError(`${name} is for Postgres only`)
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

/** When the service makes backups, where, and how many it keeps. */
export function backup(env: Env, dataDir: string, databaseUrl: string, s3: object | undefined) {
  const everyMs = duration(env, 'BACKUP_EVERY')
  const keep = integer(env, 'BACKUP_KEEP', 7, 1, 10_000)
  const to = text(env, 'BACKUP_TO', join(dataDir, 'backups'))
  if (everyMs !== undefined && sqliteFile(databaseUrl) === undefined) {
    throw new ConfigError(
      'BACKUP_EVERY is for SQLite; for Postgres, schedule its own tools (the guide to backups, at /docs, shows how)',
    )
  }
  if (to === inBucket && !s3) throw new ConfigError(`BACKUP_TO is ${inBucket}, so S3_ENDPOINT is required`)
  return {
    everyMs,
    keep,
    inBucket: to === inBucket,
    /** The folder where backups are made. Those for a bucket are removed from it after their upload. */
    dir: to === inBucket ? join(dataDir, 'unsent-backup') : to,
  }
}
