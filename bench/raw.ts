import Sqlite from 'better-sqlite3'
import pg from 'pg'
import type { BenchRecord } from './worker/records.ts'

/** Opens a Postgres database by its `postgres:` URL, or an SQLite file. */
export function openRaw(place: string, connections: number): Promise<RawStore> {
  return place.startsWith('postgres:') ? openRawPostgres(place, connections) : openRawSqlite(place)
}

/** The columns that the service returns of a change, and its sequence number (`stamp`). */
const columns = {
  user_id: 'text',
  entity_id: 'text',
  stamp: 'bigint',
  id: 'text',
  entity_type: 'text',
  operation: 'text',
  timestamp: 'bigint',
  device_id: 'text',
  conflict_resolved: 'integer',
  resolution_strategy: 'text',
  encrypted_data: 'text',
  data_hash: 'text',
}

/** Values in the order of `columns`. */
type RawRow = (string | number | null)[]

/** The smallest table that could serve pushes and pulls: one row per record, indexed by id and sequence number. */
export interface RawStore {
  /** Writes the rows in one durable transaction. */
  write(rows: RawRow[]): Promise<void>
  /** Changes after a sequence number. */
  page(user: string, after: number, limit: number): Promise<object[]>
  /** Bookmarks after a sequence number, with the columns that an export needs. */
  bookmarks(user: string, after: number, limit: number): Promise<object[]>
  close(): Promise<void>
}

const names = Object.keys(columns)
const replaced = names.slice(2).map((name) => `${name} = excluded.${name}`)

const createTable = `CREATE TABLE IF NOT EXISTS records (
  ${Object.entries(columns).map(([name, type]) => `${name} ${type}`)},
  PRIMARY KEY (user_id, entity_id), UNIQUE (user_id, stamp)
)`
const upsert = (source: string) =>
  `INSERT INTO records (${names}) ${source} ON CONFLICT (user_id, entity_id) DO UPDATE SET ${replaced}`
const selectPage = (parameters: Parameters) => selectAfter(`${names}`, parameters)
const selectBookmarks = (parameters: Parameters) =>
  selectAfter(
    'entity_id AS id, encrypted_data, data_hash, timestamp AS created_at, timestamp AS updated_at',
    parameters,
  )

type Parameters = [user: string, after: string, limit: string]

function selectAfter(selected: string, [user, after, limit]: Parameters): string {
  return `SELECT ${selected} FROM records WHERE user_id = ${user} AND stamp > ${after} ORDER BY stamp LIMIT ${limit}`
}

export function toRow(user: string, record: BenchRecord, stamp: number): RawRow {
  const { id, timestamp, encrypted_data, data_hash } = record
  const event = [`${id}-${stamp}`, 'bookmark', 'create', timestamp, 'laptop']
  return [user, id, stamp, ...event, 0, null, encrypted_data, data_hash]
}

/** SQLite's driver alone, as durable as the service, with prepared statements. */
async function openRawSqlite(path: string): Promise<RawStore> {
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

/** Postgres' driver alone, with named statements. */
async function openRawPostgres(url: string, connections: number): Promise<RawStore> {
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
