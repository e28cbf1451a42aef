import { setImmediate as eventLoopTurn } from 'node:timers/promises'
import { sql } from 'kysely'
import { quotas } from '../../../../generated/limits.ts'
import type { Trx } from '../engine/database.ts'
import { isOneOf, listed, type Placeholders, query } from '../engine/query.ts'
import { byType, type EntityKey, entityKey, type IdsOfType, isOfAny } from './records.ts'
import type { Counters } from './users.ts'
import { findKept, findKeptData, inTurns, keptFrom } from './versions.ts'

/** How much was erased, by the names of the user's counters. */
export interface Erased extends Pick<Counters, 'stored_bytes' | 'version_bytes' | 'stored_versions'> {
  /** The number of tombstones that have lost their last version, and the least of their sequence numbers. */
  emptied: number
  emptiedFrom: number
}

const nothingEmptied = { emptied: 0, emptiedFrom: Number.POSITIVE_INFINITY }
export const nothingErased: Erased = { stored_bytes: 0, version_bytes: 0, stored_versions: 0, ...nothingEmptied }

export function addUp(one: Erased, other: Erased): Erased {
  return {
    stored_bytes: one.stored_bytes + other.stored_bytes,
    version_bytes: one.version_bytes + other.version_bytes,
    stored_versions: one.stored_versions + other.stored_versions,
    emptied: one.emptied + other.emptied,
    emptiedFrom: Math.min(one.emptiedFrom, other.emptiedFrom),
  }
}

/** The user's counters after erasing. */
export function subtract<User extends Counters>(user: User, erased: Erased): User {
  return {
    ...user,
    stored_bytes: user.stored_bytes - erased.stored_bytes,
    version_bytes: user.version_bytes - erased.version_bytes,
    stored_versions: user.stored_versions - erased.stored_versions,
    empty_tombstones: user.empty_tombstones + erased.emptied,
    empty_tombstones_after: Math.min(user.empty_tombstones_after, erased.emptiedFrom - 1),
  }
}

/** Erases versions, and ciphertexts that no other version or live record uses. Tombstones lose these ciphertexts. */
export async function eraseVersions(trx: Trx, userId: string, sequences: number[]): Promise<Erased> {
  return erase(trx, userId, sequences, true)
}

/**
 * Erases `count` versions of each entity; `records.versions` excludes them already. Keeps the newest (`quotas`). Of the
 * others, erases the one that was current for the fewest whole hours, and of several such the latest. So versions of a
 * burst of edits are erased before older ones.
 */
export async function eraseShortestLived(trx: Trx, userId: string, keys: EntityKey[], count: number): Promise<Erased> {
  let erased = nothingErased
  for (let left = count; left > 0; left--) {
    const sequences: number[] = []
    for await (const { entity_type, ids } of inTurns(keys, quotas.newestVersionsOfRecord + 1))
      for (const { sequence } of await shortestLivedOf.all(trx, { userId, entity_type, ids }))
        if (sequence !== null) sequences.push(sequence)
    erased = addUp(erased, await erase(trx, userId, sequences, false))
  }
  return erased
}

const hourMs = 3_600_000

/** How long (ms) a version was current: 0 if it lost on arrival. */
const currentMs = sql<number>`coalesce(ended_at - began_at, 0)`

/** First searches for a version that was current for less than an hour: most entities at the limit have one. */
const shortestLivedOf = query((db, { userId, entity_type, ids }: Placeholders<IdsOfType>) => {
  const ofEntity = sql`versions where user_id = ${userId} and entity_type = ${entity_type} and entity_id = listed.value`
  const others = sql`${ofEntity}
    and sequence < (select sequence from ${ofEntity} order by sequence desc limit 1 offset ${sql.lit(quotas.newestVersionsOfRecord - 1)})`
  return sql<{ sequence: number | null }>`
    select coalesce(
      (select sequence from ${others} and ${currentMs} < ${sql.lit(hourMs)} order by sequence desc limit 1),
      (select sequence from ${others} order by ${currentMs} / ${sql.lit(hourMs)}, sequence desc limit 1)
    ) as sequence from ${listed(db, ids)}`
})

