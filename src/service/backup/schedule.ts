import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { FastifyBaseLogger } from 'fastify'
import { isBundle } from '../bundle.ts'
import type { Config } from '../config/config.ts'
import { checkWritable, isTemporary, makeFolder } from '../config/folders.ts'
import { sqliteFile } from '../config/storage.ts'
import { ConfigError } from '../config/values.ts'
import { commandLine } from '../terminal/command.ts'
import { bucketBackups, bucketShelf } from './bucket.ts'
import { databaseIdOf } from './database-id.ts'
import type { Made, Source } from './make.ts'
import type { Order } from './process.ts'
import { byAge, folderShelf, listBackups, momentOf, nameOf, type Shelf, tooMany } from './shelf.ts'

/** A failed backup is repeated after this time (ms), or after BACKUP_EVERY if that is shorter. */
const retryMs = 5 * 60_000
const program = fileURLToPath(new URL(isBundle ? './backup-process.mjs' : './process.ts', import.meta.url))
/** Bytes that the backup process may print. Enough to name each export that it left out. */
const maxOutputBytes = 64 * 1024 * 1024

export type Backups = ReturnType<typeof scheduleBackups>

/**
 * Undefined if no backups are scheduled.
 *
 * @throws ConfigError the folder of BACKUP_TO cannot be written
 */
export async function openBackups(
  config: Config,
  secretKeys: Uint8Array[],
  { clockGuard, log }: Pick<Schedule, 'clockGuard' | 'log'>,
): Promise<Backups | undefined> {
  const { everyMs, keep, dir, inBucket } = config.backup
  if (everyMs === undefined) return undefined
  if (!inBucket) await requireWritable(dir)
  const shelf = openShelf(config, secretKeys)
  const databaseId = await databaseIdOf(sourceOf(config).database)
  return scheduleBackups({ everyMs, keep, shelf, databaseId, clockGuard, log })
}

/** A full or missing disk does not prevent the start, because the schedule reports it and tries again. */
async function requireWritable(dir: string): Promise<void> {
  try {
    await makeFolder(dir)
    await checkWritable(dir)
  } catch (error) {
    if (isTemporary(error)) return
    throw new ConfigError(`BACKUP_TO: ${dir} cannot be written (${(error as Error).message})`)
  }
}

/** @param config must be for SQLite */
export function openShelf(config: Config, secretKeys: Uint8Array[]): Shelf {
  const { dir, inBucket } = config.backup
  const source = sourceOf(config)
  const folder = folderShelf(dir, (path, signal) => makeBackupApart({ source, path }, signal))
  return inBucket && config.s3 ? bucketShelf(config.s3, secretKeys, dir, folder) : folder
}

/** Refuses to create a new database while there are backups: its disk may not be mounted, or a variable is wrong. */
export async function requireDatabase(config: Config): Promise<void> {
  const file = sqliteFile(config.databaseUrl)
  if (file === undefined) return
  const path = resolve(file)
  if (!(await isNew(path))) return
  const found = await findBackups(config)
  if (found === undefined) return
  throw new ConfigError(
    `DATABASE_URL: there is no database in ${path}, while ${found.place} has ${found.count} backups. ` +
      'Is its disk mounted, are DATA_DIR and DATABASE_URL right? ' +
      `To recover the newest backup, if all are of one database: ${commandLine('restore', found.restore)}; ${commandLine('restore', '--list')} ` +
      `shows those in BACKUP_TO. To start over, without one: ${commandLine('migrate')}`,
  )
}

/** Looks even without a schedule: BACKUP_TO may be set only to recover, or DATA_DIR may have earlier backups. */
async function findBackups({ backup, s3, dataDir }: Config) {
  const inBucket = backup.inBucket && s3 ? s3 : undefined
  const { length } = inBucket ? await bucketBackups(inBucket) : await listBackups(backup.dir)
  const place = `BACKUP_TO (${inBucket?.bucket ?? resolve(backup.dir)})`
  if (length > 0) return { place, count: length, restore: 'latest' }
  const folder = resolve(dataDir, 'backups')
  const { length: count } = await listBackups(folder)
  return count > 0 ? { place: folder, count, restore: folder } : undefined
}

/** An unreadable database is not new; the start reports the error. */
async function isNew(path: string): Promise<boolean> {
  try {
    return (await databaseIdOf(path)) === undefined
  } catch {
    return false
  }
}

/** @param config must be for SQLite */
export function sourceOf({ databaseUrl, exportsDir, s3 }: Pick<Config, 'databaseUrl' | 'exportsDir' | 's3'>): Source {
  return { database: sqliteFile(databaseUrl) as string, exportsDir: s3 ? undefined : exportsDir }
}

