import { quotas } from '../../../generated/limits.ts'
import type { Trx } from '../db/engine/database.ts'
import { type Erased, eraseVersions, oldestVersions, subtract, versionsBeyond } from '../db/tables/versions.ts'
import type { QuotaLimits } from './quota.ts'

/** How many versions are looked at, or erased, at once. */
const batchRows = 500

interface Usage extends Erased {
  /** How much ciphertext the write has added. */
  added: number
}

/**
 * Erases versions beyond those that are kept of an entity; then, if the write has added ciphertext, the user's oldest
 * ones, until the quota holds or none is left. Resolves to the user's counters.
 */
export async function makeRoom(
  { maxUserBytes }: QuotaLimits,
  trx: Trx,
  userId: string,
  fullIds: string[],
  { added, ...usage }: Usage,
): Promise<Erased> {
  const tooMany = await versionsBeyond(trx, userId, fullIds, quotas.versionsOfRecord)
  let left = subtract(usage, await eraseVersions(trx, userId, tooMany))
  while (added > 0 && left.stored_bytes > maxUserBytes) {
    const oldest = await oldestVersions(trx, userId, Number.MAX_SAFE_INTEGER, batchRows)
    if (oldest.length === 0) break
    const seqs = until(oldest, left.stored_bytes - maxUserBytes)
    left = subtract(left, await eraseVersions(trx, userId, seqs))
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