/** Adjusts `records.versions` after versions of these entities were added (1) or erased (-1). */
export async function adjustCounts(trx: Trx, userId: string, changed: EntityKey[], change: 1 | -1): Promise<void> {
  const versionsOf = Map.groupBy(changed, entityKey)
  const alike = Map.groupBy(versionsOf.values(), ({ length }) => length)
  for (const [count, ofEach] of alike) {
    const keys = ofEach.map(([key]) => key as EntityKey)
    for (const { entity_type, ids } of byType(keys))
      await recounted.run(trx, { userId, entity_type, ids, change: change * count })
  }
}

const recounted = query(
  (db, keys: Placeholders<IdsOfType & { change: number }>) =>
    sql`update records set versions = versions + cast(${keys.change} as integer) where ${isOfAny(db, keys)}`,
)

/** If `isCounted` is false, `records.versions` excludes these versions already, and is more than 0 without them. */
async function erase(trx: Trx, userId: string, sequences: number[], isCounted: boolean): Promise<Erased> {
  if (sequences.length === 0) return nothingErased
  const removed: Removed[] = await removedVersions.all(trx, { userId, sequences })
  if (isCounted) await adjustCounts(trx, userId, removed, -1)
  const unused = await eraseUnused(trx, userId, removed)
  const emptied = isCounted ? await countEmptied(trx, userId, removed) : nothingEmptied
  return { ...unused, stored_versions: removed.length, ...emptied }
}

/** Counts the tombstones that have lost their last version. */
async function countEmptied(trx: Trx, userId: string, removed: Removed[]) {
  let [emptied, emptiedFrom] = [0, Number.POSITIVE_INFINITY]
  for (const { entity_type, ids } of byType(uniqueKeys(removed))) {
    const { count, least } = await emptyOf.one(trx, { userId, entity_type, ids })
    emptied += Number(count)
    emptiedFrom = Math.min(emptiedFrom, least ?? emptiedFrom)
  }
  return { emptied, emptiedFrom }
}

const emptyOf = query(
  (db, keys: Placeholders<IdsOfType>) => sql<{ count: number; least: number | null }>`
    select count(*) as count, min(sequence) as least from records
    where ${isOfAny(db, keys)} and deleted_at is not null and data_sequence is null and versions = 0`,
)

/** Erases the ciphertexts of replaced records whose type keeps no versions. */
export async function eraseReplaced(trx: Trx, userId: string, replaced: Replaced[]): Promise<void> {
  const bytesOf = new Map(
    replaced.flatMap(({ data_sequence, bytes }) => (data_sequence ? [[data_sequence, bytes]] : [])),
  )
  await eraseData(trx, userId, [], bytesOf)
}

/** Erases those ciphertexts of the removed versions that nothing else uses. */
async function eraseUnused(trx: Trx, userId: string, removed: Removed[]) {
  const bytesOf = new Map<number, number>()
  for (const { data_sequence, bytes } of removed) if (data_sequence !== null) bytesOf.set(data_sequence, bytes)
  const kept = await findKeptData(trx, userId, [...bytesOf.keys()])
  for (const sequence of kept) bytesOf.delete(sequence)
  const keys = uniqueKeys(removed.filter(({ data_sequence }) => data_sequence !== null && bytesOf.has(data_sequence)))
  for (const { entity_type, ids } of byType(keys))
    for (const { data_sequence } of await liveData.all(trx, { userId, entity_type, ids }))
      if (data_sequence !== null) bytesOf.delete(data_sequence)
  const stored_bytes = await eraseData(trx, userId, keys, bytesOf)
  return { stored_bytes, version_bytes: sumOf(bytesOf) }
}

function uniqueKeys(keys: EntityKey[]): EntityKey[] {
  return [...new Map(keys.map((key) => [entityKey(key), key])).values()]
}

function sumOf(bytesOf: ReadonlyMap<number, number>): number {
  let sum = 0
  for (const bytes of bytesOf.values()) sum += bytes
  return sum
}

/** The user's oldest versions, at most `max`. */
export async function oldestVersions(
  trx: Trx,
  userId: string,
  max: number,
): Promise<{ sequence: number; bytes: number }[]> {
  return oldest.all(trx, { userId, max })
}

