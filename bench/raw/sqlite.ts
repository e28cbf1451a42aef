import Sqlite from 'better-sqlite3'
import { columns, createTable, type RawRow, type RawStore, selectBookmarks, selectPage, upsert } from './store.ts'

/** The driver alone, as durable as the service, with statements that are prepared once. */
export async function openRawSqlite(path: string): Promise<RawStore> {
  const db = new Sqlite(path)
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = FULL')
  db.pragma('cache_size = -65536')
  db.pragma('wal_autocheckpoint = 16000')
  db.exec(createTable)
  const names = Object.keys(columns)
  const insert = db.prepare(upsert(`VALUES (${names.map(() => '?')})`))
  const page = db.prepare<[string, number, number], object>(selectPage(['?', '?', '?']))
  const bookmarks = db.prepare<[string, number, number], object>(selectBookmarks(['?', '?', '?']))
  const write = db.transaction((rows: RawRow[]) => {
    for (const row of rows) insert.run(row)
  })
  return {
    write: async (rows) => write(rows),
    page: async (user, after, limit) => page.all(user, after, limit),
    bookmarks: async (user, after, limit) => bookmarks.all(user, after, limit),
    close: async () => void db.close(),
  }
}
