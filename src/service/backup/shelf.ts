import { readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { makeFolder } from '../config/folders.ts'
import { ConfigError } from '../config/values.ts'
import { databaseIdOf } from './database-id.ts'

/** A place for complete backups. */
export interface Shelf {
  /** The names of the backups. */
  list(): Promise<string[]>
  /** Makes a backup with this name. It is listed as soon as it is complete. An abort leaves nothing unfinished. */
  add(name: string, signal: AbortSignal): Promise<{ leftOut: number }>
  remove(name: string): Promise<void>
  /** The id of the backup's database; undefined if the backup has none, or no key opens it. */
  databaseIdOf(name: string): Promise<string | undefined>
  /** Names what a recovery needs in addition to the backup. */
  needs?: string
}

export interface BackupFacts {
  name: string
  /** Undefined if the backup's folder cannot be read, or no key opens its object in the bucket. */
  bytes: number | undefined
  /** For a backup in a folder, the result of decrypting a sample of its sealed values. */
  opens: 'opens with SECRET_KEY' | 'opens with no key of SECRET_KEY' | 'has nothing sealed' | 'cannot be read'
  /** The id of its database; undefined if it cannot be read. */
  databaseId: string | undefined
}

type Make = (path: string, signal: AbortSignal) => Promise<{ leftOut: unknown[] }>

/** Keeps each backup as a subfolder of `dir`. */
export function folderShelf(dir: string, make: Make): Shelf {
  return {
    list: () => listBackups(dir),
    async add(name, signal) {
      await prepare(dir)
      try {
        const { leftOut } = await make(join(dir, name), signal)
        return { leftOut: leftOut.length }
      } finally {
        await removeUnfinished(dir)
      }
    },
    async remove(name) {
      // A partly removed backup must not look complete.
      await rename(join(dir, name), join(dir, `${name}.unfinished-removed`))
      await removeUnfinished(dir)
    },
    databaseIdOf: (name) => databaseIdOf(join(dir, name, 'bookmarks.db')),
  }
}

/** The names of complete backups in a folder. */
export async function listBackups(dir: string): Promise<string[]> {
  return (await namesIn(dir)).filter((name) => momentOf(name) !== undefined)
}

/** The clocks of two machines may differ by this much. */
const toleranceMs = 60_000

/** Sorts backups by age, oldest first. One from the future was made with a wrong clock, and counts as the oldest. */
export function byAge(names: string[], now = Date.now()): { oldestFirst: string[]; fromFuture: string[] } {
  const isFuture = (name: string) => (momentOf(name) ?? 0) > now + toleranceMs
  const fromFuture = names.filter(isFuture).sort()
  return { oldestFirst: [...fromFuture, ...names.filter((name) => !isFuture(name)).sort()], fromFuture }
}

/** The names beyond `keep`, to be removed. The one just made counts as the newest, whatever the clock says. */
export function tooMany(names: string[], made: string, keep: number, now = Date.now()): string[] {
  const { oldestFirst } = byAge(
    names.filter((name) => name !== made),
    now,
  )
  return oldestFirst.slice(0, Math.max(0, oldestFirst.length - (keep - 1)))
}

async function namesIn(dir: string): Promise<string[]> {
  return readdir(dir).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return []
    throw new ConfigError(`BACKUP_TO: ${dir} cannot be read (${error.message})`)
  })
}

async function prepare(dir: string): Promise<void> {
  try {
    await makeFolder(dir)
  } catch (error) {
    throw new ConfigError(`BACKUP_TO: ${dir} cannot be written (${(error as Error).message})`)
  }
  // Leftovers of killed processes would fill the disk.
  await removeUnfinished(dir)
}

async function removeUnfinished(dir: string): Promise<void> {
  for (const name of (await namesIn(dir)).filter(isUnfinished))
    await rm(join(dir, name), { recursive: true, force: true })
}

/** A backup's name is the time of its copy, so that names sort by age: `2026-11-22T10-30-00-000Z`. */
export function nameOf(ms: number): string {
  return new Date(ms).toISOString().replaceAll(/[:.]/g, '-')
}

/** The time of the copy (Unix ms); undefined if this is not the name of a backup. */
export function momentOf(name: string): number | undefined {
  const [, day, hour, minute, rest] = /^(\d{4}-\d\d-\d\dT)(\d\d)-(\d\d)-(\d\d-\d{3}Z)$/.exec(name) ?? []
  const ms = Date.parse(`${day}${hour}:${minute}:${rest?.replace('-', '.')}`)
  return Number.isNaN(ms) ? undefined : ms
}

/** True for leftovers of an unfinished or partly removed backup. */
function isUnfinished(name: string): boolean {
  const [backup = '', rest] = name.split('.unfinished-')
  return rest !== undefined && momentOf(backup) !== undefined
}
