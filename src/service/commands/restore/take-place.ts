import { existsSync } from 'node:fs'
import { link, rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import Sqlite from 'better-sqlite3'
import { becomeOneFile } from '../../backup/database.ts'
import { syncPath } from '../../backup/make.ts'
import { nameOf } from '../../backup/shelf.ts'

/**
 * Puts the copy in the place of the database, in one step: if this is interrupted, one of the two is there, whole. Returns
 * where the database so far is kept; undefined if there was none.
 */
export async function takePlace(copy: string, path: string): Promise<string | undefined> {
  const kept = existsSync(path) ? await keep(path) : undefined
  withoutLog(copy)
  await syncPath(copy)
  await rename(copy, path)
  await syncPath(dirname(path))
  return kept
}

/** The write-ahead log must not be there any more when another database takes the place: SQLite would apply it to that. */
async function keep(path: string): Promise<string> {
  const kept = `${path}.before-${nameOf(Date.now())}`
  try {
    withoutLog(path)
  } catch {
    // A damaged database is kept with its log.
  }
  await link(path, kept)
  for (const suffix of ['-wal', '-shm']) if (existsSync(path + suffix)) await rename(path + suffix, kept + suffix)
  return kept
}

function withoutLog(path: string): void {
  const sqlite = new Sqlite(path, { fileMustExist: true })
  try {
    becomeOneFile(sqlite)
  } finally {
    sqlite.close()
  }
}
