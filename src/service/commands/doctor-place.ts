import { accessSync, constants, existsSync, readdirSync, statfsSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import type { Config } from '../config/config.ts'
import { sqliteFile } from '../config/storage.ts'
import type { Env } from '../config/values.ts'
import { knownVariables, misspelt } from '../config/variables.ts'
import { requireApp } from '../http/pages.ts'

export interface Finding {
  about: string
  state: 'ok' | 'warning' | 'error'
  says: string
  /** The operator's next step. */
  todo?: string
}

export function ok(about: string, says: string): Finding {
  return { about, state: 'ok', says }
}

export function warning(about: string, says: string, todo?: string): Finding {
  return { about, state: 'warning', says, ...(todo !== undefined && { todo }) }
}

export function failure(about: string, says: string, todo: string): Finding {
  return { about, state: 'error', says, todo }
}

const mebibyte = 1024 * 1024
/** Bytes that must be free, because on a full disk, even deleting fails. */
const leastFree = 128 * mebibyte
const wantedFree = 1024 * mebibyte

/** Reports variables that are misspelt, contain a comment, or have no effect. */
export function examineVariables(config: Config, _unit: unknown, env: Env): Finding[] {
  const { environment, databaseUrl, identityProvider, s3, publicUrl, backup } = config
  const isSet = (name: string) => Boolean(env[name]?.trim())
  const isSqlite = sqliteFile(databaseUrl) !== undefined
  const idle: [name: string, isIdle: boolean, because: string][] = [
    ['BACKUP_KEEP', backup.everyMs === undefined, 'BACKUP_EVERY is not set, so no backups are made'],
    ['EXPORTS_DIR', s3 !== undefined, 'exports go to S3_BUCKET'],
    ['SERVE_DEMO', isSet('SERVE_APP'), 'SERVE_APP is set'],
    ['DEV_IDP_PORT', identityProvider !== undefined, 'OIDC_ISSUER is set'],
    ['DATABASE_POOL_SIZE', isSqlite, 'the database is SQLite'],
    ['START_TIMEOUT', isSqlite, 'the database is SQLite'],
  ]
  const findings: Finding[] = [
    ...misspelt(env).map(({ name, meant }) => warning('settings', `nothing reads ${name}`, `did you mean ${meant}?`)),
    // Docker's --env-file takes a comment for a part of the value.
    ...[...knownVariables()]
      .filter((name) => /\s#/.test(env[name] ?? ''))
      .map((name) =>
        warning('settings', `${name} has a # after a blank`, 'if that is a comment, write it on a line of its own'),
      ),
    ...idle
      .filter(([name, isIdle]) => isIdle && isSet(name))
      .map(([name, , because]) => warning('settings', `${name} has no effect: ${because}`)),
  ]
  if (environment === 'development' && isSet('NODE_ENV') === false && publicUrl.startsWith('http:'))
    findings.push(ok('settings', 'this is development: for users, set NODE_ENV=production'))
  return findings.length > 0 ? findings : [ok('settings', `${environment}, at ${publicUrl}`)]
}

/** Reports who may sign in, so that the operator notices a rule that has no effect. */
export function examineSignUp({ environment, access, identityProvider, serveApp, origins }: Config): Finding[] {
  const { isClosed, domains, requiredClaim } = access
  const rules = [
    isClosed && 'existing users (SIGN_UP=closed)',
    domains && `e-mail addresses of ${[...domains].join(', ')}`,
    requiredClaim && `the claim ${requiredClaim.name}=${requiredClaim.value}`,
  ].filter(Boolean)
  const who = rules.length === 0 ? 'everybody, as no variable restricts it' : `only ${rules.join(', and ')}`
  const says = `who may sign in at ${identityProvider?.issuer ?? 'the development provider'}: ${who}`
  const nowhere = warning(
    'sign-up',
    'users have nothing to open',
    'set SERVE_APP=true for the web page, or CORS_ORIGIN for the extension',
  )
  // PUBLIC_URL is one of the origins.
  const hasNothing = environment !== 'development' && !serveApp && origins.size === 1
  return [ok('sign-up', says), ...(hasNothing ? [nowhere] : [])]
}

/** In development, `npm start` builds the web page. */
export async function examinePage({ environment, serveApp }: Config): Promise<Finding[]> {
  const fault = serveApp ? await requireApp().catch((error: Error) => error) : undefined
  if (!(fault instanceof Error)) return []
  const report = environment === 'development' ? warning : failure
  return [report('settings', fault.message, 'the service does not start with this')]
}

/** The folders that the service writes to, by variable. Leaves out those within DATA_DIR, except BACKUP_TO. */
export function foldersOf({ dataDir, databaseUrl, exportsDir, s3, backup }: Config): [name: string, path: string][] {
  const file = sqliteFile(databaseUrl)
  const others: [name: string, path: string][] = [
    ...(file === undefined ? [] : [['DATABASE_URL', dirname(file)] satisfies [string, string]]),
    ...(s3 ? [] : [['EXPORTS_DIR', exportsDir] satisfies [string, string]]),
  ]
  return [
    ['DATA_DIR', dataDir],
    ...others.filter(([, path]) => !isWithin(dataDir, path)),
    ...(backup.everyMs === undefined || backup.inBucket ? [] : [['BACKUP_TO', backup.dir] satisfies [string, string]]),
  ]
}

export function isWithin(folder: string, path: string): boolean {
  return `${resolve(path)}/`.startsWith(`${resolve(folder)}/`.replace('//', '/'))
}

/** Checks that the folders and what is directly in them belong to one user, and that the disks have room. */
export function examineDisk(config: Config): Finding[] {
  const file = sqliteFile(config.databaseUrl)
  const database = file === undefined ? 0 : (sizeIfThere(file) ?? 0)
  const found = foldersOf(config).flatMap(([name, path]) => {
    const place = nearest(resolve(path))
    if (accessError(place)?.code !== 'EROFS') return [...access(name, path), freeSpace(name, path, database)]
    const todo = 'mount it read-write, or name a folder elsewhere'
    return [failure('disk', `${name}: ${place} is on a disk that is mounted read-only`, todo)]
  })
  return [
    ...found,
    ...ownedByRoot(config),
    ...(file === undefined ? [] : [...sharedDisk(config, file), ...previousDatabases(file)]),
  ]
}

function sharedDisk({ backup }: Config, file: string): Finding[] {
  if (backup.everyMs === undefined || backup.inBucket) return []
  const [database, backups] = [dirname(file), backup.dir].map((path) => statSync(nearest(resolve(path))).dev)
  if (database !== backups) return []
  const says = `BACKUP_TO: ${backup.dir} is on the disk of the database, so both would be lost together`
  return [warning('disk', says, 'name a folder on another disk, or copy the backups to another machine')]
}

/** Reports previous databases, which `ebs restore` keeps. */
function previousDatabases(file: string): Finding[] {
  const folder = dirname(file)
  const names = existsSync(folder) ? readdirSync(folder) : []
  const kept = names.filter((name) => name.startsWith(`${basename(file)}.before-`))
  if (kept.length === 0) return []
  const says = `${kept.join(', ')}: databases from before a recovery, with what users have erased since`
  return [warning('database', says, `remove them from ${folder} when nobody needs them any more`)]
}

/** `becomeOwner` leaves this process root if nobody else owns the data, which a service as another user cannot use. */
function ownedByRoot({ environment, dataDir, databaseUrl, s3 }: Config): Finding[] {
  const file = sqliteFile(databaseUrl)
  if (process.getuid?.() !== 0 || environment === 'development' || (file === undefined && s3)) return []
  const path = resolve(dataDir)
  const isThere = existsSync(path) && readdirSync(path).length > 0
  const says = `DATA_DIR: ${path} belongs to root, or would: a service that runs as another user cannot use it`
  const todo = isThere ? `chown -R USER: '${path}'` : `install -d -m 0700 -o USER '${path}'`
  return [failure('owner', says, todo)]
}

/** Undefined if this process may read and write the file or folder. */
export function accessError(path: string): NodeJS.ErrnoException | undefined {
  try {
    accessSync(path, constants.R_OK | constants.W_OK)
    return undefined
  } catch (error) {
    return error as NodeJS.ErrnoException
  }
}

/** Checks access as the service's user, which this process has become. */
function access(name: string, path: string): Finding[] {
  const place = nearest(resolve(path))
  if (!statSync(place).isDirectory())
    return [failure('owner', `${name}: ${place} is not a folder`, 'name a folder, or move this file')]
  try {
    accessSync(place, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (error) {
    const [uid, gid] = [process.getuid?.(), process.getgid?.()]
    const says = `${name}: user ${uid} cannot use ${place} (${(error as Error).message})`
    return [failure('owner', says, `install -d -m 0700 -o ${uid} -g ${gid} '${resolve(path)}'`)]
  }
  if (place !== resolve(path)) return []
  const { uid, gid } = statSync(path)
  const strangers = readdirSync(path).filter((entry) => {
    const found = statSync(join(path, entry), { throwIfNoEntry: false })
    return found !== undefined && found.uid !== uid
  })
  if (strangers.length === 0) return []
  const says = `${name}: ${strangers.slice(0, 3).join(', ')} in ${path} belong to another user than the folder`
  return [failure('owner', says, `chown -R ${uid}:${gid} '${place}'`)]
}

function freeSpace(name: string, path: string, database: number): Finding {
  const place = nearest(resolve(path))
  const { bavail, bsize } = statfsSync(place)
  const free = bavail * bsize
  const isIn = place === resolve(path) ? path : `${path}, which is not there yet`
  const says = `${name}: ${Math.floor(free / mebibyte)} MiB are free in ${isIn}`
  if (free < leastFree) return failure('disk', says, 'make room: nothing can be written to a full disk')
  if (free >= Math.max(wantedFree, 2 * database)) return ok('disk', says)
  return warning('disk', says, 'make room: a backup or a recovery needs as much as the database again')
}

export function nearest(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : nearest(dirname(path))
}

function sizeIfThere(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.size
}
