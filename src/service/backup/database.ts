import Sqlite from 'better-sqlite3'
import { ConfigError } from '../config/values.ts'
import { historyIn, stateOf, tooOld } from '../db/migrate.ts'
import { withoutReference } from '../db/tables/deletions.ts'
import type { Report } from '../terminal/progress.ts'
import { openForReading } from './database-id.ts'

/** Enough pages to be fast, and few enough to handle a signal in between. */
const pagesAtOnce = 1000

/**
 * Copies a snapshot of the database while the service keeps writing. The read transaction keeps the snapshot: without
 * it, each write of the service would restart the copy. Meanwhile the write-ahead log cannot shrink.
 */
export async function copyDatabase(
  from: string,
  to: string,
  subject = `DATABASE_URL: ${from}`,
  report: Report = () => {},
): Promise<void> {
  const source = openSource(from, subject)
  try {
    source.exec('begin')
    source.prepare('select 1 from sqlite_schema').get()
    await source.backup(to, {
      progress({ totalPages, remainingPages }) {
        report('copying the database', totalPages - remainingPages, totalPages)
        return pagesAtOnce
      },
    })
  } catch (error) {
    throw explained(error, subject)
  } finally {
    source.close()
  }
}

function openSource(path: string, subject: string): Sqlite.Database {
  try {
    return new Sqlite(path, { readonly: true, fileMustExist: true })
  } catch (error) {
    throw new ConfigError(`${subject} cannot be opened (${(error as Error).message})`)
  }
}

/** An export that has a file. */
export interface StoredExport {
  user_id: string
  id: string
  object_key: string
  size_bytes: number
}

/** Opens a copy that nothing else uses, and marks it as restored: the first start on it begins a new sync epoch. */
export function openCopy(path: string, subject: string) {
  const copy = new Sqlite(path, { fileMustExist: true })
  const explaining = <T>(read: () => T): T => {
    try {
      return read()
    } catch (error) {
      throw explained(error, subject)
    }
  }
  try {
    explaining(() => beginAgain(copy, subject))
  } catch (error) {
    copy.close()
    throw error
  }
  return {
    listExports() {
      const sql = 'select user_id, id, object_key, size_bytes from exports where object_key is not null'
      return explaining(() => copy.prepare<[], StoredExport>(sql).all())
    },
    removeExport: ({ user_id, id }: StoredExport) =>
      void copy.prepare('delete from exports where user_id = ? and id = ?').run(user_id, id),
    /** Throws if the copy is damaged. Returns the number of rows by table, without `applied_migrations`. */
    check: () => explaining(() => checkWhole(copy, subject)),
    close: () => void copy.close(),
  }
}

function beginAgain(copy: Sqlite.Database, subject: string): void {
  checkVersion(copy, subject)
  copy.exec('update epoch set restored = 1')
  // The shell `sqlite3` deletes a login without its tokens, which are worth nothing then.
  copy.exec('delete from tokens where (user_id, login_id) not in (select user_id, id from logins)')
  becomeOneFile(copy)
}

/** Turns off WAL, so that the database is one file. The service turns it on again when it starts. */
export function becomeOneFile(sqlite: Sqlite.Database): void {
  sqlite.pragma('journal_mode = DELETE')
}

function checkVersion(copy: Sqlite.Database, subject: string): void {
  const state = stateOf(historyIn(copy))
  if (state === 'none') throw new ConfigError(`${subject} is not a database of this service`)
  if (state === 'before 3') throw new ConfigError(`${subject} ${tooOld}`)
  if (state === 'newer') throw new ConfigError(`${subject} was made by a newer version; take the command from that one`)
}

/** Throws if the file is damaged. Changes nothing. */
export async function checkIntegrity(path: string, subject: string): Promise<void> {
  let sqlite: Sqlite.Database | undefined
  try {
    sqlite = await openForReading(path)
    requireIntact(sqlite, subject)
  } catch (error) {
    throw explained(error, subject)
  } finally {
    sqlite?.close()
  }
}

function requireIntact(sqlite: Sqlite.Database, subject: string): void {
  const fault = String(sqlite.pragma('integrity_check(1)', { simple: true }))
  if (fault !== 'ok') throw new ConfigError(`${subject} is damaged (${fault.replaceAll(/\s+/g, ' ')})`)
}

function checkWhole(copy: Sqlite.Database, subject: string): Record<string, number> {
  requireIntact(copy, subject)
  const [orphan] = copy.pragma('foreign_key_check') as { table: string; parent: string }[]
  if (orphan) {
    throw new ConfigError(`${subject} is damaged (${orphan.table} refers to ${orphan.parent} that are gone)`)
  }
  const tables = copy.prepare<[], string>(
    `select name from sqlite_schema where type = 'table' and name not like 'sqlite!_%' escape '!'
      and name <> 'applied_migrations' order by name`,
  )
  const names = tables.pluck().all()
  for (const table of withoutReference) {
    const isOrphaned = copy.prepare(`select 1 from ${table} where user_id not in (select id from users) limit 1`).get()
    if (isOrphaned) throw new ConfigError(`${subject} is damaged (${table} refers to users that are gone)`)
  }
  const count = (table: string) => copy.prepare<[], number>(`select count(*) from "${table}"`).pluck().get() ?? 0
  return Object.fromEntries(names.map((table) => [table, count(table)]))
}

function explained(error: unknown, subject: string): unknown {
  if (!(error instanceof Sqlite.SqliteError)) return error
  const isDamaged = /^SQLITE_(NOTADB|CORRUPT)/.test(error.code)
  return new ConfigError(`${subject} ${isDamaged ? 'is damaged' : 'cannot be copied'} (${error.message})`)
}
