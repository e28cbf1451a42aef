import { type RawBuilder, sql } from 'kysely'
import { table } from './engine/table.ts'
import type { CiphertextsTable, RecordsTable, Schema, VersionsTable } from './schema.ts'

/** A record with its ciphertext. */
export interface Row extends RecordsTable {
  encrypted_data: string | null
}

export type Ciphertext = CiphertextsTable
export type KeptVersion = VersionsTable
export type EntityKey = Pick<Row, 'entity_type' | 'entity_id'>
export type Rejection = Schema['rejections']

/** An entity as a map key; unambiguous, because ids contain no control characters. */
export function entityKey({ entity_type, entity_id }: EntityKey): string {
  return `${entity_type}\0${entity_id}`
}

const alikeRecords = [
  'user_id',
  'entity_type',
  'deleted_at',
  'operation',
  'device_id',
  'conflict_resolved',
  'resolution_strategy',
  'overwritten',
] as const satisfies (keyof RecordsTable)[]

export const records = table<RecordsTable>('records', ['user_id', 'entity_type', 'entity_id'], alikeRecords, {
  user_id: 'text',
  entity_type: 'text',
  entity_id: 'text',
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
  bytes: 'bigint',
  data_stamp: 'bigint',
  first_stamp: 'bigint',
  versions: 'integer',
})

const alikeVersions = [
  'user_id',
  'entity_type',
  'operation',
  'device_id',
  'reason',
  'settled_at',
  'was_deleted',
] as const satisfies (keyof KeptVersion)[]

/** Added only, as each has a sequence number of its own. */
export const versions = table<KeptVersion>('versions', [], alikeVersions, {
  user_id: 'text',
  seq: 'bigint',
  entity_type: 'text',
  entity_id: 'text',
  version_id: 'text',
  operation: 'text',
  timestamp: 'bigint',
  device_id: 'text',
  data_hash: 'text',
  began: 'bigint',
  ended: 'bigint',
  reason: 'text',
  replaced_by: 'text',
  settled_at: 'bigint',
  was_deleted: 'integer',
  bytes: 'bigint',
  data_stamp: 'bigint',
})

/** Added only, too. */
export const ciphertexts = table<Ciphertext>('ciphertexts', [], ['user_id'], {
  user_id: 'text',
  stamp: 'bigint',
  encrypted_data: 'text',
})

export const rejections = table<Rejection>('rejections', ['user_id', 'entity_type', 'entity_id'], ['user_id'], {
  user_id: 'text',
  entity_type: 'text',
  entity_id: 'text',
  device_id: 'text',
  winner_stamp: 'bigint',
  created_at: 'bigint',
})

/** Rows of these refer to a user without a constraint, because a push would look the user up for each. */
export const withoutReference = ['records', 'ciphertexts', 'versions'] as const

/** What decides who wins: a push can concern 10,000 stored versions of 256 KiB each, so it has no ciphertext. */
export type StoredVersion = Pick<RecordsTable, (typeof versionColumns)[number]>

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
  'bytes',
  'data_stamp',
  'first_stamp',
  'versions',
] as const satisfies (keyof RecordsTable)[]

/** In a query for a user's records: the ciphertext of each that is returned and not deleted. */
export function ciphertextOf(userId: RawBuilder<string>) {
  return sql<string | null>`case when deleted_at is null then (
    select encrypted_data from ciphertexts
    where ciphertexts.user_id = ${userId} and ciphertexts.stamp = records.data_stamp
  ) end`.as('encrypted_data')
}

/** What the rows hold of ciphertext, which is ASCII. */
export function bytesOf(rows: Pick<Row, 'encrypted_data'>[]): number {
  return rows.reduce((sum, { encrypted_data }) => sum + (encrypted_data?.length ?? 0), 0)
}
