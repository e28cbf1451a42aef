import { setImmediate as eventLoopTurn } from 'node:timers/promises'
import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely'
import { quotas } from '../../../../generated/limits.ts'
import type { Db, Trx } from '../engine/database.ts'
import { isOneOf, listed, listedJson, type Placeholders, query } from '../engine/query.ts'
import { table } from '../engine/table.ts'
import type { Schema, VersionsTable } from '../schema.ts'
import type { PageLimits } from './changes.ts'
import { isOpen } from './conflicts.ts'
import { byType, type EntityKey, type IdsOfType, isOf, type OfType } from './records.ts'

export type VersionRow = VersionsTable
/** A version and its ciphertext. */
export type VersionWithData = VersionRow & { encrypted_data: string | null }

/** Needs no key, because inserts never conflict: each row has its own sequence number. */
export const versions = table<VersionRow>('versions', {
  alike: ['user_id', 'entity_type', 'operation', 'device_id', 'reason', 'settled_at', 'was_deleted', 'behind'],
  columns: {
    user_id: 'text',
    sequence: 'bigint',
    stored_at: 'bigint',
    behind: 'bigint',
    entity_type: 'text',
    entity_id: 'text',
    version_id: 'text',
    operation: 'text',
    timestamp: 'bigint',
    device_id: 'text',
    data_hash: 'text',
    began: 'bigint',
    began_at: 'bigint',
    ended_at: 'bigint',
    reason: 'text',
    replaced_by: 'text',
    settled_at: 'bigint',
    was_deleted: 'integer',
    bytes: 'bigint',
    data_sequence: 'bigint',
  },
})

/** The time from which a version's retention counts. */
export const keptFrom = sql<number>`(stored_at + behind)`

const columns = Object.keys(versions.columns) as (keyof VersionRow)[]

/** The versions of an entity before the sequence number `before`, newest first, up to the limits. */
export const { all: listVersions } = query((db, of: Placeholders<Page & EntityKey>) =>
  newestFirst(
    db,
    of.userId,
    db.selectFrom('versions').where(isOf(of)).where('sequence', '<', of.before).limit(of.rows),
    of.bytes,
  ),
)

/** Open conflicts of all entities before the sequence number `before`, newest first, up to the limits. */
export const { all: listOpen } = query((db, { userId, before, rows, bytes }: Placeholders<Page>) =>
  newestFirst(
    db,
    userId,
    db.selectFrom('versions').where('user_id', '=', userId).where(isOpen).where('sequence', '<', before).limit(rows),
    bytes,
  ),
)

interface Page extends PageLimits {
  userId: string
  before: number
}

function newestFirst(
  db: Db,
  userId: RawBuilder<string>,
  page: SelectQueryBuilder<Schema, 'versions', object>,
  bytes: RawBuilder<number>,
) {
  const rows = page.select(columns).orderBy('sequence', 'desc')
  const sums = db
    .selectFrom(rows.as('versions'))
    .selectAll()
    .select(sql<number>`sum(bytes) over (order by sequence desc) - bytes`.as('before'))
  return db
    .selectFrom(sums.as('versions'))
    .select(columns)
    .select(ciphertextOf(userId))
    .where('before', '<', bytes)
    .orderBy('sequence', 'desc')
    .$castTo<VersionWithData>()
}

function ciphertextOf(userId: RawBuilder<string>) {
  return sql<string | null>`(
    select encrypted_data from ciphertexts
    where ciphertexts.user_id = ${userId} and ciphertexts.sequence = versions.data_sequence
  )`.as('encrypted_data')
}

/** All kept versions of an entity. */
export const { all: findKept } = query((db, key: Placeholders<EntityKey & { userId: string }>) =>
  db.selectFrom('versions').select(columns).where(isOf(key)),
)

/** The versions of an entity whose event ids are in this range. */
export interface EventRange extends EntityKey {
  first: string
  last: string
}

/** The columns that identify a version of an entity. */
export type VersionIdentity = Pick<VersionRow, (typeof identityColumns)[number]>

const identityColumns = [
  'entity_type',
  'entity_id',
  'version_id',
  'operation',
  'timestamp',
  'device_id',
  'data_hash',
] as const satisfies (keyof VersionRow)[]

