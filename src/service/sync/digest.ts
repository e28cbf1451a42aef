import { toDigest } from '../../protocol/digest.ts'
import type { Database } from '../db/engine/database.ts'
import { digestValue, knownSum, saveDigest, sumRecords } from '../db/tables/digest.ts'
import type { Counters } from '../db/tables/users.ts'
import { isLive, type Replacement } from './replacement.ts'

/** How much it changes the sum over the user's live records. */
export function digestDelta({ winner, stored }: Replacement): bigint {
  return (winner.operation === 'delete' ? 0n : digestValue(winner)) - (isLive(stored) ? digestValue(stored) : 0n)
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
    const sum = await sumRecords(bulk, id)
    return (await write((trx) => saveDigest(trx, id, sum, last_stamp), id)) ? toDigest(sum) : null
  } finally {
    summing.delete(id)
  }
}
