import pg from 'pg'
import { columns, createTable, type RawStore, selectBookmarks, selectPage, upsert } from './store.ts'

/** The driver alone, with named statements. */
export async function openRawPostgres(url: string, connections: number): Promise<RawStore> {
  const pool = new pg.Pool({ connectionString: url, max: connections })
  await pool.query(createTable)
  const names = Object.keys(columns) as (keyof typeof columns)[]
  const arrays = names.map((name, index) => `$${index + 1}::${columns[name]}[]`)
  const insert = { name: 'insert', text: upsert(`SELECT * FROM unnest(${arrays})`) }
  const page = { name: 'page', text: selectPage(['$1', '$2', '$3']) }
  const bookmarks = { name: 'bookmarks', text: selectBookmarks(['$1', '$2', '$3']) }
  return {
    async write(rows) {
      await pool.query({ ...insert, values: names.map((_, column) => rows.map((row) => row[column])) })
    },
    page: async (user, after, limit) => (await pool.query({ ...page, values: [user, after, limit] })).rows,
    bookmarks: async (user, after, limit) => (await pool.query({ ...bookmarks, values: [user, after, limit] })).rows,
    close: () => pool.end(),
  }
}
