import { statSync } from 'node:fs'
import { mkdir, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { sqliteFile } from './storage.ts'
import { ConfigError, type Env, type SecretName, secret, secretNames, text } from './values.ts'

/**
 * Makes a folder and those above it. Node's own `mkdir` tries for ever where the system says ENOENT below a folder that is
 * there, as it does in /proc.
 */
export async function makeFolder(path: string): Promise<void> {
  const above = dirname(resolve(path))
  if (above !== resolve(path) && !(await isFolder(above))) await makeFolder(above)
  await mkdir(path, { mode: 0o700 }).catch(async (error: NodeJS.ErrnoException) => {
    if (await isFolder(path)) return
    throw error.code === 'EEXIST' ? new Error(`${path} is no folder`, { cause: error }) : error
  })
}

async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() === true
}

/**
 * Run as root, this process becomes the user that the data belongs to, or that of the folder in which it would be made: what
 * root makes there, the service could not open. Secrets that only root can read are read before.
 */
export function becomeOwner(env: Env): void {
  if (process.getuid?.() !== 0) return
  const [variable, path] = placeOfData(env)
  const found = ownerOf(resolve(path))
  // A file of root in another user's folder is a mistake, which must not be made again.
  const { uid, gid } = found.uid === 0 ? ownerOf(dirname(resolve(path))) : found
  if (uid === 0) return
  for (const name of secretNames) holdSecret(env, name)
  try {
    joinGroups(uid, gid)
    process.setgid?.(gid)
    process.setuid?.(uid)
  } catch (error) {
    const { message } = error as Error
    throw new ConfigError(`${variable}: ${path} belongs to user ${uid}, which this process cannot become (${message})`)
  }
}

/** The database's own file, where DATABASE_URL names one: it may be elsewhere than DATA_DIR. */
function placeOfData(env: Env): [variable: string, path: string] {
  const file = sqliteFile(secret(env, 'DATABASE_URL') ?? '')
  if (file !== undefined) return ['DATABASE_URL', file]
  return ['DATA_DIR', text(env, 'DATA_DIR', './data')]
}

function ownerOf(path: string): { uid: number; gid: number } {
  const found = statSync(path, { throwIfNoEntry: false })
  return found ?? (dirname(path) === path ? { uid: 0, gid: 0 } : ownerOf(dirname(path)))
}

function holdSecret(env: Env, name: SecretName): void {
  const value = secret(env, name)
  if (value === undefined) return
  env[name] = value
  delete env[`${name}_FILE`]
}

/** Those of the user; in a container it may have no name, and so none. */
function joinGroups(uid: number, gid: number): void {
  const { initgroups } = process as { initgroups?: (user: number, group: number) => void }
  try {
    initgroups?.(uid, gid)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_UNKNOWN_CREDENTIAL') throw error
    process.setgroups?.([gid])
  }
}