/** The oldest versions whose retention began before `end`, at most `max`. Skips those of a clock that was ahead. */
export async function versionsBefore(
  trx: Trx,
  userId: string,
  end: number,
  now: number,
  max: number,
): Promise<number[]> {
  const rows = await oldestByNow.all(trx, { userId, now, max })
  const kept = rows.findIndex(({ at }) => at >= end)
  return rows.slice(0, kept < 0 ? rows.length : kept).map(({ sequence }) => sequence)
}

/** Erases all versions of a deleted record, and so its ciphertext. */
export async function purge(trx: Trx, userId: string, key: EntityKey): Promise<Erased> {
  const kept = await findKept(trx, { userId, ...key })
  return eraseVersions(
    trx,
    userId,
    kept.map(({ sequence }) => sequence),
  )
}

/** Erases the ciphertexts with these sequence numbers. Tombstones of `keys` lose them. Returns the bytes erased. */
async function eraseData(
  trx: Trx,
  userId: string,
  keys: EntityKey[],
  bytesOf: ReadonlyMap<number, number>,
): Promise<number> {
  let erased = 0
  for (const [index, sequences] of partsBySize(bytesOf).entries()) {
    if (index > 0) await eventLoopTurn()
    for (const { bytes } of await erasedCiphertexts.all(trx, { userId, sequences })) erased += Number(bytes)
  }
  const sequences = [...bytesOf.keys()]
  for (const { entity_type, ids } of sequences.length > 0 ? byType(keys) : [])
    await emptiedTombstones.run(trx, { userId, entity_type, ids, sequences })
  return erased
}

/** Bytes per statement, so that it takes only some milliseconds. */
const bytesOfStatement = 1024 * 1024

function partsBySize(bytesOf: ReadonlyMap<number, number>): number[][] {
  const parts: number[][] = []
  let left = 0
  for (const [sequence, bytes] of bytesOf) {
    if (parts.length === 0 || left < bytes) {
      parts.push([])
      left = bytesOfStatement
    }
    left -= bytes
    parts.at(-1)?.push(sequence)
  }
  return parts
}

interface Replaced {
  data_sequence: number | null
  bytes: number
}

interface Removed extends EntityKey, Replaced {}

const removedVersions = query((db, { userId, sequences }: Placeholders<{ userId: string; sequences: number[] }>) =>
  db
    .deleteFrom('versions')
    .where('user_id', '=', userId)
    .where(isOneOf(db, 'sequence', sequences, 'bigint'))
    .returning(['entity_type', 'entity_id', 'data_sequence', 'bytes']),
)

const liveData = query((db, keys: Placeholders<IdsOfType>) =>
  db.selectFrom('records').select('data_sequence').where(isOfAny(db, keys)).where('deleted_at', 'is', null),
)

const erasedCiphertexts = query((db, { userId, sequences }: Placeholders<{ userId: string; sequences: number[] }>) =>
  db
    .deleteFrom('ciphertexts')
    .where('user_id', '=', userId)
    .where(isOneOf(db, 'sequence', sequences, 'bigint'))
    .returning(sql<number>`octet_length(encrypted_data)`.as('bytes')),
)

const emptiedTombstones = query((db, keys: Placeholders<IdsOfType & { sequences: number[] }>) =>
  db
    .updateTable('records')
    .set({ data_sequence: null, bytes: 0 })
    .where(isOfAny(db, keys))
    .where(isOneOf(db, 'data_sequence', keys.sequences, 'bigint'))
    .where('deleted_at', 'is not', null),
)

const oldest = query((db, { userId, max }: Placeholders<{ userId: string; max: number }>) =>
  db.selectFrom('versions').select(['sequence', 'bytes']).where('user_id', '=', userId).orderBy('sequence').limit(max),
)

const oldestByNow = query(
  (_, { userId, now, max }: Placeholders<{ userId: string; now: number; max: number }>) => sql<{
    sequence: number
    at: number
  }>`select sequence, ${keptFrom} as at from versions where user_id = ${userId} and ${keptFrom} <= ${now}
    order by sequence limit ${max}`,
)
