import type { Trx } from '../db/engine/database.ts'
import { eraseVersions, oldestVersions, subtract } from '../db/tables/erased-versions.ts'
import type { Counters } from '../db/tables/users.ts'
import type { QuotaLimits } from './usage.ts'

/** So many versions are looked at, or erased, at once. */
const batchRows = 500

/** Erases the user's oldest versions, until the quota holds or none is left. Resolves to the user's counters. */
export async function makeRoom(
  { maxUserBytes }: Pick<QuotaLimits, 'maxUserBytes'>,
  trx: Trx,
  user: Counters,
): Promise<Counters> {
  let left = user
  while (left.stored_bytes > maxUserBytes) {
    const oldest = await oldestVersions(trx, user.id, Number.MAX_SAFE_INTEGER, batchRows)
    if (oldest.length === 0) break
    const seqs = until(oldest, left.stored_bytes - maxUserBytes)
    left = subtract(left, await eraseVersions(trx, user.id, seqs))
  }
  return left
}

/** The first ones that have this many bytes together. */
function until(oldest: { seq: number; bytes: number }[], bytes: number): number[] {
  let sum = 0
  const end = oldest.findIndex((version) => {
    sum += version.bytes
    return sum >= bytes
  })
  return oldest.slice(0, end < 0 ? oldest.length : end + 1).map(({ seq }) => seq)
}
