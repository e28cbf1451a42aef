import { quotas } from '../../../generated/limits.ts'
import { ServiceError } from '../contract/errors.ts'
import type { Counters } from '../db/tables/users.ts'
import { isLive, newBytes, type Won } from './rows.ts'

export interface QuotaLimits {
  maxUserBytes: number
  maxUserRecords: number
}

/** About what a record or a version takes beside its ciphertext. Without it, 50 million versions of a byte would fit. */
export const { rowBytes } = quotas

type Stored = Pick<Counters, 'stored_bytes' | 'version_bytes' | 'stored_records' | 'stored_versions'>

/** The sums that count for the quota. */
export function usedBytes({ stored_bytes, stored_records, stored_versions }: Omit<Stored, 'version_bytes'>): number {
  return stored_bytes + rowBytes * (stored_records + stored_versions)
}

/** How much of it can be erased to make room. */
export function erasableBytes({ version_bytes, stored_versions }: Stored): number {
  return version_bytes + rowBytes * stored_versions
}

/** How much a write changes the counters of the same names. */
type AddedBytes = Pick<Counters, 'stored_bytes' | 'version_bytes'>

/** `removed` is the stored ciphertext that goes; what is replaced is part of it if no versions are kept. */
export function addedBytes(won: Won[], removed: number, isKept: boolean): AddedBytes {
  let [stored_bytes, version_bytes] = [-removed, 0]
  for (const verdict of won) {
    const { stored, shared } = verdict
    stored_bytes += newBytes(verdict)
    if (isKept && isLive(stored)) version_bytes += stored.bytes
    if (shared?.isKept) version_bytes -= shared.bytes
  }
  return { stored_bytes, version_bytes }
}

/**
 * The winners to store; throws QuotaExceeded if they would exceed a limit even without any kept version. What increases
 * neither total always passes, so that a user over a lowered limit can get below it. Deletes pass, too: at a limit,
 * deleting an unknown entity just leaves no tombstone.
 */
export function withinQuota(
  limits: QuotaLimits,
  user: Counters,
  won: Won[],
  { stored_bytes, version_bytes }: AddedBytes,
): Won[] {
  const added = won.filter(({ stored }) => stored === undefined)
  const tombstones = added.filter(({ winner }) => winner.operation === 'delete')
  const created = added.length - tombstones.length
  const grown = stored_bytes - version_bytes + rowBytes * created
  const bytes = usedBytes(user) - erasableBytes(user) + grown
  const isAdding = stored_bytes > 0 || created > 0
  if (isAdding && grown > 0 && bytes > limits.maxUserBytes) throw new ServiceError('QuotaExceeded')
  const room = limits.maxUserRecords - user.stored_records - created
  if (created > 0 && room < 0) throw new ServiceError('QuotaExceeded')
  if (tombstones.length === 0) return won
  const left = Math.min(room, Math.floor((limits.maxUserBytes - bytes) / rowBytes))
  const omitted = new Set(tombstones.slice(Math.max(0, left)))
  return won.filter((verdict) => !omitted.has(verdict))
}

/** The counters of live bookmarks and of records after what is written. */
export function countRecords(user: Counters, written: Won[]): Pick<Counters, 'live_bookmarks' | 'stored_records'> {
  let { live_bookmarks, stored_records } = user
  for (const { winner, stored } of written) {
    if (!stored) stored_records++
    if (winner.entity_type === 'bookmark')
      live_bookmarks += Number(winner.operation !== 'delete') - Number(isLive(stored))
  }
  return { live_bookmarks, stored_records }
}
