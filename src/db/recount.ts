import { sql } from 'kysely'
import { toDigest } from '../protocol/digest.ts'
import type { Database, Db, Trx } from './database.ts'
import { knownSum, sumRecords, toStoredDigest } from './digest.ts'

const usersAtOnce = 1000
const counters = ['live_bookmarks', 'stored_bytes', 'version_bytes', 'stored_records'] as const

/** With the digest if it was wrong, but not if it was not known. */
type Counters = Record<(typeof counters)[number], number> & { digest?: string | null }

export interface Mended {
  userId: string
  was: Counters
  is: Counters
}

/**
 * Counts anew what each user stores, while the service runs. Yields each user, with the counters that were wrong and have been
 * mended, if any. Each has a transaction of their own, which holds up nobody else's writes.
 */
export async function* recount({ db, write }: Pick<Database, 'db' | 'write'>): AsyncGenerator<Mended | undefined> {
  for await (const id of idsOfUsers(db)) yield await write((trx) => recountUser(trx, id), id)
}

async function* idsOfUsers(db: Db): AsyncGenerator<string> {
  for (let after: string | undefined = ''; after !== undefined; ) {
    const users = db.selectFrom('users').select('id').where('id', '>', after).orderBy('id').limit(usersAtOnce)
    const page: { id: string }[] = await users.execute()
    for (const { id } of page) yield id
    after = page.at(-1)?.id
  }
}

export async function recountUser(trx: Trx, userId: string): Promise<Mended | undefined> {
  // Holds the row first, so that what is counted next is all that there is. A user may be gone by now.
  const held = trx.updateTable('users').set({ last_stamp: sql`last_stamp` }).where('id', '=', userId)
  const user = await held.returning([...counters, 'last_stamp', 'digest', 'digest_stamp']).executeTakeFirst()
  if (!user) return undefined
  const { last_stamp, digest, digest_stamp, ...was } = user
  const is = await count(trx, userId)
  const known = knownSum(user)
  const mended = toStoredDigest(await sumRecords(trx, userId), last_stamp)
  const hasDigest = known !== undefined && toDigest(known) === mended.digest
  const isRight = counters.every((name) => was[name] === is[name])
  if (isRight && hasDigest) return undefined
  await trx
    .updateTable('users')
    .set({ ...is, ...mended })
    .where('id', '=', userId)
    .execute()
  if (known === undefined || hasDigest) return isRight ? undefined : { userId, was, is }
  return { userId, was: { ...was, digest }, is: { ...is, digest: mended.digest } }
}

async function count(trx: Trx, userId: string): Promise<Counters> {
  const { rows } = await sql<Omit<Counters, 'version_bytes'>>`
    select count(*) filter (where deleted_at is null and entity_type = 'bookmark') as live_bookmarks,
      cast(coalesce(sum(bytes), 0) as bigint) as stored_bytes, count(*) as stored_records
    from records where user_id = ${userId}`.execute(trx)
  const [{ live_bookmarks, stored_bytes, stored_records } = { live_bookmarks: 0, stored_bytes: 0, stored_records: 0 }] =
    rows
  const { version_bytes, of_no_record } = await countVersions(trx, userId)
  return { live_bookmarks, stored_bytes: stored_bytes + of_no_record, version_bytes, stored_records }
}

/** Versions may share their ciphertext with each other and with the record: with a live one it does not count as theirs. */
async function countVersions(trx: Trx, userId: string): Promise<{ version_bytes: number; of_no_record: number }> {
  const { rows } = await sql<{ version_bytes: number; of_no_record: number }>`
    select cast(coalesce(sum(bytes) filter (where coalesce(live, 0) = 0), 0) as bigint) as version_bytes,
      cast(coalesce(sum(bytes) filter (where live is null), 0) as bigint) as of_no_record
    from (
      select max(bytes) as bytes, max((
        select case when records.deleted_at is null then 1 else 0 end from records
        where records.user_id = ${userId} and records.entity_type = versions.entity_type
          and records.entity_id = versions.entity_id and records.data_stamp = versions.data_stamp
      )) as live
      from versions where versions.user_id = ${userId} and data_stamp is not null group by data_stamp
    ) as data`.execute(trx)
  return rows[0] ?? { version_bytes: 0, of_no_record: 0 }
}
