import { existsSync, statSync } from 'node:fs'
import type Sqlite from 'better-sqlite3'

/**
 * When a database was made, to the millisecond (ISO 8601). All copies of it have the same, also after recoveries, and those of
 * earlier versions. Undefined if there is no file, or nothing of this service in it.
 */
export async function lineOf(path: string): Promise<string | undefined> {
  if (statSync(path, { throwIfNoEntry: false }) === undefined) return undefined
  const sqlite = await openToLook(path)
  try {
    const made = sqlite.prepare("select 1 from sqlite_schema where name = 'kysely_migration'").get()
    if (made === undefined) return undefined
    return sqlite.prepare<[], string>('select timestamp from kysely_migration order by name limit 1').pluck().get()
  } finally {
    sqlite.close()
  }
}

/**
 * Opens a database without changing it, or leaving a file: with a log, one is in use or was killed; without one, what a
 * connection makes beside it goes with it.
 */
export async function openToLook(path: string): Promise<Sqlite.Database> {
  const { default: Sqlite } = await import('better-sqlite3')
  const sqlite = new Sqlite(path, { fileMustExist: true, readonly: existsSync(`${path}-wal`) })
  sqlite.pragma('query_only = ON')
  return sqlite
}
