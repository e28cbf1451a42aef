import { join } from 'node:path'
import { requiredSecret, secret } from './secret-value.ts'
import { ConfigError, type Env, optional, origin, required } from './values.ts'

export function databaseUrl(env: Env, dataDir: string): string {
  const value = secret(env, 'DATABASE_URL') ?? `sqlite:${join(dataDir, 'bookmarks.db')}`
  if (!/^(sqlite:.|postgres(ql)?:\/\/.)/.test(value))
    throw new ConfigError('DATABASE_URL must begin with sqlite: or postgres://')
  return value
}

/** Where LISTEN works: over a pooler that hands out connections by transaction it hears nothing. */
export function pulseDatabaseUrl(env: Env, databaseUrl: string): string {
  const value = secret(env, 'PULSE_DATABASE_URL')
  if (value === undefined) return databaseUrl
  if (!/^postgres(ql)?:\/\/./.test(value)) throw new ConfigError('PULSE_DATABASE_URL must begin with postgres://')
  if (databaseUrl.startsWith('sqlite:')) throw new ConfigError('PULSE_DATABASE_URL is for Postgres only')
  return value
}

/** Undefined if exports are stored in EXPORTS_DIR. S3 accepts the caller's keys (SSE-C) over https only. */
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
