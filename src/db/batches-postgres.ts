import { sql } from 'kysely'
import type { Trx } from './database.ts'
import { bytes, type EntityKey, type Row, type StoredVersion } from './records.ts'
import type { Rejection } from './rejections.ts'

/** Set by set: one round trip for a whole push. */
export async function findPostgresVersions(
  trx: Trx,
  userId: string,
  keys: EntityKey[],
): Promise<(StoredVersion | undefined)[]> {
  const types = keys.map((key) => key.entity_type)
  const ids = keys.map((key) => key.entity_id)
  const { rows } = await sql<StoredVersion & { place: number }>`
    SELECT place, r.entity_type, r.entity_id, data_hash, created_at, updated_at, deleted_at, stamp, event_id, operation,
      timestamp, device_id, overwritten, ${bytes} AS bytes
    FROM unnest(${types}::text[], ${ids}::text[]) WITH ORDINALITY AS wanted (entity_type, entity_id, place)
    JOIN records r ON r.user_id = ${userId} AND r.entity_type = wanted.entity_type AND r.entity_id = wanted.entity_id
  `.execute(trx)
  const found = new Map(rows.map(({ place, ...version }) => [place, version]))
  return keys.map((_, index) => found.get(index + 1))
}

export async function savePostgresVersions(trx: Trx, rows: Row[]): Promise<void> {
  const column = <Name extends keyof Row>(name: Name) => rows.map((row) => row[name])
  await sql`
    INSERT INTO records (user_id, entity_type, entity_id, encrypted_data, data_hash, created_at, updated_at, deleted_at,
      stamp, event_id, operation, timestamp, device_id, conflict_resolved, resolution_strategy, overwritten)
    SELECT * FROM unnest(${column('user_id')}::text[], ${column('entity_type')}::text[], ${column('entity_id')}::text[],
      ${column('encrypted_data')}::text[], ${column('data_hash')}::text[], ${column('created_at')}::bigint[],
      ${column('updated_at')}::bigint[], ${column('deleted_at')}::bigint[], ${column('stamp')}::bigint[],
      ${column('event_id')}::text[], ${column('operation')}::text[], ${column('timestamp')}::bigint[],
      ${column('device_id')}::text[], ${column('conflict_resolved')}::integer[], ${column('resolution_strategy')}::text[],
      ${column('overwritten')}::text[])
    ON CONFLICT (user_id, entity_type, entity_id) DO UPDATE SET
      encrypted_data = coalesce(excluded.encrypted_data, records.encrypted_data),
      data_hash = coalesce(excluded.data_hash, records.data_hash),
      updated_at = excluded.updated_at,
      deleted_at = excluded.deleted_at,
      stamp = excluded.stamp,
      event_id = excluded.event_id,
      operation = excluded.operation,
      timestamp = excluded.timestamp,
      device_id = excluded.device_id,
      conflict_resolved = excluded.conflict_resolved,
      resolution_strategy = excluded.resolution_strategy,
      overwritten = excluded.overwritten
  `.execute(trx)
}

export async function savePostgresRejections(trx: Trx, rejections: Rejection[]): Promise<void> {
  if (rejections.length === 0) return
  const column = <Name extends keyof Rejection>(name: Name) => rejections.map((rejection) => rejection[name])
  await sql`
    INSERT INTO rejections (user_id, entity_type, entity_id, device_id, winner_stamp, created_at)
    SELECT * FROM unnest(${column('user_id')}::text[], ${column('entity_type')}::text[], ${column('entity_id')}::text[],
      ${column('device_id')}::text[], ${column('winner_stamp')}::bigint[], ${column('created_at')}::bigint[])
    ON CONFLICT (user_id, entity_type, entity_id) DO UPDATE SET
      device_id = excluded.device_id,
      winner_stamp = excluded.winner_stamp,
      created_at = excluded.created_at
  `.execute(trx)
}

export async function settlePostgresEntities(trx: Trx, userId: string, keys: EntityKey[]): Promise<void> {
  const types = keys.map((key) => key.entity_type)
  const ids = keys.map((key) => key.entity_id)
  await sql`
    DELETE FROM rejections USING unnest(${types}::text[], ${ids}::text[]) AS written (entity_type, entity_id)
    WHERE rejections.user_id = ${userId} AND rejections.entity_type = written.entity_type
      AND rejections.entity_id = written.entity_id
  `.execute(trx)
}
