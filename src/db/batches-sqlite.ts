import { sql } from 'kysely'
import type { Trx } from './database.ts'
import { bytes, columns, type EntityKey, type Row, type StoredVersion, versionColumns } from './records.ts'
import { type Rejection, rejectionColumns } from './rejections.ts'

/** Row by row, each statement compiled once: SQLite has no round trips, and this is three times as fast as a set. */
export async function findSqliteVersions(
  trx: Trx,
  userId: string,
  keys: EntityKey[],
): Promise<(StoredVersion | undefined)[]> {
  const query = trx
    .selectFrom('records')
    .select(versionColumns)
    .select(bytes.as('bytes'))
    .where('user_id', '=', userId)
    .where('entity_type', '=', 'bookmark')
    .where('entity_id', '=', '')
    .compile()
  const found: (StoredVersion | undefined)[] = []
  for (const { entity_type, entity_id } of keys) {
    const { rows } = await trx.executeQuery<StoredVersion>({ ...query, parameters: [userId, entity_type, entity_id] })
    found.push(rows[0])
  }
  return found
}

export async function saveSqliteVersions(trx: Trx, rows: Row[]): Promise<void> {
  const first = rows[0]
  if (!first) return
  const query = trx
    .insertInto('records')
    .columns(columns)
    .values(Object.fromEntries(columns.map((column) => [column, first[column]])) as unknown as Row)
    .onConflict((conflict) =>
      conflict.columns(['user_id', 'entity_type', 'entity_id']).doUpdateSet(({ ref, fn }) => ({
        encrypted_data: fn.coalesce(ref('excluded.encrypted_data'), ref('records.encrypted_data')),
        data_hash: fn.coalesce(ref('excluded.data_hash'), ref('records.data_hash')),
        updated_at: ref('excluded.updated_at'),
        deleted_at: ref('excluded.deleted_at'),
        stamp: ref('excluded.stamp'),
        event_id: ref('excluded.event_id'),
        operation: ref('excluded.operation'),
        timestamp: ref('excluded.timestamp'),
        device_id: ref('excluded.device_id'),
        conflict_resolved: ref('excluded.conflict_resolved'),
        resolution_strategy: ref('excluded.resolution_strategy'),
        overwritten: ref('excluded.overwritten'),
      })),
    )
    .compile()
  for (const row of rows) await trx.executeQuery({ ...query, parameters: columns.map((column) => row[column]) })
}

export async function saveSqliteRejections(trx: Trx, rejections: Rejection[]): Promise<void> {
  const [first] = rejections
  if (!first) return
  const query = trx
    .insertInto('rejections')
    .columns(rejectionColumns)
    .values(Object.fromEntries(rejectionColumns.map((column) => [column, first[column]])) as unknown as Rejection)
    .onConflict((conflict) =>
      conflict.columns(['user_id', 'entity_type', 'entity_id']).doUpdateSet(({ ref }) => ({
        device_id: ref('excluded.device_id'),
        winner_stamp: ref('excluded.winner_stamp'),
        created_at: ref('excluded.created_at'),
      })),
    )
    .compile()
  for (const rejection of rejections) {
    await trx.executeQuery({ ...query, parameters: rejectionColumns.map((column) => rejection[column]) })
  }
}

/** A set, here: most of the entities have no open conflict. */
export async function settleSqliteEntities(trx: Trx, userId: string, keys: EntityKey[]): Promise<void> {
  const written = JSON.stringify(keys.map(({ entity_type, entity_id }) => [entity_type, entity_id]))
  await sql`
    DELETE FROM rejections
    WHERE user_id = ${userId} AND (entity_type, entity_id) IN (SELECT value ->> 0, value ->> 1 FROM json_each(${written}))
  `.execute(trx)
}
