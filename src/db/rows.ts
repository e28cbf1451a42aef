import { sql } from 'kysely'
import type { RecordsTable, Schema } from './schema.ts'
import type { Table } from './upsert.ts'

export type Row = RecordsTable
export type EntityKey = Pick<Row, 'entity_type' | 'entity_id'>
export type Rejection = Schema['rejections']

/** An entity as a map key; unambiguous, because ids contain no control characters. */
export function entityKey({ entity_type, entity_id }: EntityKey): string {
  return `${entity_type}\0${entity_id}`
}

export const records: Table<Row> = {
  name: 'records',
  key: ['user_id', 'entity_type', 'entity_id'],
  columns: {
    user_id: 'text',
    entity_type: 'text',
    entity_id: 'text',
    encrypted_data: 'text',
    data_hash: 'text',
    created_at: 'bigint',
    updated_at: 'bigint',
    deleted_at: 'bigint',
    stamp: 'bigint',
    event_id: 'text',
    operation: 'text',
    timestamp: 'bigint',
    device_id: 'text',
    conflict_resolved: 'integer',
    resolution_strategy: 'text',
    overwritten: 'text',
  },
  fixed: ['created_at'],
  // A delete has no data of its own, and keeps what is stored.
  keptIfNull: ['encrypted_data', 'data_hash'],
}

export const rejections: Table<Rejection> = {
  name: 'rejections',
  key: ['user_id', 'entity_type', 'entity_id'],
  columns: {
    user_id: 'text',
    entity_type: 'text',
    entity_id: 'text',
    device_id: 'text',
    winner_stamp: 'bigint',
    created_at: 'bigint',
  },
}

/** What decides who wins, without the ciphertext: a push can concern 10,000 stored versions of 256 KiB each. */
export interface StoredVersion extends Pick<Row, (typeof versionColumns)[number]> {
  /** Length of the ciphertext. */
  bytes: number
}

export const versionColumns = [
  'entity_type',
  'entity_id',
  'data_hash',
  'created_at',
  'updated_at',
  'deleted_at',
  'stamp',
  'event_id',
  'operation',
  'timestamp',
  'device_id',
  'overwritten',
] as const satisfies (keyof Row)[]

/** Unlike `length`, `octet_length` does not read the ciphertext on either database. */
export const bytes = sql<number>`coalesce(octet_length(encrypted_data), 0)`
