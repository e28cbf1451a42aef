import { createHash } from 'node:crypto'
import { fromDigest, hexValue, toDigest } from '../../../protocol/digest.ts'
import type { Db, Trx } from '../engine/database.ts'
import { type Placeholders, query } from '../engine/query.ts'
import type { RecordsTable } from '../schema.ts'
import type { Counters } from './users.ts'

/** Of records in a query, which takes some milliseconds. */
const pageRows = 1000

/** The contract's `digest`, of all records up to the sequence number `digest_stamp`. */
export type StoredDigest = Pick<Counters, 'digest' | 'digest_stamp'>

/**
 * The sum over the user's live records. Undefined if it is not known: an instance of a release without it has written since,
 * or a new epoch has begun.
 */
export function knownSum({ last_stamp, digest, digest_stamp }: StoredDigest & { last_stamp: number }) {
  if (last_stamp === 0) return 0n
  return digest !== null && digest_stamp === last_stamp ? fromDigest(digest) : undefined
}

export function toStoredDigest(sum: bigint | undefined, last_stamp: number): StoredDigest {
  return sum === undefined ? { digest: null, digest_stamp: null } : { digest: toDigest(sum), digest_stamp: last_stamp }
}

/** What a live record adds to the sum. */
export function digestValue({ data_hash }: Pick<RecordsTable, 'data_hash'>): bigint {
  const hash = data_hash ?? ''
  return hexValue(hash) ?? (hexValue(createHash('sha256').update(hash).digest('hex')) as bigint)
}

/** Computed anew, in short queries: it holds if nothing was written meanwhile. */
export async function sumRecords(db: Db, userId: string): Promise<bigint> {
  let sum = 0n
  for (let after: number | undefined = 0; after !== undefined; ) {
    const page: Hashed[] = await hashes.all(db, { userId, after, rows: pageRows })
    for (const record of page) if (record.deleted_at === null) sum += digestValue(record)
    after = page.length < pageRows ? undefined : page.at(-1)?.stamp
  }
  return sum
}

type Hashed = Pick<RecordsTable, 'stamp' | 'data_hash' | 'deleted_at'>

const hashes = query((db, { userId, after, rows }: Placeholders<{ userId: string; after: number; rows: number }>) =>
  db
    .selectFrom('records')
    .select(['stamp', 'data_hash', 'deleted_at'])
    .where('user_id', '=', userId)
    .where('stamp', '>', after)
    .orderBy('stamp')
    .limit(rows),
)

/** Stores what was computed for the user as of `last_stamp`. Returns whether that still holds. */
export async function saveDigest(trx: Trx, id: string, sum: bigint, last_stamp: number): Promise<boolean> {
  return (await savedDigest.run(trx, { id, digest: toDigest(sum), last_stamp })) > 0
}

const savedDigest = query(
  (db, { id, digest, last_stamp }: Placeholders<{ id: string; digest: string; last_stamp: number }>) =>
    db
      .updateTable('users')
      .set({ digest, digest_stamp: last_stamp })
      .where('id', '=', id)
      .where('last_stamp', '=', last_stamp),
)
