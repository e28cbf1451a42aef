import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely'
import type { Db, Trx } from '../engine/database.ts'
import { isOneOf, type Placeholders, query } from '../engine/query.ts'
import { table } from '../engine/table.ts'
import type { Schema, VersionsTable } from '../schema.ts'
import type { PageLimits } from './changes.ts'
import { isOpen } from './conflicts.ts'
import type { EntityKey } from './records.ts'
import type { Counters } from './users.ts'

export type VersionRow = VersionsTable
/** With its ciphertext. */
export type VersionWithData = VersionRow & { encrypted_data: string | null }

/** Added only, as each has a sequence number of its own. */
export const versions = table<VersionRow>('versions', {
  alike: ['user_id', 'entity_type', 'operation', 'device_id', 'reason', 'settled_at', 'was_deleted'],
  columns: {
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
  },
})

const columns = [
  'user_id',
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
] as const satisfies (keyof VersionRow)[]

/** Those of one entity before the sequence number `before`, newest first. */
export async function listVersions(
  db: Db,
  userId: string,
  { entity_type, entity_id }: EntityKey,
  before: number,
  { rows, bytes }: PageLimits,
): Promise<VersionWithData[]> {
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
): Promise<VersionWithData[]> {
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
  const rows = page.select(columns).orderBy('seq', 'desc')
  const sums = db
    .selectFrom(rows.as('versions'))
    .selectAll()
    .select(sql<number>`sum(bytes) over (order by seq desc) - bytes`.as('before'))
  return db
    .selectFrom(sums.as('versions'))
    .select(columns)
    .select(ciphertextOf(userId))
    .where('before', '<', bytes)
    .orderBy('seq', 'desc')
    .$castTo<VersionWithData>()
}

function ciphertextOf(userId: RawBuilder<string>) {
  return sql<string | null>`(
    select encrypted_data from ciphertexts
    where ciphertexts.user_id = ${userId} and ciphertexts.stamp = versions.data_stamp
  )`.as('encrypted_data')
}

/** All kept versions of the entities with these ids, of whatever type. */
export async function findKept(trx: Trx, userId: string, ids: string[]): Promise<VersionRow[]> {
  return ids.length === 0 ? [] : kept.all(trx, { userId, ids })
}

const kept = query((db, { userId, ids }: Placeholders<{ userId: string; ids: string[] }>) =>
  ofEntities(db, userId, ids).select(columns),
)

/** Makes the next writes count the versions of these entities. */
export async function markFull(trx: Trx, userId: string, ids: string[], versions: number): Promise<void> {
  if (ids.length > 0) await full.run(trx, { userId, ids, versions })
}

const full = query((db, { userId, ids, versions }: Placeholders<{ userId: string; ids: string[]; versions: number }>) =>
  db.updateTable('records').set({ versions }).where('user_id', '=', userId).where(isOneOfEntities(db, ids)),
)

/** The versions that were current at a time, of those that were replaced later. Without those whose ciphertext is gone. */
export async function findCurrentAt(trx: Trx, userId: string, ids: string[], at: number): Promise<VersionRow[]> {
  return ids.length === 0 ? [] : currentAt.all(trx, { userId, ids, at })
}