interface Schedule {
  everyMs: number
  keep: number
  shelf: Shelf
  /** The id of the database that is backed up. */
  databaseId: string | undefined
  clockGuard: { isBelieved(): Promise<boolean>; behindMs(at: number): number }
  log: FastifyBaseLogger
  /** Only set by tests. */
  pauseMs?: number
}

/** Makes a backup whenever this database's newest one is older than `everyMs`. Removes those beyond `keep`. */
export function scheduleBackups({ everyMs, keep, shelf, databaseId, clockGuard, log, pauseMs = retryMs }: Schedule) {
  const stopping = new AbortController()
  const { signal } = stopping
  let [newest, failures] = [0, 0]
  const [own, reported] = [new Set<string>(), new Set<string>()]

  /** Excludes other databases' backups: if DATABASE_URL is wrong now, they may be the only copies of the right one. */
  async function listOwn(): Promise<string[]> {
    const names = await shelf.list()
    for (const name of names) {
      if (own.has(name)) continue
      const found = await shelf.databaseIdOf(name).catch((error: Error) => error)
      if (found !== undefined && found === databaseId) own.add(name)
      else if (!reported.has(name)) {
        reported.add(name)
        const err = found instanceof Error ? found : undefined
        log.error({ backup: name, err }, 'a backup is of another database, or cannot be read: it is never removed')
      }
    }
    return names.filter((name) => own.has(name))
  }

  async function makeOne(): Promise<string> {
    const begun = Date.now()
    const name = nameOf(begun)
    const { leftOut } = await shelf.add(name, signal)
    own.add(name)
    newest = begun
    const seconds = (Date.now() - begun) / 1000
    log.info({ backup: name, seconds, exportsLeftOut: leftOut, needs: shelf.needs }, 'made a backup')
    return name
  }

  /** Removes nothing while the clock is in doubt or behind: backups with a wrong time would replace good ones. */
  async function removeOld(made: string): Promise<void> {
    try {
      if (!(await clockGuard.isBelieved()) || clockGuard.behindMs(Date.now()) > 0) return
      for (const name of tooMany(await listOwn(), made, keep)) await shelf.remove(name)
    } catch (err) {
      log.error({ err }, 'an old backup could not be removed')
    }
  }

  /** Makes a backup if it is due. Resolves to how long (ms) to wait before the next call. */
  async function turn(): Promise<number> {
    try {
      const { oldestFirst, fromFuture } = byAge(await listOwn())
      if (fromFuture.length > 0)
        log.error({ backups: fromFuture }, 'there are backups from the future: look at the clock')
      // Backups from the future must not prevent new ones until their time comes.
      const last = oldestFirst.slice(fromFuture.length).at(-1)
      newest = momentOf(last ?? '') ?? 0
      const age = Date.now() - newest
      if (age < everyMs) return everyMs - Math.max(0, age)
      await removeOld(await makeOne())
      return everyMs
    } catch (err) {
      if (signal.aborted) return 0
      failures += 1
      log.error({ err }, 'a backup failed')
      return Math.min(everyMs, pauseMs)
    }
  }

  async function run(): Promise<void> {
    while (!signal.aborted) await sleep(await turn(), undefined, { signal, ref: false }).catch(() => {})
  }

  const running = run()
  return {
    /** The time (Unix ms) of the newest complete backup, including those of earlier processes; 0 if there is none. */
    lastSuccess: () => newest,
    /** The number of backups that failed in this process. */
    failures: () => failures,
    async close(): Promise<void> {
      stopping.abort()
      await running
    },
  }
}

/** Makes a backup in a separate process. An abort kills it at once, and may leave an unfinished folder. */
async function makeBackupApart(order: Order, signal: AbortSignal): Promise<Made> {
  // The process gets no other environment variables, because they contain secrets.
  const { NODE_COMPILE_CACHE } = process.env
  const env = { ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE }) }
  const options = { env, signal, killSignal: 'SIGKILL', maxBuffer: maxOutputBytes } as const
  const running = promisify(execFile)(process.execPath, [program, JSON.stringify(order)], options)
  try {
    return JSON.parse((await running).stdout)
  } catch (error) {
    // The abort is reported before the process has ended, and until then it can still create its folder.
    const { pid, exitCode, signalCode } = running.child
    if (pid !== undefined && exitCode === null && signalCode === null) await once(running.child, 'exit')
    const { stderr = '', message } = error as { stderr?: string; message: string }
    throw new Error(stderr.trim() || message, { cause: error })
  }
}
