import { ServiceError } from '../contract/errors.ts'
import type { LockedUser } from '../db/users.ts'
import { newBytes, type Replacement } from './replacement.ts'

export interface QuotaLimits {
  maxUserBytes: number
  maxUserRecords: number
}

/**
 * The replacements to store; throws QuotaExceeded if they would exceed a limit. What increases neither total always
 * passes, so that a user over a lowered limit can get below it. Deletes pass, too: at the limit of records, deleting an
 * unknown entity just leaves no tombstone.
 */
export function withinQuota(limits: QuotaLimits, user: LockedUser, replacements: Replacement[]): Replacement[] {
  const { bytes } = addedUsage(replacements)
  if (bytes > 0 && user.stored_bytes + bytes > limits.maxUserBytes) throw new ServiceError('QuotaExceeded')
  const added = replacements.filter(isNew)
  const tombstones = added.filter(({ winner }) => winner.operation === 'delete')
  const created = added.length - tombstones.length
  const room = limits.maxUserRecords - user.stored_records - created
  if (created > 0 && room < 0) throw new ServiceError('QuotaExceeded')
  const omitted = new Set(tombstones.slice(Math.max(0, room)))
  return replacements.filter((replacement) => !omitted.has(replacement))
}

/** How much the replacements add to the user's totals. */
export function addedUsage(replacements: Replacement[]): { bytes: number; records: number } {
  return {
    bytes: replacements.reduce((sum, replacement) => sum + addedBytes(replacement), 0),
    records: replacements.filter(isNew).length,
  }
}

/** A delete keeps the ciphertext. */
function addedBytes({ winner, stored }: Replacement): number {
  if (winner.operation === 'delete') return 0
  return newBytes(winner) - (stored?.bytes ?? 0)
}

function isNew({ stored }: Replacement): boolean {
  return stored === undefined
}
