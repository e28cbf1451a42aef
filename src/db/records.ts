import type { Db, Trx } from './database.ts'
import type { RecordsTable } from './schema.ts'

export type Row = RecordsTable
export type EntityKey = Pick<Row, 'entity_type' | 'entity_id'>

/** What decides who wins, without the ciphertext: a push may meet 10,000 stored versions of 256 KiB. */
export type StoredVersion = Omit<Row, 'encrypted_data' | 'user_id' | 'conflict_resolved' | 'resolution_strategy'>

const versionColumns = [
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
] as const satisfies (keyof StoredVersion)[]

/** The stored versions of the given entities, in their order; undefined for an unknown one. */
export async function findVersions(
  trx: Trx,
  userId: string,
  keys: EntityKey[],
): Promise<(StoredVersion | undefined)[]> {
  const query = trx
    .selectFrom('records')
    .select(versionColumns)
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

export const columns = [
  'user_id',
  'entity_type',
  'entity_id',
  'encrypted_data',
  'data_hash',
  'created_at',
  'updated_at',
  'deleted_at',
  'stamp',
  'event_id',
  'operation',
  'timestamp',
  'device_id',
  'conflict_resolved',
  'resolution_strategy',
] as const satisfies (keyof Row)[]

/** Stores new versions. A version without data (a delete) keeps the data that is stored; `created_at` never moves. */
export async function saveVersions(trx: Trx, rows: Row[]): Promise<void> {
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
      })),
    )
    .compile()
  for (const row of rows) await trx.executeQuery({ ...query, parameters: columns.map((column) => row[column]) })
}

export async function findBookmark(db: Db, userId: string, id: string): Promise<Row | undefined> {
  return db
    .selectFrom('records')
    .selectAll()
    .where('user_id', '=', userId)
    .where('entity_type', '=', 'bookmark')
    .where('entity_id', '=', id)
    .where('deleted_at', 'is', null)
    .executeTakeFirst()
}

/** Live bookmarks, newest first. */
export async function listNewest(db: Db, userId: string, limit: number, offset: number): Promise<Row[]> {
  return db
    .selectFrom('records')
    .selectAll()
    .where('user_id', '=', userId)
    .where('entity_type', '=', 'bookmark')
    .where('deleted_at', 'is', null)
    .orderBy('created_at', 'desc')
    .orderBy('entity_id', 'desc')
    .limit(limit)
    .offset(offset)
    .execute()
}

/** Live bookmarks with an id after `after`, by id: short pages for exports, whatever changes meanwhile. */
export async function listById(db: Db, userId: string, after: string, limit: number): Promise<Row[]> {
  return db
    .selectFrom('records')
    .selectAll()
    .where('user_id', '=', userId)
    .where('entity_type', '=', 'bookmark')
    .where('entity_id', '>', after)
    .where('deleted_at', 'is', null)
    .orderBy('entity_id')
    .limit(limit)
    .execute()
}

/** Changes after `since` that other devices made, counted up to `most`. */
export async function countChanges(
  db: Db,
  userId: string,
  since: number,
  deviceId: string,
  most: number,
): Promise<number> {
  const { count } = await db
    .selectFrom(
      db
        .selectFrom('records')
        .select('stamp')
        .where('user_id', '=', userId)
        .where('stamp', '>', since)
        .where('device_id', '<>', deviceId)
        .limit(most)
        .as('pending'),
    )
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return Number(count)
}
