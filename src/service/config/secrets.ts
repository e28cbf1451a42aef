import { secret } from './secret-value.ts'
import { ConfigError, type Env } from './values.ts'

/** The first key encrypts, all of them decrypt. Undefined in development if not set: one is generated in DATA_DIR. */
export function secretKeys(env: Env, environment: string): Uint8Array[] | undefined {
  const value = secret(env, 'SECRET_KEY')
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
