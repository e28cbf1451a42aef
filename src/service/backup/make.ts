import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { constants, copyFile, mkdir, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { syncPath } from '../config/folders.ts'
import { ConfigError } from '../config/values.ts'
import { assertObjectKey } from '../objects/store.ts'
import type { Report } from '../terminal/progress.ts'
import { writeChecksums } from './checksums.ts'
import { copyDatabase, openCopy, type StoredExport } from './database.ts'

const stopSignals = ['SIGINT', 'SIGTERM'] as const

export interface Source {
  /** The file of the SQLite database. */
  database: string
  /** Undefined if the exports are in a bucket. */
  exportsDir: string | undefined
}

export interface Made {
  /** The number of rows by table. */
  rows: Record<string, number>
  leftOut: LeftOut[]
}

/** An export whose file is missing or incomplete. */
export type LeftOut = [left: StoredExport, reason: string]

/** Makes a verified copy in a new folder, which can be used as DATA_DIR. The folder is renamed to `path` at the end. */
export async function makeBackup(source: Source, path: string, report: Report = () => {}): Promise<Made> {
  return makeFolder(path, (unfinished) => fill(source, unfinished, report))
}

/** Copies the database before the export files that it lists. Leaves out an export whose file disappears meanwhile. */
async function fill({ database, exportsDir }: Source, folder: string, report: Report): Promise<Made> {
  const path = join(folder, 'bookmarks.db')
  const subject = `DATABASE_URL: ${database}`
  await copyDatabase(database, path, subject, report)
  const made = await checkCopy(path, subject, folder, exportsDir, report)
  const exports = exportsDir === undefined ? [] : await readdir(join(folder, 'exports'))
  await writeChecksums(folder, ['bookmarks.db', ...exports.sort().map((name) => `exports/${name}`)])
  return made
}

async function checkCopy(
  path: string,
  subject: string,
  folder: string,
  exportsDir: string | undefined,
  report: Report,
): Promise<Made> {
  const copy = openCopy(path, subject)
  try {
    const to = join(folder, 'exports')
    const leftOut = exportsDir === undefined ? [] : await copyExports(copy.listExports(), exportsDir, to, report)
    for (const [one] of leftOut) copy.removeExport(one)
    report('checking the copy', 0, 1)
    return { rows: copy.check(), leftOut }
  } finally {
    copy.close()
  }
}

async function copyExports(exports: StoredExport[], from: string, to: string, report: Report): Promise<LeftOut[]> {
  await mkdir(to)
  const leftOut: LeftOut[] = []
  if (exports.length === 0) return leftOut
  await checkFolder(from)
  for (const [index, stored] of exports.entries()) {
    report('copying export files', index, exports.length)
    const fault = await copyExport(stored, from, to)
    if (fault) leftOut.push([stored, fault])
  }
  return leftOut
}

/** A wrong EXPORTS_DIR would make all exports look deleted. */
async function checkFolder(dir: string): Promise<void> {
  const found = await stat(dir).catch((error: Error) => error)
  if (found instanceof Error) throw new ConfigError(`EXPORTS_DIR: ${dir} cannot be read (${found.message})`)
}

async function copyExport({ object_key, size_bytes }: StoredExport, from: string, to: string) {
  assertObjectKey(object_key)
  const path = join(to, object_key)
  try {
    await copyFile(join(from, object_key), path, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 'its file is gone'
    throw error
  }
  const { size } = await stat(path)
  if (size === size_bytes) return undefined
  await rm(path)
  return `its file has ${size} bytes instead of ${size_bytes}`
}

/**
 * Makes a folder under a name that marks it as unfinished, lets `fill` write into it, and renames it once everything is
 * on disk. A failure, SIGINT or SIGTERM leaves nothing behind; another signal leaves the unfinished folder.
 */
async function makeFolder<T>(path: string, fill: (unfinished: string) => Promise<T>): Promise<T> {
  if (existsSync(path)) throw new Error(`${path} is there already: a backup overwrites nothing`)
  let unfinished = ''
  const stop = () => {
    if (unfinished) rmSync(unfinished, { recursive: true, force: true })
    process.exit(1)
  }
  for (const signal of stopSignals) process.once(signal, stop)
  try {
    unfinished = makeUnfinished(path)
    const result = await fill(unfinished)
    for (const name of await readdir(unfinished, { recursive: true })) await syncPath(join(unfinished, name))
    await syncPath(unfinished)
    await rename(unfinished, path)
    await syncPath(dirname(path))
    return result
  } catch (error) {
    if (unfinished) await rm(unfinished, { recursive: true, force: true })
    throw error
  } finally {
    for (const signal of stopSignals) process.off(signal, stop)
  }
}

function makeUnfinished(path: string): string {
  try {
    return mkdtempSync(`${path}.unfinished-`)
  } catch (error) {
    throw new Error(`${path} cannot be written (${(error as Error).message})`, { cause: error })
  }
}
