import type { BenchRecord } from '../worker/records.ts'

/** All that the service returns of a change, and its sequence number. */
export const columns = {
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

/** In the order of the columns. */
export type RawRow = (string | number | null)[]

/** A table that could answer pushes and pulls: one row a record, found by its id and by its sequence number. */
export interface RawStore {
  /** Writes them in one transaction, which is durable when this resolves. */
  write(rows: RawRow[]): Promise<void>
  /** Its changes after a sequence number. */
  page(user: string, after: number, limit: number): Promise<object[]>
  /** The same, with what an export contains of a bookmark. */
  bookmarks(user: string, after: number, limit: number): Promise<object[]>
  close(): Promise<void>
}

const names = Object.keys(columns)
const replaced = names.slice(2).map((name) => `${name} = excluded.${name}`)

export const createTable = `CREATE TABLE IF NOT EXISTS records (
  ${Object.entries(columns).map(([name, type]) => `${name} ${type}`)},
  PRIMARY KEY (user_id, entity_id), UNIQUE (user_id, stamp)
)`
export const upsert = (source: string) =>
  `INSERT INTO records (${names}) ${source} ON CONFLICT (user_id, entity_id) DO UPDATE SET ${replaced}`
export const selectPage = (parameters: Parameters) => selectAfter(`${names}`, parameters)
export const selectBookmarks = (parameters: Parameters) =>
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
