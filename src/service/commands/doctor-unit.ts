import { execFile } from 'node:child_process'
import { existsSync, realpathSync } from 'node:fs'
import { totalmem } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { promisify } from 'node:util'
import type { Config } from '../config/config.ts'
import { fullMemory } from '../load/gate.ts'
import { type Finding, failure, foldersOf, isWithin, nearest, ok, warning } from './doctor-place.ts'

/** The bounds that systemd sets for the service, while this command runs without them. */
export interface Unit {
  name: string
  /** Undefined if systemd does not tell. */
  properties: Map<string, string> | undefined
  /** Bytes; undefined without a bound. */
  memory: number | undefined
}

const asked = ['LoadState', 'User', 'ProtectSystem', 'ProtectHome', 'ReadWritePaths', 'StateDirectory', 'MemoryMax']
const homes = ['/home', '/root', '/run/user']
const mebibyte = 1024 * 1024
const run = promisify(execFile)

export async function readUnit(name: string): Promise<Unit> {
  const shown = await run('systemctl', ['show', `--property=${asked.join()}`, name]).catch(() => undefined)
  const properties = new Map(
    shown?.stdout.split('\n').map((line): [string, string] => {
      const [property = '', ...value] = line.split('=')
      return [property, value.join('=')]
    }),
  )
  if (properties.get('LoadState') !== 'loaded') return { name, properties: undefined, memory: undefined }
  return { name, properties, memory: Number(properties.get('MemoryMax')) || undefined }
}

export async function examineUnit(config: Config, unit?: Unit): Promise<Finding[]> {
  if (!unit) return []
  const { name, properties } = unit
  if (!properties) {
    const says = `systemd does not tell what ${name} may do`
    return [warning('unit', says, 'the service may be allowed less than was looked at')]
  }
  const user = properties.get('User') || 'root'
  const findings = [
    ...foldersOf(config).flatMap(([variable, path]) => bounds(variable, path, name, properties)),
    ...absent(name, user, properties),
  ]
  const uid = (await run('id', ['-u', user]).catch(() => undefined))?.stdout.trim()
  if (uid !== String(process.getuid?.())) {
    const says = `${name} runs as ${user}, and the data belong to user ${process.getuid?.()}`
    findings.push(failure('unit', says, `chown -R ${user}: '${resolve(config.dataDir)}'`))
  }
  if (findings.length > 0) return findings
  return [ok('unit', `${name} may write where it has to`)]
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

/** If no `-` precedes it, systemd starts nothing while such a folder is not there: 226/NAMESPACE. */
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

/** Resolves links, also where the last folders are not there yet. */
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
