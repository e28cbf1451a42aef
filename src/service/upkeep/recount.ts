import { type RawBuilder, sql } from 'kysely'
import type { Database, Db, Trx } from '../db/engine/database.ts'
import { attemptRead } from '../db/engine/probe.ts'
import { type Placeholders, query } from '../db/engine/query.ts'
import { type DamagedAccount, pagesOfUserIds } from '../db/tables/users.ts'
import { type Digests, digestNames, digestsOfRecords } from '../sync/digest.ts'

const counters = [
  'live_bookmarks',
  'stored_bytes',
  'version_bytes',
  'stored_records',
  'empty_tombstones',
  'stored_versions',
] as const

type Counters = Record<(typeof counters)[number], number>

/** The counters before and after, the digests that were wrong, and how many records had a wrong count of versions. */
export interface Correction {
  userId: string
  was: Found
  is: Found
}

type Found = Counters & Partial<Digests> & { miscounted_records?: number }

/**
 * Recounts each user's data while the service runs. Yields for each user the corrected counters, undefined if all were
 * right, or the damage that keeps them from being counted. Only users with wrong counters get a transaction, because each waits for the disk.
 */
export async function* recount({
  db,
  write,
}: Pick<Database, 'db' | 'write'>): AsyncGenerator<Correction | DamagedAccount | undefined> {
  for await (const ids of pagesOfUserIds(db)) {
    for (const id of ids) {
      const { value, damage } = await attemptRead(async () => {
        const seen = await compare(db, id)
        return !seen || isRight(seen) ? undefined : await write((trx) => recountUser(trx, id), id)
      })
      yield damage ? { id, damage } : value
    }
  }
}

export async function recountUser(trx: Trx, userId: string): Promise<Correction | undefined> {
  // Locks the row first, so that the next count is final.
  await trx.updateTable('users').set({ last_sequence: sql`last_sequence` }).where('id', '=', userId).execute()
  const seen = await compare(trx, userId)
  if (!seen || isRight(seen)) return undefined
  const { was, is, digests, actualDigests, miscounted } = seen
  if (miscounted > 0) await recountedRecords.run(trx, { userId })
  await trx
    .updateTable('users')
    .set({ ...is, ...actualDigests })
    .where('id', '=', userId)
    .execute()
  const wrong = digestNames.filter((name) => digests[name] !== actualDigests[name])
  const found = (counters: Counters, of: Digests, miscounted_records: number): Found => ({
    ...counters,
    ...Object.fromEntries(wrong.map((name) => [name, of[name]])),
    ...(miscounted > 0 && { miscounted_records }),
  })
  return { userId, was: found(was, digests, miscounted), is: found(is, actualDigests, 0) }
}

/** The counters and digests in the user's row (`was`, `digests`), and the actual ones (`is`, `actualDigests`). */
interface Comparison {
  was: Counters
  is: Counters
  digests: Digests
  actualDigests: Digests
  /** Records with a wrong count of versions. */
  miscounted: number
}

function isRight({ was, is, digests, actualDigests, miscounted }: Comparison): boolean {
  const areDigestsRight = digestNames.every((name) => digests[name] === actualDigests[name])
  return areDigestsRight && miscounted === 0 && counters.every((name) => was[name] === is[name])
}

/** Undefined if the user does not exist or is deleted: counters are not updated while rows are erased. */
async function compare(db: Db, userId: string): Promise<Comparison | undefined> {
  const seen = await counted.first(db, { userId })
  if (!seen) return undefined
  const { digest, history_digest, group_digest, miscounted, ...counts } = seen
  const digests = { digest, history_digest, group_digest }
  const { is_live, is_bytes, is_records, is_tombstones, is_version_bytes, is_versions, of_no_record, ...was } = counts
  const is = {
    live_bookmarks: is_live,
    stored_bytes: is_bytes + of_no_record,
    version_bytes: is_version_bytes,
    stored_records: is_records,
    empty_tombstones: is_tombstones,
    stored_versions: is_versions,
  }
  return { was, is, digests, actualDigests: await digestsOfRecords(db, userId), miscounted }
}

type Counted = Counters &
  Digests & {
    is_live: number
    is_bytes: number
    is_records: number
    is_tombstones: number
    is_version_bytes: number
    is_versions: number
    miscounted: number
    of_no_record: number
  }

/**
 * A single statement, for one snapshot. Versions may share ciphertext with each other and with the record. Ciphertext
 * that a live record uses does not count as that of versions.
 */
const counted = query(
  (_, { userId }: Placeholders<{ userId: string }>) => sql<Counted>`
    select live_bookmarks, stored_bytes, version_bytes, stored_records, empty_tombstones, stored_versions,
      digest, history_digest, group_digest,
      is_live, is_bytes, is_records, is_tombstones, is_version_bytes, is_versions, miscounted, of_no_record
    from users
    cross join (
      select count(*) filter (where deleted_at is null and entity_type = 'bookmark') as is_live,
        cast(coalesce(sum(bytes), 0) as bigint) as is_bytes, count(*) as is_records,
        count(*) filter (where deleted_at is not null and data_sequence is null and versions = 0) as is_tombstones
      from records where user_id = ${userId}
    ) as recorded
    cross join (
      select cast(coalesce(sum(bytes) filter (where coalesce(live, 0) = 0), 0) as bigint) as is_version_bytes,
        cast(coalesce(sum(bytes) filter (where live is null), 0) as bigint) as of_no_record
      from (
        select max(bytes) as bytes, max((
          select case when records.deleted_at is null then 1 else 0 end from records
          where records.user_id = ${userId} and records.entity_type = versions.entity_type
            and records.entity_id = versions.entity_id and records.data_sequence = versions.data_sequence
        )) as live
        from versions where versions.user_id = ${userId} and data_sequence is not null group by data_sequence
      ) as data
    ) as kept
    cross join (select count(*) as is_versions from versions where user_id = ${userId}) as all_versions
    cross join (
      select count(*) as miscounted from records where user_id = ${userId} and versions <> ${versionsOfRecord(userId)}
    ) as of_records
    where users.id = ${userId} and not exists (select 1 from deletions where deletions.user_id = users.id)`,
)

const recountedRecords = query(
  (_, { userId }: Placeholders<{ userId: string }>) => sql`
    update records set versions = ${versionsOfRecord(userId)}
    where user_id = ${userId} and versions <> ${versionsOfRecord(userId)}`,
)

function versionsOfRecord(userId: RawBuilder<string>) {
  return sql`(
    select count(*) from versions where versions.user_id = ${userId}
      and versions.entity_type = records.entity_type and versions.entity_id = records.entity_id
  )`
}