const currentAt = query((db, { userId, ids, at }: Placeholders<{ userId: string; ids: string[]; at: number }>) =>
  ofEntities(db, userId, ids)
    .select(columns)
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

/** True if a record or a version has one of these ids. The types are written out so that the indexes on entities are used. */
function isOneOfEntities(db: Db, ids: RawBuilder<string[]>): RawBuilder<boolean> {
  return sql<boolean>`entity_type in ('bookmark', 'group', 'history') and ${isOneOf(db, 'entity_id', ids)}`
}

/** How much was erased, of the user's counters with these names. */
export type Erased = Pick<Counters, 'stored_bytes' | 'version_bytes'>

const nothing: Erased = { stored_bytes: 0, version_bytes: 0 }

/** The user's counters after something was erased. */
export function subtract<User extends Erased>(user: User, { stored_bytes, version_bytes }: Erased): User {
  return {
    ...user,
    stored_bytes: user.stored_bytes - stored_bytes,
    // An instance of an earlier release may have removed ciphertext that counts here.
    version_bytes: Math.max(0, user.version_bytes - version_bytes),
  }
}

/** Removes kept versions, and each ciphertext that neither another one nor a live record has. A tombstone loses its own. */
export async function eraseVersions(trx: Trx, userId: string, seqs: number[]): Promise<Erased> {
  if (seqs.length === 0) return nothing
  const removed = await removedVersions.all(trx, { userId, seqs })
  const ids = [...new Set(removed.map(({ entity_id }) => entity_id))]
  const [kept, live] = [await findKept(trx, userId, ids), await liveData.all(trx, { userId, ids })]
  const inUse = new Set([...kept, ...live].map(({ data_stamp }) => data_stamp))
  const erased = new Map(
    removed.flatMap(({ data_stamp, bytes }) => (inUse.has(data_stamp) ? [] : [[data_stamp, bytes]])),
  )
  erased.delete(null)
  const stamps = [...erased.keys()] as number[]
  const stored_bytes = await eraseData(trx, userId, ids, stamps)
  return { stored_bytes, version_bytes: [...erased.values()].reduce((sum: number, bytes) => sum + Number(bytes), 0) }
}

/** The oldest of a user's kept versions that became versions before `before`, at most `max`. */
export async function oldestVersions(
  trx: Trx,
  userId: string,
  before: number,
  max: number,
): Promise<{ seq: number; bytes: number }[]> {
  return oldest.all(trx, { userId, before, max })
}

/** Those of the entities with these ids that are more than `most` of their entity. */
export async function versionsBeyond(trx: Trx, userId: string, ids: string[], most: number): Promise<number[]> {
  if (ids.length === 0) return []
  return (await beyond.all(trx, { userId, ids, most })).map(({ seq }) => seq)
}

/** Erases what is kept of a deleted record, and all its versions. */
export async function purge(
  trx: Trx,
  userId: string,
  { entity_type, entity_id }: EntityKey,
  data_stamp: number | null,
): Promise<Erased> {
  const kept = (await findKept(trx, userId, [entity_id])).filter((version) => version.entity_type === entity_type)
  const erased = await eraseVersions(
    trx,
    userId,
    kept.map(({ seq }) => seq),
  )
  const left = data_stamp === null ? 0 : await eraseData(trx, userId, [entity_id], [data_stamp])
  return { ...erased, stored_bytes: erased.stored_bytes + left }
}

async function eraseData(trx: Trx, userId: string, ids: string[], stamps: number[]): Promise<number> {
  if (stamps.length === 0) return 0
  const rows = await erasedCiphertexts.all(trx, { userId, stamps })
  await emptiedTombstones.run(trx, { userId, ids, stamps })
  return rows.reduce((sum, { bytes }) => sum + Number(bytes), 0)
}

interface Listed {
  userId: string
  ids: string[]
}

const removedVersions = query((db, { userId, seqs }: Placeholders<{ userId: string; seqs: number[] }>) =>
  db
    .deleteFrom('versions')
    .where('user_id', '=', userId)
    .where(isOneOf(db, 'seq', seqs, 'bigint'))
    .returning(['entity_id', 'data_stamp', 'bytes']),
)

const liveData = query((db, { userId, ids }: Placeholders<Listed>) =>
  db
    .selectFrom('records')
    .select('data_stamp')
    .where('user_id', '=', userId)
    .where(isOneOfEntities(db, ids))
    .where('deleted_at', 'is', null),
)

const erasedCiphertexts = query((db, { userId, stamps }: Placeholders<{ userId: string; stamps: number[] }>) =>
  db
    .deleteFrom('ciphertexts')
    .where('user_id', '=', userId)
    .where(isOneOf(db, 'stamp', stamps, 'bigint'))
    .returning(sql<number>`octet_length(encrypted_data)`.as('bytes')),
)

const emptiedTombstones = query((db, { userId, ids, stamps }: Placeholders<Listed & { stamps: number[] }>) =>
  db
    .updateTable('records')
    .set({ data_stamp: null, bytes: 0 })
    .where('user_id', '=', userId)
    .where(isOneOfEntities(db, ids))
    .where(isOneOf(db, 'data_stamp', stamps, 'bigint'))
    .where('deleted_at', 'is not', null),
)

interface Oldest {
  userId: string
  before: number
  max: number
}

const oldest = query((db, { userId, before, max }: Placeholders<Oldest>) =>
  db
    .selectFrom('versions')
    .select(['seq', 'bytes'])
    .where('user_id', '=', userId)
    .where('seq', '<', before)
    .orderBy('seq')
    .limit(max),
)

const beyond = query((db, { userId, ids, most }: Placeholders<Listed & { most: number }>) =>
  db
    .selectFrom(
      db
        .selectFrom('versions')
        .select('seq')
        .select(sql<number>`row_number() over (partition by entity_type, entity_id order by seq desc)`.as('place'))
        .where('user_id', '=', userId)
        .where(isOneOfEntities(db, ids))
        .as('counted'),
    )
    .select('seq')
    .where('place', '>', most),
)
