import { readFileSync } from 'node:fs'

/** A setting, or the data that it leads to, cannot be used. The message begins with the variable or the data. */
export class ConfigError extends Error {
  override name = 'ConfigError'
}

export type Env = Record<string, string | undefined>

/**
 * These variables admit people or choose where data lives. An empty one is probably a mistake, such as an unresolved
 * name in a Compose file, and must not count as absent.
 */
const neverEmpty = [
  'DATA_DIR',
  'DATABASE_URL',
  'DATABASE_URL_FILE',
  'EXPORTS_DIR',
  'BACKUP_TO',
  'S3_ENDPOINT',
  'S3_BUCKET',
  'SIGN_UP',
  'OIDC_ALLOWED_DOMAINS',
  'OIDC_REQUIRED_CLAIM',
]

export function refuseEmpty(env: Env): void {
  const name = neverEmpty.find((name) => env[name]?.trim() === '')
  if (name !== undefined) throw new ConfigError(`${name} is empty: give it a value, or leave it out`)
}

export function optional(env: Env, name: string): string | undefined {
  const value = env[name]?.trim() || undefined
  // Docker's --env-file keeps quotes, unlike systemd and shells. None of them removes a word processor's typographic
  // quotes.
  if (value !== undefined && (/^(["']).*\1$/s.test(value) || /^[“”„«»‘’‚].*[“”«»‘’]$/s.test(value)))
    throw new ConfigError(`${name} is in quotes, which would be part of the value: write it without them`)
  return value
}

export function text(env: Env, name: string, fallback: string): string {
  return optional(env, name) ?? fallback
}

export function required(env: Env, name: string, reason: string): string {
  const value = optional(env, name)
  if (value === undefined) throw new ConfigError(`${name} is required with ${reason}`)
  return value
}

export function integer(env: Env, name: string, fallback: number, min: number, max: number, unit?: string): number {
  const value = optional(env, name)
  if (value === undefined) return fallback
  const number = Number(value)
  if (!/^\d+$/.test(value) || number < min || number > max) {
    throw new ConfigError(`${name} must be an integer from ${min} to ${max}${unit ? ` (${unit})` : ''}`)
  }
  return number
}

const unitMs = { m: 60_000, h: 3_600_000, d: 86_400_000 }
/** The longest delay of a timer in Node. */
const longestMs = 2 ** 31 - 1

/** A whole number of minutes, hours or days: `30m`, `12h`, `1d`. Returns milliseconds. */
export function duration(env: Env, name: string): number | undefined {
  const value = optional(env, name)
  if (value === undefined) return undefined
  const [, count, unit] = /^([1-9]\d{0,4})([mhd])$/.exec(value) ?? []
  const ms = count === undefined ? undefined : Number(count) * unitMs[unit as keyof typeof unitMs]
  if (ms === undefined || ms > longestMs)
    throw new ConfigError(`${name} must be a number of minutes, hours or days up to 24d, like 12h`)
  return ms
}

export function oneOf<T extends string>(env: Env, name: string, values: readonly T[], fallback: T): T {
  const value = text(env, name, fallback) as T
  if (!values.includes(value)) throw new ConfigError(`${name} must be one of: ${values.join(', ')}`)
  return value
}

export function origin(env: Env, name: string, fallback: string): string {
  const value = text(env, name, fallback)
  const url = URL.parse(value)
  if (!url || !/^https?:$/.test(url.protocol) || (value !== url.origin && value !== `${url.origin}/`)) {
    throw new ConfigError(`${name} must be an http or https origin without a path`)
  }
  return url.origin
}

export const secretNames = [
  'SECRET_KEY',
  'DATABASE_URL',
  'PULSE_DATABASE_URL',
  'PULSE_URL',
  'OIDC_CLIENT_SECRET',
  'S3_ACCESS_KEY',
  'S3_SECRET_KEY',
] as const

export type SecretName = (typeof secretNames)[number]

/**
 * A secret is the variable's value, or the content of the file that the variable with `_FILE` names. Containers and
 * systemd use files, because the environment is visible in /proc and to child processes.
 */
export function secret(env: Env, name: SecretName): string | undefined {
  const value = optional(env, name)
  const variable = `${name}_FILE`
  const path = optional(env, variable)
  if (path === undefined) return value
  if (value !== undefined) throw new ConfigError(`${variable}: ${name} is set, too; set only one of them`)
  const content = readSecret(variable, path).trim()
  if (content === '') throw new ConfigError(`${variable}: ${path} is empty`)
  return content
}

/** The variable to name in a message about this secret. */
export function variableOf(env: Env, name: SecretName): string {
  return optional(env, `${name}_FILE`) === undefined ? name : `${name}_FILE`
}

export function requiredSecret(env: Env, name: SecretName, reason: string): string {
  const value = secret(env, name)
  if (value === undefined) throw new ConfigError(`${name} is required with ${reason}`)
  return value
}

function readSecret(variable: string, path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new ConfigError(`${variable}: ${path} cannot be read (${(error as NodeJS.ErrnoException).code})`)
  }
}