export async function findByEvents(trx: Trx, userId: string, ranges: EventRange[]): Promise<VersionIdentity[]> {
  const found: VersionIdentity[] = []
  for await (const { entity_type, keys } of inTurns(ranges, quotas.versionsOfRecord)) {
    const list = JSON.stringify(keys.map(({ entity_id, first, last }) => [entity_id, first, last]))
    found.push(...(await byEvents.all(trx, { userId, entity_type, list })))
  }
  return found
}

/** The most versions that are read in a turn of the event loop, because other requests wait for its end. */
const mostInTurn = 3000

/** Yields the entities by type, in parts with at most `mostInTurn` versions if each entity has at most `versions`. */
export async function* inTurns<Key extends EntityKey>(keys: Key[], versions: number): AsyncGenerator<OfType<Key>> {
  const most = Math.floor(mostInTurn / versions)
  for (const { keys: ofType } of byType(keys)) {
    for (let from = 0; from < ofType.length; from += most) {
      yield* byType(ofType.slice(from, from + most))
      if (ofType.length > most) await eventLoopTurn()
    }
  }
}

const byEvents = query(
  (
    db,
    { userId, entity_type, list }: Placeholders<Pick<IdsOfType, 'userId' | 'entity_type'> & { list: string }>,
  ) => sql<VersionIdentity>`
    select ${sql.join(identityColumns.map((column) => sql.ref(column)))} from ${listedJson(db, list)} cross join versions
    where user_id = ${userId} and entity_type = ${entity_type} and entity_id = listed.value ->> 0
      and version_id >= listed.value ->> 1 and version_id <= listed.value ->> 2`,
)

/** Returns which of the ciphertexts any version uses. Does not read all of these versions: many may use one. */
export async function findKeptData(trx: Trx, userId: string, sequences: number[]): Promise<Set<number>> {
  if (sequences.length === 0) return new Set()
  const rows = await keptData.all(trx, { userId, list: JSON.stringify(sequences) })
  return new Set(rows.map(({ sequence }) => sequence))
}

const keptData = query(
  (db, { userId, list }: Placeholders<{ userId: string; list: string }>) => sql<{ sequence: number }>`
    select cast(value as bigint) as sequence from ${listedJson(db, list)}
    where exists (select 1 from versions where user_id = ${userId} and data_sequence = cast(value as bigint))`,
)

/** Each entity's version that was current at the number `at` and replaced later, unless its ciphertext was erased. */
export async function findCurrentAt(db: Db, userId: string, keys: EntityKey[], at: number): Promise<VersionRow[]> {
  const found: VersionRow[] = []
  for (const { entity_type, ids } of byType(keys)) {
    const sequences = (await firstAfter.all(db, { userId, entity_type, ids, at })).flatMap(
      ({ sequence }) => sequence ?? [],
    )
    if (sequences.length > 0) found.push(...(await currentAt.all(db, { userId, sequences, at })))
  }
  return found
}

/** Only the first version replaced after `at` can have been current then, because versions follow each other. */
const firstAfter = query(
  (db, { userId, entity_type, ids, at }: Placeholders<IdsOfType & { at: number }>) => sql<{
    sequence: number | null
  }>`
    select (
      select sequence from versions where user_id = ${userId} and entity_type = ${entity_type} and entity_id = listed.value
        and sequence > ${at} and began is not null
      order by sequence limit 1
    ) as sequence from ${listed(db, ids)}`,
)

const currentAt = query(
  (db, { userId, sequences, at }: Placeholders<{ userId: string; sequences: number[]; at: number }>) =>
    db
      .selectFrom('versions')
      .select(columns)
      .where('user_id', '=', userId)
      .where(isOneOf(db, 'sequence', sequences, 'bigint'))
      .where('began', '<=', at)
      .where(hasItsData(userId)),
)

function hasItsData(userId: RawBuilder<string>) {
  return sql<boolean>`(operation = 'delete' or exists (
    select 1 from ciphertexts where ciphertexts.user_id = ${userId} and ciphertexts.sequence = versions.data_sequence
  ))`
}
