import { ServiceError } from '../contract/errors.ts'
import type { Counters } from '../db/tables/users.ts'
import { isLive, newBytes, type Replacement } from './replacement.ts'

export interface QuotaLimits {
  maxUserBytes: number
  maxUserRecords: number
}

/** How much a write changes the counters of the same names. */
export type AddedBytes = Pick<Counters, 'stored_bytes' | 'version_bytes'>

/** `removed` is the stored ciphertext that goes; what is replaced is part of it if no versions are kept. */
export function addedBytes(replacements: Replacement[], removed: number, isKept: boolean): AddedBytes {
  const added = replacements.reduce((sum, { winner }) => sum + newBytes(winner), 0)
  const replaced = replacements.reduce((sum, { stored }) => sum + (isKept && isLive(stored) ? stored.bytes : 0), 0)
  const restored = replacements.reduce(
    (sum, { winner: { restored } }) => sum + (restored?.isKept ? restored.bytes : 0),
    0,
  )
  return { stored_bytes: added - removed, version_bytes: replaced - restored }
}

/**
 * The replacements to store; throws QuotaExceeded if they would exceed a limit even without any kept version. What
 * increases neither total always passes, so that a user over a lowered limit can get below it. Deletes pass, too: at the
 * limit of records, deleting an unknown entity just leaves no tombstone.
 */
export function withinQuota(
  limits: QuotaLimits,
  user: Counters,
  replacements: Replacement[],
  { stored_bytes, version_bytes }: AddedBytes,
): Replacement[] {
  const grown = stored_bytes - version_bytes
  const bytes = user.stored_bytes - user.version_bytes + grown
  if (stored_bytes > 0 && grown > 0 && bytes > limits.maxUserBytes) throw new ServiceError('QuotaExceeded')
  const added = replacements.filter(isNew)
  const tombstones = added.filter(({ winner }) => winner.operation === 'delete')
  const created = added.length - tombstones.length
  const room = limits.maxUserRecords - user.stored_records - created
  if (created > 0 && room < 0) throw new ServiceError('QuotaExceeded')
  const omitted = new Set(tombstones.slice(Math.max(0, room)))
  return replacements.filter((replacement) => !omitted.has(replacement))
}

export function isNew({ stored }: Replacement): boolean {
  return stored === undefined
}
