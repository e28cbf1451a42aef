import { createHash } from 'node:crypto'
import { fromDigest, hexValue, toDigest } from '../../protocol/digest.ts'
import type { Database, Db } from '../db/engine/database.ts'
import type { RecordsTable } from '../db/schema.ts'
import { recordsAfter } from '../db/tables/records.ts'
import { type Counters, saveDigest } from '../db/tables/users.ts'
import { pause } from '../thread/loop.ts'
import { isLive, type Won } from './rows.ts'

/** The contract's `digest`, of all records up to the sequence number `digest_stamp`. */
export type StoredDigest = Pick<Counters, 'digest' | 'digest_stamp'>

/**
 * The sum over the user's live records. Undefined if it is not known: an instance of a release without it has written since,
 * or a new epoch has begun.
 */
export function knownSum({ last_stamp, digest, digest_stamp }: StoredDigest & Pick<Counters, 'last_stamp'>) {
  if (last_stamp === 0) return 0n
  return digest !== null && digest_stamp === last_stamp ? fromDigest(digest) : undefined
}

export function toStoredDigest(sum: bigint | undefined, last_stamp: number): StoredDigest {
  return sum === undefined ? { digest: null, digest_stamp: null } : { digest: toDigest(sum), digest_stamp: last_stamp }
}

/** The sum after what has won. */
export function addToSum(sum: bigint, { winner, stored }: Won): bigint {
  const before = isLive(stored) ? digestValue(stored) : 0n
  // A delete leaves no live record.
  return sum - before + (winner.operation === 'delete' ? 0n : digestValue(winner))
}

/** A live record adds this to the sum. */
function digestValue({ data_hash }: { data_hash?: string | null }): bigint {
  const hash = data_hash ?? ''
  return hexValue(hash) ?? (hexValue(createHash('sha256').update(hash).digest('hex')) as bigint)
}

/** The users whose records this process is summing up: several requests at once get no digest, and make no further work. */
const summing = new Set<string>()

/** The contract's `digest`: null if it is not known, and others write while it is computed. */
export async function readDigest(
  { bulk, write }: Pick<Database, 'bulk' | 'write'>,
  user: Counters,
): Promise<string | null> {
  const { id, last_stamp } = user
  const known = knownSum(user)
  if (known !== undefined) return toDigest(known)
  if (summing.has(id)) return null
  summing.add(id)
  try {
    const digest = toDigest(await sumRecords(bulk, id))
    return (await write((trx) => saveDigest(trx, id, digest, last_stamp), id)) ? digest : null
  } finally {
    summing.delete(id)
  }
}

/** Of records in a query, which takes some milliseconds. */
const pageRows = 500

type Hashed = Pick<RecordsTable, 'stamp' | 'data_hash' | 'deleted_at'>

const hashes = recordsAfter(['stamp', 'data_hash', 'deleted_at'])

/** Computed anew, in short queries: it holds if nothing was written meanwhile. */
export async function sumRecords(db: Db, userId: string): Promise<bigint> {
  let sum = 0n
  for (let after: number | undefined = 0; after !== undefined; ) {
    await pause()
    const page: Hashed[] = await hashes.all(db, { userId, after, rows: pageRows })
    for (const record of page) if (record.deleted_at === null) sum += digestValue(record)
    after = page.length < pageRows ? undefined : page.at(-1)?.stamp
  }
  return sum
}
