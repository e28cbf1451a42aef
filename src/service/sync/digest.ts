import { createHash } from 'node:crypto'
import { setImmediate as eventLoopTurn } from 'node:timers/promises'
import { fromDigest, hexValue, toDigest } from '../../protocol/digest.ts'
import type { Db } from '../db/engine/database.ts'
import type { RecordsTable } from '../db/schema.ts'
import { recordsAfter } from '../db/tables/records.ts'
import { isLive, type Won } from './rows.ts'

/** The contract's `digest` after what has won. */
export function digestAfter(digest: string, won: Won[]): string {
  return won.length === 0 ? digest : toDigest(won.reduce(addToSum, fromDigest(digest)))
}

function addToSum(sum: bigint, { winner, stored }: Won): bigint {
  const before = isLive(stored) ? digestValue(stored) : 0n
  // A delete leaves no live record.
  return sum - before + (winner.operation === 'delete' ? 0n : digestValue(winner))
}

/** A live record adds this to the sum. */
function digestValue({ data_hash }: { data_hash?: string | null }): bigint {
  const hash = data_hash ?? ''
  return hexValue(hash) ?? (hexValue(createHash('sha256').update(hash).digest('hex')) as bigint)
}

/** Records of one query, which takes some milliseconds. */
const pageRows = 500

type Hashed = Pick<RecordsTable, 'sequence' | 'data_hash' | 'deleted_at'>

const hashes = recordsAfter(['sequence', 'data_hash', 'deleted_at'])

/** Computed anew, in short queries: it holds if nothing was written meanwhile. */
export async function digestOfRecords(db: Db, userId: string): Promise<string> {
  let sum = 0n
  for (let after: number | undefined = 0; after !== undefined; ) {
    const page: Hashed[] = await hashes.all(db, { userId, after, rows: pageRows })
    for (const record of page) if (record.deleted_at === null) sum += digestValue(record)
    after = page.length < pageRows ? undefined : page.at(-1)?.sequence
    await eventLoopTurn()
  }
  return toDigest(sum)
}
