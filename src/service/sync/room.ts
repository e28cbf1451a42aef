import { quotas } from '../../../generated/limits.ts'
import type { Trx } from '../db/engine/database.ts'
import type { Counters } from '../db/tables/users.ts'
import { eraseVersions, oldestVersions, subtract, versionsBeyond } from '../db/tables/versions.ts'
import type { QuotaLimits } from './usage.ts'

/** So many versions are looked at, or erased, at once. */
const batchRows = 500

/**
 * Erases versions beyond those that are kept of an entity; then, if the write has added ciphertext, the user's oldest
 * ones, until the quota holds or none is left. Resolves to the user's counters.
 */
export async function makeRoom(
  { maxUserBytes }: Pick<QuotaLimits, 'maxUserBytes'>,
  trx: Trx,
  user: Counters,
  fullIds: string[],
  added: number,
): Promise<Counters> {
  const tooMany = fullIds.length > 0 ? await versionsBeyond(trx, user.id, fullIds, quotas.versionsOfRecord) : []
  let left = tooMany.length > 0 ? subtract(user, await eraseVersions(trx, user.id, tooMany)) : user
  while (added > 0 && left.stored_bytes > maxUserBytes) {
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
