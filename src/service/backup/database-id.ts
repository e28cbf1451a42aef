import { existsSync, statSync } from 'node:fs'
import type Sqlite from 'better-sqlite3'
import { historyIn, stateOf, tooOld } from '../db/migrate.ts'

/**
 * The database's id: when it was created, to the millisecond (ISO 8601). All copies and recoveries share it. Undefined
 * if there is no file, or this service has no tables in it.
 */
export async function databaseIdOf(path: string): Promise<string | undefined> {
  if (statSync(path, { throwIfNoEntry: false }) === undefined) return undefined
  const sqlite = await openForReading(path)
  try {
    const state = stateOf(historyIn(sqlite))
    if (state === 'before 3') throw new Error(`${path} ${tooOld}`)
    if (state === 'none') return undefined
    const made = sqlite.prepare<[], number>('select min(applied_at) from applied_migrations').pluck().get()
    return made === undefined ? undefined : new Date(made).toISOString()
  } finally {
    sqlite.close()
  }
}

/**
 * Opens a database without changing it or leaving files behind. If there is a write-ahead log, the database is in use
 * or its process was killed, so the log is only read. If there is none, the connection removes the one that it creates.
 */
export async function openForReading(path: string): Promise<Sqlite.Database> {
  const { default: Sqlite } = await import('better-sqlite3')
  const sqlite = new Sqlite(path, { fileMustExist: true, readonly: existsSync(`${path}-wal`) })
  sqlite.pragma('query_only = ON')
  return sqlite
}
