import { execFile } from 'node:child_process'
import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { totalmem } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { promisify } from 'node:util'
import type { Config } from '../config/config.ts'
import { type Env, secretNames } from '../config/values.ts'
import { fullMemory } from '../load/gate.ts'
import { type Finding, failure, foldersOf, isWithin, nearest, ok, warning } from './doctor-place.ts'

/** The limits and settings of the service's systemd unit. They do not apply to this command itself. */
export interface Unit {
  name: string
  /** Undefined if systemd does not answer, or has not loaded the unit. */
  properties: Map<string, string> | undefined
  /** In bytes; undefined if there is no limit. */
  memory: number | undefined
  /** The variables that the unit's lines `Environment=` set. */
  environment: Map<string, string>
  /** The names of the variables that its environment files set. These files take precedence. */
  inFiles: Set<string>
}

const asked = [
  ...['LoadState', 'SubState', 'User', 'ProtectSystem', 'ProtectHome', 'ReadWritePaths', 'StateDirectory', 'MemoryMax'],
  ...['Environment', 'EnvironmentFiles'],
]
const homes = ['/home', '/root', '/run/user']
const mebibyte = 1024 * 1024
const run = promisify(execFile)

export async function readUnit(name: string): Promise<Unit> {
  const shown = await run('systemctl', ['show', `--property=${asked.join()}`, name]).catch(() => undefined)
  const lines = (shown?.stdout ?? '').split('\n').map(assignment)
  const properties = new Map(lines)
  const files = lines.flatMap(([property, value]) => (property === 'EnvironmentFiles' ? namesIn(value) : []))
  const quoted = (properties.get('Environment') ?? '').match(/"(\\.|[^"\\])*"|\S+/g) ?? []
  const environment = new Map(quoted.map((word) => assignment(word.replaceAll(/^"|"$|\\(?=.)/g, ''))))
  return {
    name,
    properties: properties.get('LoadState') === 'loaded' ? properties : undefined,
    memory: Number(properties.get('MemoryMax')) || undefined,
    environment,
    inFiles: new Set(files),
  }
}

function assignment(line: string): [name: string, value: string] {
  const [name = '', ...value] = line.split('=')
  return [name, value.join('=')]
}

/** The names of the variables in a file. systemd shows its path as `/etc/x (ignore_errors=no)`. */
function namesIn(file: string): string[] {
  const path = file.replace(/ \(ignore_errors=\w+\)$/, '')
  if (!existsSync(path)) return []
  const lines = readFileSync(path, 'utf8').split('\n')
  return lines.map((line) => assignment(line)[0].trim())
}

export async function examineUnit(config: Config, unit: Unit | undefined, env: Env): Promise<Finding[]> {
  if (!unit) return []
  const { name, properties } = unit
  if (!properties) {
    const says = `systemd does not report the limits of ${name}`
    return [warning('unit', says, 'the service may have stricter limits than were checked')]
  }
  const user = properties.get('User') || 'root'
  const findings = [
    ...foldersOf(config).flatMap(([variable, path]) => bounds(variable, path, name, properties)),
    ...absent(name, user, properties),
    ...differences(unit, env),
  ]
  const state = properties.get('SubState') ?? ''
  if (['auto-restart', 'failed'].includes(state))
    findings.push(failure('unit', `${name} does not start (${state})`, `journalctl -u ${name} -n 20 has the reason`))
  const uid = (await run('id', ['-u', user]).catch(() => undefined))?.stdout.trim()
  if (uid !== String(process.getuid?.())) {
    const says = `${name} runs as ${user}, and the data belong to user ${process.getuid?.()}`
    findings.push(failure('unit', says, `chown -R ${user}: '${resolve(config.dataDir)}'`))
  }
  if (findings.length > 0) return findings
  return [ok('unit', `${name} may write where it has to`)]
}

/** Compares the unit's variables with this command's, which deploy/systemd/ebs has read from the unit's files. */
function differences({ name, environment, inFiles }: Unit, env: Env): Finding[] {
  const isPassed = (variable: string) => environment.has(variable) || inFiles.has(variable)
  const secrets = secretNames.filter((secret) => env[`${secret}_FILE`] && !isPassed(`${secret}_FILE`))
  const others = [...environment].filter(
    ([variable, value]) => !variable.endsWith('_FILE') && !inFiles.has(variable) && env[variable] !== value,
  )
  return [
    ...secrets.map((secret) => {
      const [credential, path] = [secret.toLowerCase(), env[`${secret}_FILE`]]
      const lines = `LoadCredential=${credential}:${path} Environment=${secret}_FILE=/run/credentials/%n/${credential}`
      const todo = `systemctl edit ${name}, with these lines: [Service] ${lines}`
      return failure('unit', `${name} does not pass ${secret} on: ${path} is for commands alone`, todo)
    }),
    ...others.map(([variable]) => {
      const says = `${variable}: ${name} sets it by Environment=, and commands do not have that value`
      return failure('unit', says, 'write it into the environment file instead')
    }),
  ]
}

function bounds(variable: string, path: string, name: string, properties: Map<string, string>): Finding[] {
  const place = realPlace(path)
  const says = `${variable}: ${name} may not write in ${place}`
  if (properties.get('ProtectHome') !== 'no' && homes.some((home) => isWithin(home, place)))
    return [failure('unit', says, 'name a folder elsewhere: ProtectHome= keeps it from this one')]
  const writable = [
    ...wordsOf(properties, 'StateDirectory').map((folder) => join('/var/lib', folder)),
    ...wordsOf(properties, 'ReadWritePaths').map((folder) => folder.replace(/^[-+]+/, '')),
  ]
  if (properties.get('ProtectSystem') !== 'strict') return []
  if (writable.some((folder) => isWithin(realPlace(folder), place))) return []
  const todo = `systemctl edit ${name}, with these lines: [Service] ReadWritePaths=${place}`
  return [failure('unit', says, todo)]
}

/** Folders that systemd requires to exist: otherwise the start fails with 226/NAMESPACE. */
function absent(name: string, user: string, properties: Map<string, string>): Finding[] {
  const demanded = wordsOf(properties, 'ReadWritePaths').filter((folder) => !folder.startsWith('-'))
  return demanded
    .map((folder) => folder.replace(/^\+/, ''))
    .filter((folder) => !existsSync(folder))
    .map((folder) => {
      const says = `ReadWritePaths: without ${folder}, systemd does not start ${name}`
      return failure('unit', says, `install -d -m 0700 -o ${user} '${folder}'`)
    })
}

function wordsOf(properties: Map<string, string>, name: string): string[] {
  return (properties.get(name) ?? '').split(' ').filter(Boolean)
}

/** Resolves links, even if the last folders do not exist yet. */
function realPlace(path: string): string {
  const there = nearest(resolve(path))
  return join(realpathSync(there), relative(there, resolve(path)))
}

export function examineMemory(_config: Config, unit?: Unit): Finding[] {
  const limit = unit?.memory ?? (process.constrainedMemory() || Number.POSITIVE_INFINITY)
  const memory = Math.min(limit, totalmem())
  const [has, wants] = [memory, fullMemory].map((bytes) => Math.floor(bytes / mebibyte))
  const says = `${unit?.name ?? 'this process'} may use ${has} MiB`
  if (memory >= fullMemory) return [ok('memory', says)]
  const todo = `give it ${wants} MiB: with less, many large requests at once may get it killed`
  return [warning('memory', says, todo)]
}
