import { readFileSync } from 'node:fs'
import { ConfigError, type Env, optional } from './values.ts'

/**
 * A secret is the variable's value, or what is in the file that the variable with `_FILE` names: so containers and systemd
 * hand it over, because the environment can be read in /proc and by child processes.
 */
export function secret(env: Env, name: string): string | undefined {
  const value = optional(env, name)
  const variable = `${name}_FILE`
  const path = optional(env, variable)
  if (path === undefined) return value
  if (value !== undefined) throw new ConfigError(`${variable}: ${name} is set, too; set only one of them`)
  const content = readSecret(variable, path).trim()
  if (content === '') throw new ConfigError(`${variable}: ${path} is empty`)
  return content
}

export function requiredSecret(env: Env, name: string, reason: string): string {
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
