import type { Config } from '../config.ts'
import type { LockedUser } from '../db/users.ts'
import { ServiceError } from '../errors.ts'
import type { Winner } from './write.ts'

type Limits = Pick<Config, 'maxUserBytes' | 'maxUserRecords'>

/**
 * The winners that are stored; throws QuotaExceeded when they would pass a limit. What makes no total larger always passes,
 * so that a user above a lowered limit can get below it. Deletes pass as well: at the limit of records, one of an unknown
 * entity just leaves no tombstone.
 */
export function withinQuota(limits: Limits, user: LockedUser, winners: Winner[]): Winner[] {
  const { bytes } = addedUsage(winners)
  if (bytes > 0 && user.stored_bytes + bytes > limits.maxUserBytes) throw new ServiceError('QuotaExceeded')
  const added = winners.filter(isNew)
  const tombstones = added.filter(({ change }) => change.operation === 'delete')
  const created = added.length - tombstones.length
  const room = limits.maxUserRecords - user.stored_records - created
  if (created > 0 && room < 0) throw new ServiceError('QuotaExceeded')
  const omitted = new Set(tombstones.slice(Math.max(0, room)))
  return winners.filter((winner) => !omitted.has(winner))
}

/** What the winners make a user's totals larger by. */
export function addedUsage(winners: Winner[]): { bytes: number; records: number } {
  return {
    bytes: winners.reduce((sum, winner) => sum + addedBytes(winner), 0),
    records: winners.filter(isNew).length,
  }
}

/** A delete keeps the ciphertext. All of it is ASCII: characters are bytes. */
function addedBytes({ change, stored }: Winner): number {
  if (change.operation === 'delete') return 0
  return (change.encrypted_data?.length ?? 0) - (stored?.bytes ?? 0)
}

function isNew({ stored }: Winner): boolean {
  return stored === undefined
}
