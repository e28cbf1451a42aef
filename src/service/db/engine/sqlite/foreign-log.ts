import { linkSync, rmSync, statSync } from 'node:fs'
import Sqlite from 'better-sqlite3'
import { ConfigError } from '../../../config/values.ts'

/**
 * Refuses a file that cannot be read with the log next to it, but without. Then the log is of a database that was there
 * before, and SQLite writes it into the file as soon as a connection that can write is closed. `look` says whether the
 * file can be read: a start and most commands have no time for the whole file.
 */
export function refuseForeignLog(path: string, look = readSchema): void {
  const bytes = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0
  if (bytes === 0 || canBeRead(path, look) || !isIntactAlone(path)) return
  throw new ConfigError(
    `DATABASE_URL: ${path} is intact, but not with ${path}-wal, which is of the database that was there before: remove ${path}-wal and ${path}-shm before anything else, or they will destroy it`,
  )
}

/** A first start that was killed leaves a file without tables. */
function readSchema(sqlite: Sqlite.Database): boolean {
  sqlite.prepare('select sql from sqlite_schema').all()
  return true
}

export function isIntact(sqlite: Sqlite.Database): boolean {
  return sqlite.pragma('integrity_check(1)', { simple: true }) === 'ok'
}

/** A connection that only reads leaves the log as it is. */
function canBeRead(path: string, look: typeof isIntact): boolean {
  try {
    const sqlite = new Sqlite(path, { readonly: true })
    try {
      return look(sqlite)
    } finally {
      sqlite.close()
    }
  } catch {
    return false
  }
}

/** SQLite finds no log for the file by another name. */
function isIntactAlone(path: string): boolean {
  const alone = `${path}.alone`
  const remove = () => {
    for (const suffix of ['', '-wal', '-shm']) rmSync(alone + suffix, { force: true })
  }
  try {
    remove()
    linkSync(path, alone)
    // A connection that only reads cannot make the files that a database with a log needs, even if it is empty.
    const sqlite = new Sqlite(alone)
    try {
      return isIntact(sqlite)
    } finally {
      sqlite.close()
    }
  } catch {
    // A file system without links.
    return false
  } finally {
    remove()
  }
}
