import { v7 as uuidv7 } from 'uuid'
import type { Database, Trx } from '../db/engine/database.ts'
import { type Placeholders, query } from '../db/engine/query.ts'
import { insert } from '../db/engine/table.ts'
import type { RecordsTable } from '../db/schema.ts'
import { entityKey } from '../db/tables/records.ts'
import { lockUser, saveCounters } from '../db/tables/users.ts'
import { findKept, type VersionRow, versions } from '../db/tables/versions.ts'

/** Of records in a query, which takes some milliseconds. */
const pageRows = 1000

/**
 * What was deleted by a release that kept no versions has its ciphertext, but no version that has it: it gets one, so that it
 * is in the trash and is erased in time. Which change made it is not known any more.
 */
export async function adoptTombstones(
  database: Pick<Database, 'bulk' | 'write'>,
  userId: string,
  now: number,
): Promise<void> {
  for (let after: number | undefined = 0; after !== undefined; ) {
    const rows: Tombstone[] = await records.all(database.bulk, { userId, after, rows: pageRows })
    after = rows.at(-1)?.stamp
    const found = rows.filter(isTombstone)
    if (found.length > 0) await database.write((trx) => adopt(trx, userId, found))
  }
  await database.write(async (trx) => checked.run(trx, { userId, now }))
}

/** Those that a version has, or that were written meanwhile, are left out. */
async function adopt(trx: Trx, userId: string, found: Tombstone[]): Promise<void> {
  const user = await lockUser(trx, userId)
  const kept = await findKept(trx, userId, [...new Set(found.map(({ entity_id }) => entity_id))])
  const known = new Set(kept.map(({ data_stamp }) => data_stamp))
  const current: Tombstone[] = await records.all(trx, {
    userId,
    after: (found[0] as Tombstone).stamp - 1,
    rows: pageRows,
  })
  const stamps = new Map(current.filter(isTombstone).map((row) => [entityKey(row), row.stamp]))
  const left = found.filter((row) => !known.has(row.data_stamp) && stamps.get(entityKey(row)) === row.stamp)
  if (left.length === 0) return
  await insert(
    trx,
    versions,
    left.map((row) => toVersion(userId, row)),
  )
  const version_bytes = user.version_bytes + left.reduce((sum, { bytes }) => sum + bytes, 0)
  await saveCounters(trx, { ...user, version_bytes })
}

type Tombstone = Pick<RecordsTable, (typeof columns)[number]>

const columns = [
  'entity_type',
  'entity_id',
  'data_hash',
  'created_at',
  'deleted_at',
  'stamp',
  'event_id',
  'bytes',
  'data_stamp',
] as const satisfies (keyof RecordsTable)[]

function isTombstone({ deleted_at, data_stamp }: Tombstone): boolean {
  return deleted_at !== null && data_stamp !== null
}

function toVersion(user_id: string, row: Tombstone): VersionRow {
  const { entity_type, entity_id, data_hash, created_at, stamp, event_id, bytes, data_stamp } = row
  return {
    user_id,
    seq: stamp,
    entity_type,
    entity_id,
    version_id: uuidv7(),
    operation: 'update',
    timestamp: created_at,
    device_id: 'unknown',
    data_hash,
    began: data_stamp,
    ended: stamp,
    reason: 'superseded',
    replaced_by: event_id,
    settled_at: null,
    was_deleted: 1,
    bytes,
    data_stamp,
  }
}

const records = query((db, { userId, after, rows }: Placeholders<{ userId: string; after: number; rows: number }>) =>
  db
    .selectFrom('records')
    .select(columns)
    .where('user_id', '=', userId)
    .where('stamp', '>', after)
    .orderBy('stamp')
    .limit(rows),
)

const checked = query((db, { userId, now }: Placeholders<{ userId: string; now: number }>) =>
  db.updateTable('users').set({ trash_checked_at: now }).where('id', '=', userId),
)
