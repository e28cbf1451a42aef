import { sql } from 'kysely'
import type { Trx } from '../engine/database.ts'
import { isOneOf, type Placeholders, query } from '../engine/query.ts'
import type { EntityKey } from '../rows.ts'
import type { Counters } from './users.ts'
import { findKept, isOneOfEntities } from './versions.ts'

/** What was erased, of the user's counters with these names. */
export type Erased = Pick<Counters, 'stored_bytes' | 'version_bytes'>

const nothing: Erased = { stored_bytes: 0, version_bytes: 0 }

/** The counters after something was erased. */
export function subtract({ stored_bytes, version_bytes }: Erased, erased: Erased): Erased {
  return {
    stored_bytes: stored_bytes - erased.stored_bytes,
    // An instance of an earlier release may have removed ciphertext that counts here.
    version_bytes: Math.max(0, version_bytes - erased.version_bytes),
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
