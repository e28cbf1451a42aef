import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely'
import type { Db, Trx } from '../engine/database.ts'
import { isOneOf, type Placeholders, query } from '../engine/query.ts'
import type { EntityKey, KeptVersion } from '../rows.ts'
import type { Schema } from '../schema.ts'
import type { PageLimits } from './changes.ts'
import { isOpen } from './conflicts.ts'

/** A kept version with its ciphertext. */
export type VersionRow = KeptVersion & { encrypted_data: string | null }

const columns = [
  'seq',
  'entity_type',
  'entity_id',
  'version_id',
  'operation',
  'timestamp',
  'device_id',
  'data_hash',
  'began',
  'ended',
  'reason',
  'replaced_by',
  'settled_at',
  'was_deleted',
  'bytes',
  'data_stamp',
] as const satisfies (keyof KeptVersion)[]

/** Those of one entity before the sequence number `before`, newest first. */
export async function listVersions(
  db: Db,
  userId: string,
  { entity_type, entity_id }: EntityKey,
  before: number,
  { rows, bytes }: PageLimits,
): Promise<VersionRow[]> {
  return versionsOfEntity.all(db, { userId, entity_type, entity_id, before, rows, bytes })
}

interface Page extends PageLimits {
  userId: string
  before: number
}

const versionsOfEntity = query(
  (db, { userId, entity_type, entity_id, before, rows, bytes }: Placeholders<Page & EntityKey>) =>
    newestFirst(
      db,
      userId,
      db
        .selectFrom('versions')
        .where('user_id', '=', userId)
        .where('entity_type', '=', entity_type)
        .where('entity_id', '=', entity_id)
        .where('seq', '<', before)
        .limit(rows),
      bytes,
    ),
)

/** Conflicts that are not settled, of all entities. */
export async function listOpen(
  db: Db,
  userId: string,
  before: number,
  { rows, bytes }: PageLimits,
): Promise<VersionRow[]> {
  return openVersions.all(db, { userId, before, rows, bytes })
}

const openVersions = query((db, { userId, before, rows, bytes }: Placeholders<Page>) =>
  newestFirst(
    db,
    userId,
    db.selectFrom('versions').where('user_id', '=', userId).where(isOpen).where('seq', '<', before).limit(rows),
    bytes,
  ),
)

function newestFirst(
  db: Db,
  userId: RawBuilder<string>,
  page: SelectQueryBuilder<Schema, 'versions', object>,
  bytes: RawBuilder<number>,
) {
  const rows = page.select(['user_id', ...columns]).orderBy('seq', 'desc')
  const sums = db
    .selectFrom(rows.as('versions'))
    .selectAll()
    .select(sql<number>`sum(bytes) over (order by seq desc) - bytes`.as('before'))
  return db
    .selectFrom(sums.as('versions'))
    .select(['user_id', ...columns])
    .select(ciphertextOf(userId))
    .where('before', '<', bytes)
    .orderBy('seq', 'desc')
    .$castTo<VersionRow>()
}

function ciphertextOf(userId: RawBuilder<string>) {
  return sql<string | null>`(
    select encrypted_data from ciphertexts
    where ciphertexts.user_id = ${userId} and ciphertexts.stamp = versions.data_stamp
  )`.as('encrypted_data')
}

/** All kept versions of the entities with these ids, of whatever type. */
export async function findKept(trx: Trx, userId: string, ids: string[]): Promise<KeptVersion[]> {
  return ids.length === 0 ? [] : kept.all(trx, { userId, ids })
}

const kept = query((db, { userId, ids }: Placeholders<{ userId: string; ids: string[] }>) =>
  ofEntities(db, userId, ids).select(['user_id', ...columns]),
)

/** Makes the next writes count the versions of these entities. */
export async function markFull(trx: Trx, userId: string, ids: string[], versions: number): Promise<void> {
  if (ids.length > 0) await full.run(trx, { userId, ids, versions })
}

const full = query((db, { userId, ids, versions }: Placeholders<{ userId: string; ids: string[]; versions: number }>) =>
  db.updateTable('records').set({ versions }).where('user_id', '=', userId).where(isOneOfEntities(db, ids)),
)

/** What was current at a time, of those that were replaced later. Without those whose ciphertext is gone. */
export async function findCurrentAt(trx: Trx, userId: string, ids: string[], at: number): Promise<KeptVersion[]> {
  return ids.length === 0 ? [] : currentAt.all(trx, { userId, ids, at })
}

const currentAt = query((db, { userId, ids, at }: Placeholders<{ userId: string; ids: string[]; at: number }>) =>
  ofEntities(db, userId, ids)
    .select(['user_id', ...columns])
    .where('began', '<=', at)
    .where('ended', '>', at)
    .where(hasItsData(userId)),
)

function hasItsData(userId: RawBuilder<string>) {
  return sql<boolean>`(operation = 'delete' or exists (
    select 1 from ciphertexts where ciphertexts.user_id = ${userId} and ciphertexts.stamp = versions.data_stamp
  ))`
}

function ofEntities(db: Db, userId: RawBuilder<string>, ids: RawBuilder<string[]>) {
  return db.selectFrom('versions').where('user_id', '=', userId).where(isOneOfEntities(db, ids))
}

/** Whether a record or a version has one of these ids. The types are written out so that the indexes on entities are used. */
export function isOneOfEntities(db: Db, ids: RawBuilder<string[]>): RawBuilder<boolean> {
  return sql<boolean>`entity_type in ('bookmark', 'group', 'history') and ${isOneOf(db, 'entity_id', ids)}`
}
