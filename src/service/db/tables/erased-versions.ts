import { sql } from 'kysely'
import { quotas } from '../../../../generated/limits.ts'
import { flatMapInParts, inParts } from '../../thread/loop.ts'
import type { Trx } from '../engine/database.ts'
import { isOneOf, listed, type Placeholders, query, rowsOfStatement } from '../engine/query.ts'
import { type EntityKey, entityKey, flatMapOfType, type IdsOfType, inPartsOfType, isOfAny } from './records.ts'
import type { Counters } from './users.ts'
import { findKept, findKeptData, keptFrom } from './versions.ts'

/** How much was erased, of the user's counters with these names. */
export interface Erased extends Pick<Counters, 'stored_bytes' | 'version_bytes' | 'stored_versions'> {
  /** The tombstones of which nothing is kept any more: their number, and the least of their sequence numbers. */
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

/** The user's counters after something was erased. */
export function subtract<User extends Counters>(user: User, erased: Erased): User {
  return {
    ...user,
    stored_bytes: user.stored_bytes - erased.stored_bytes,
    // An instance of an earlier release may have removed ciphertext that counts here.
    version_bytes: Math.max(0, user.version_bytes - erased.version_bytes),
    stored_versions: user.stored_versions - erased.stored_versions,
    empty_tombstones: user.empty_tombstones + erased.emptied,
    empty_tombstones_after: Math.min(user.empty_tombstones_after, erased.emptiedFrom - 1),
  }
}

/** Removes kept versions, and each ciphertext that neither another one nor a live record has. A tombstone loses its own. */
export async function eraseVersions(trx: Trx, userId: string, seqs: number[]): Promise<Erased> {
  return eraseInParts(trx, userId, seqs, true)
}

/**
 * Removes `count` versions of each entity, which the record's own count leaves out already: never one of the newest, and of the
 * others whichever was current for the fewest whole hours, of several the latest. So edits in a burst make room for each
 * other, and not at the expense of what was there before them.
 */
export async function eraseBriefestOf(trx: Trx, userId: string, keys: EntityKey[], count: number): Promise<Erased> {
  let erased = nothingErased
  for (let left = count; left > 0; left--) {
    const rows = await flatMapOfType(keys, fullEntitiesOfStatement, ({ entity_type, ids }) =>
      briefestOf.all(trx, { userId, entity_type, ids }),
    )
    const seqs = rows.flatMap(({ seq }) => seq ?? [])
    erased = addUp(erased, await eraseInParts(trx, userId, seqs, false))
  }
  return erased
}

/** Of each, all versions are looked at, unless one was current for less than an hour. */
const fullEntitiesOfStatement = 10

const hourMs = 3_600_000

/** For how long it was current (ms): not at all, if it lost. Numbers do not tell: they are ahead of the clock at times. */
const currentMs = sql<number>`coalesce(ended - coalesce(ended_ahead, 0) - began + coalesce(began_ahead, 0), 0)`

/** Most full entities have one that was current for less than an hour: it is looked for first, and no further than to the latest. */
const briefestOf = query((db, { userId, entity_type, ids }: Placeholders<IdsOfType>) => {
  const ofEntity = sql`versions where user_id = ${userId} and entity_type = ${entity_type} and entity_id = listed.value`
  const others = sql`${ofEntity}
    and seq < (select seq from ${ofEntity} order by seq desc limit 1 offset ${sql.lit(quotas.newestVersionsOfRecord - 1)})`
  return sql<{ seq: number | null }>`
    select coalesce(
      (select seq from ${others} and ${currentMs} < ${sql.lit(hourMs)} order by seq desc limit 1),
      (select seq from ${others} order by ${currentMs} / ${sql.lit(hourMs)}, seq desc limit 1)
    ) as seq from ${listed(db, ids)}`
})

/** Makes the counts of records those of after these versions have come or gone. */
export async function adjustCounts(trx: Trx, userId: string, changed: EntityKey[], change: 1 | -1): Promise<void> {
  const versionsOf = Map.groupBy(changed, entityKey)
  const alike = Map.groupBy(versionsOf.values(), ({ length }) => length)
  for (const [count, ofEach] of alike) {
    const keys = ofEach.map(([key]) => key as EntityKey)
    await inPartsOfType(keys, rowsOfErasure, ({ entity_type, ids }) =>
      recounted.run(trx, { userId, entity_type, ids, change: change * count }),
    )
  }
}

const recounted = query(
  (db, keys: Placeholders<IdsOfType & { change: number }>) =>
    sql`update records set versions = versions + cast(${keys.change} as integer) where ${isOfAny(db, keys)}`,
)

/** Each is in several indexes. */
const rowsOfErasure = 100

/** Unless `isCounted`, the records' own counts leave out already what goes, and each keeps some. */
async function eraseInParts(trx: Trx, userId: string, seqs: number[], isCounted: boolean): Promise<Erased> {
  let sum = nothingErased
  await inParts(seqs, rowsOfErasure, async (part) => {
    const removed: Removed[] = await removedVersions.all(trx, { userId, seqs: part })
    if (isCounted) await adjustCounts(trx, userId, removed, -1)
    const unused = await eraseUnused(trx, userId, removed)
    const emptied = isCounted ? await countEmptied(trx, userId, removed) : nothingEmptied
    sum = addUp(sum, { ...unused, stored_versions: removed.length, ...emptied })
  })
  return sum
}

/** Of records that had a version until now. */
async function countEmptied(trx: Trx, userId: string, removed: Removed[]) {
  let [emptied, emptiedFrom] = [0, Number.POSITIVE_INFINITY]
  await inPartsOfType(uniqueKeys(removed), rowsOfErasure, async ({ entity_type, ids }) => {
    const { count, least } = await emptyOf.one(trx, { userId, entity_type, ids })
    emptied += Number(count)
    emptiedFrom = Math.min(emptiedFrom, least ?? emptiedFrom)
  })
  return { emptied, emptiedFrom }
}

const emptyOf = query(
  (db, keys: Placeholders<IdsOfType>) => sql<{ count: number; least: number | null }>`
    select count(*) as count, min(stamp) as least from records
    where ${isOfAny(db, keys)} and deleted_at is not null and data_stamp is null and versions = 0`,
)

/** The ciphertexts of versions that are gone, unless something else has them. */
async function eraseUnused(trx: Trx, userId: string, removed: Removed[]) {
  const bytesOf = new Map<number, number>()
  for (const { data_stamp, bytes } of removed) if (data_stamp !== null) bytesOf.set(data_stamp, bytes)
  const kept = await findKeptData(trx, userId, [...bytesOf.keys()])
  for (const stamp of kept) bytesOf.delete(stamp)
  const keys = uniqueKeys(removed.filter(({ data_stamp }) => data_stamp !== null && bytesOf.has(data_stamp)))
  const live = await flatMapOfType(keys, rowsOfStatement, ({ entity_type, ids }) =>
    liveData.all(trx, { userId, entity_type, ids }),
  )
  for (const { data_stamp } of live) if (data_stamp !== null) bytesOf.delete(data_stamp)
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

/** The oldest of a user's kept versions, at most `max`. */
export async function oldestVersions(trx: Trx, userId: string, max: number): Promise<{ seq: number; bytes: number }[]> {
  return oldest.all(trx, { userId, max })
}

/**
 * The user's oldest versions up to the first that is kept from the time `end` or later, at most `max`. Such as are kept from
 * after `now` were written by a clock that was ahead: they stay, and hold up no others.
 */
export async function versionsBefore(
  trx: Trx,
  userId: string,
  end: number,
  now: number,
  max: number,
): Promise<number[]> {
  const rows = await oldestByNow.all(trx, { userId, now, max })
  const kept = rows.findIndex(({ at }) => at >= end)
  return rows.slice(0, kept < 0 ? rows.length : kept).map(({ seq }) => seq)
}

/** Erases what is kept of a deleted record, and all its versions. */
export async function purge(
  trx: Trx,
  userId: string,
  key: EntityKey,
  data: { data_stamp: number | null; bytes: number; stamp: number },
): Promise<Erased> {
  const kept = await findKept(trx, userId, key)
  if (kept.length === 0 && data.data_stamp === null) return nothingErased
  const erased = await eraseVersions(
    trx,
    userId,
    kept.map(({ seq }) => seq),
  )
  const left =
    data.data_stamp === null ? 0 : await eraseData(trx, userId, [key], new Map([[data.data_stamp, data.bytes]]))
  return { ...erased, stored_bytes: erased.stored_bytes + left, emptied: 1, emptiedFrom: data.stamp }
}

/** Returns how many bytes there were of the ciphertexts, by whose sizes some are erased at once. */
async function eraseData(
  trx: Trx,
  userId: string,
  keys: EntityKey[],
  bytesOf: ReadonlyMap<number, number>,
): Promise<number> {
  if (bytesOf.size === 0) return 0
  const erased = await flatMapInParts(partsBySize(bytesOf), 1, ([stamps = []]) =>
    erasedCiphertexts.all(trx, { userId, stamps }),
  )
  const stamps = [...bytesOf.keys()]
  await inPartsOfType(keys, rowsOfErasure, ({ entity_type, ids }) =>
    emptiedTombstones.run(trx, { userId, entity_type, ids, stamps }),
  )
  return erased.reduce((sum, { bytes }) => sum + Number(bytes), 0)
}

/** Erasing so many bytes takes some milliseconds. */
const bytesOfStatement = 1024 * 1024

function partsBySize(bytesOf: ReadonlyMap<number, number>): number[][] {
  const parts: number[][] = []
  let left = 0
  for (const [stamp, bytes] of bytesOf) {
    if (parts.length === 0 || left < bytes) {
      parts.push([])
      left = bytesOfStatement
    }
    left -= bytes
    parts.at(-1)?.push(stamp)
  }
  return parts
}

interface Removed extends EntityKey {
  data_stamp: number | null
  bytes: number
}

const removedVersions = query((db, { userId, seqs }: Placeholders<{ userId: string; seqs: number[] }>) =>
  db
    .deleteFrom('versions')
    .where('user_id', '=', userId)
    .where(isOneOf(db, 'seq', seqs, 'bigint'))
    .returning(['entity_type', 'entity_id', 'data_stamp', 'bytes']),
)

const liveData = query((db, keys: Placeholders<IdsOfType>) =>
  db.selectFrom('records').select('data_stamp').where(isOfAny(db, keys)).where('deleted_at', 'is', null),
)

const erasedCiphertexts = query((db, { userId, stamps }: Placeholders<{ userId: string; stamps: number[] }>) =>
  db
    .deleteFrom('ciphertexts')
    .where('user_id', '=', userId)
    .where(isOneOf(db, 'stamp', stamps, 'bigint'))
    .returning(sql<number>`octet_length(encrypted_data)`.as('bytes')),
)

const emptiedTombstones = query((db, keys: Placeholders<IdsOfType & { stamps: number[] }>) =>
  db
    .updateTable('records')
    .set({ data_stamp: null, bytes: 0 })
    .where(isOfAny(db, keys))
    .where(isOneOf(db, 'data_stamp', keys.stamps, 'bigint'))
    .where('deleted_at', 'is not', null),
)

const oldest = query((db, { userId, max }: Placeholders<{ userId: string; max: number }>) =>
  db.selectFrom('versions').select(['seq', 'bytes']).where('user_id', '=', userId).orderBy('seq').limit(max),
)

const oldestByNow = query(
  (_, { userId, now, max }: Placeholders<{ userId: string; now: number; max: number }>) => sql<{
    seq: number
    at: number
  }>`select seq, ${keptFrom} as at from versions where user_id = ${userId} and ${keptFrom} <= ${now}
    order by seq limit ${max}`,
)
