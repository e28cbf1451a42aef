import { existsSync, readdirSync, statSync } from 'node:fs'
import { mkdir, open, rm, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { sqliteFile } from './storage.ts'
import { ConfigError, type Env, type SecretName, secret, secretNames, text } from './values.ts'

/** Makes a folder and its parents. A recursive `mkdir` would never end below a folder such as /proc (ENOENT). */
export async function makeFolder(path: string): Promise<void> {
  const above = dirname(resolve(path))
  if (above !== resolve(path) && !(await isFolder(above))) await makeFolder(above)
  await mkdir(path, { mode: 0o700 }).catch(async (error: NodeJS.ErrnoException) => {
    if (await isFolder(path)) return
    throw error.code === 'EEXIST' ? new Error(`${path} is not a folder`, { cause: error }) : error
  })
}

async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() === true
}

/** True if no setting is to blame: a disk is full or fails, or the server of a network folder cannot be reached. */
export function isTemporary(error: unknown): boolean {
  const { code = '' } = error as NodeJS.ErrnoException
  return /^(ENOSPC|EDQUOT|EIO|ESTALE|ETIMEDOUT|EHOSTDOWN|ENOTCONN)$/.test(code)
}

/** Syncs a file or a folder. A rename only survives a power failure once its folder is synced. */
export async function syncPath(path: string): Promise<void> {
  await using opened = await open(path)
  await opened.sync()
}

/** Writes a file, because only that reveals a read-only disk. */
export async function checkWritable(dir: string): Promise<void> {
  const probe = join(dir, '.probe')
  {
    await using file = await open(probe, 'w', 0o600)
    await file.writeFile('.')
    await file.sync()
  }
  await rm(probe, { force: true })
}

/**
 * If run as root, this process becomes the user who owns the data, or the folder where it would be created, because the
 * service could not open root's files. Secrets that only root can read are read before.
 */
export function becomeOwner(env: Env): void {
  if (process.getuid?.() !== 0) return
  const owner = findOwner(env)
  if (!owner) return
  const { variable, path, uid, gid } = owner
  for (const name of secretNames) keepSecret(env, name)
  try {
    joinGroups(uid, gid)
    process.setgid?.(gid)
    process.setuid?.(uid)
  } catch (error) {
    const { message } = error as Error
    throw new ConfigError(`${variable}: ${path} belongs to user ${uid}, which this process cannot become (${message})`)
  }
}

/** Refuses to create data as root if nothing shows which user runs the service: that user could not open it. */
export function requireOwner(env: Env): void {
  if (process.getuid?.() !== 0 || text(env, 'NODE_ENV', 'development') === 'development') return
  if (sqliteFile(secret(env, 'DATABASE_URL') ?? 'sqlite:') === undefined) return
  const [{ variable, path }] = placesOfData(env)
  const folder = resolve(variable === 'DATA_DIR' ? path : dirname(path))
  if (existsSync(folder) && readdirSync(folder).length > 0) return
  throw new ConfigError(
    `${variable}: what root makes in ${folder}, the service could not use. ` +
      `Let its user have that folder first: install -d -m 0700 -o USER '${folder}'`,
  )
}

interface Place {
  variable: string
  path: string
}

/** The database's own file comes first, because DATABASE_URL may name one outside DATA_DIR. */
function placesOfData(env: Env): [Place, ...Place[]] {
  const dataDir = { variable: 'DATA_DIR', path: text(env, 'DATA_DIR', './data') }
  const path = sqliteFile(secret(env, 'DATABASE_URL') ?? '')
  return path === undefined ? [dataDir] : [{ variable: 'DATABASE_URL', path }, dataDir]
}

/** Undefined if everything belongs to root. */
function findOwner(env: Env): (Place & Owner) | undefined {
  for (const place of placesOfData(env)) {
    const path = resolve(place.path)
    const found = ownerOf(path)
    // If root owns the file, root may have created it by mistake, in a folder of the service's user.
    const { uid, gid } = found.uid === 0 ? ownerOf(dirname(path)) : found
    if (uid !== 0) return { ...place, uid, gid }
  }
  return undefined
}

interface Owner {
  uid: number
  gid: number
}

function ownerOf(path: string): Owner {
  const found = statSync(path, { throwIfNoEntry: false })
  return found ?? (dirname(path) === path ? { uid: 0, gid: 0 } : ownerOf(dirname(path)))
}

function keepSecret(env: Env, name: SecretName): void {
  const value = secret(env, name)
  if (value === undefined) return
  env[name] = value
  delete env[`${name}_FILE`]
}

/** Joins the user's groups. In a container, the user may have no name and so no groups. */
function joinGroups(uid: number, gid: number): void {
  const { initgroups } = process as { initgroups?: (user: number, group: number) => void }
  try {
    initgroups?.(uid, gid)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_UNKNOWN_CREDENTIAL') throw error
    process.setgroups?.([gid])
  }
}
