import { quotas } from '../../../generated/limits.ts'
import { ServiceError } from '../contract/errors.ts'
import { type EntityKey, entityKey, isEmptyTombstone, type RecordRow } from '../db/tables/records.ts'
import type { Counters, LockedUser } from '../db/tables/users.ts'
import type { Decided } from './change.ts'
import { isLive, keepsVersions, newBytes, type Won } from './rows.ts'

export interface QuotaLimits {
  maxUserBytes: number
  maxUserRecords: number
}

/** The user's quota in bytes. */
export function maxBytesOf(
  { maxUserBytes }: Pick<QuotaLimits, 'maxUserBytes'>,
  { max_bytes }: Pick<LockedUser, 'max_bytes'>,
) {
  return max_bytes ?? maxUserBytes
}

/** Bytes counted per record or version, besides its ciphertext. Otherwise 50 million versions of one byte would fit. */
export const { rowBytes } = quotas

type Stored = Pick<
  Counters,
  'stored_bytes' | 'version_bytes' | 'stored_records' | 'stored_versions' | 'empty_tombstones'
>

/** The bytes that count for the quota. */
export function usedBytes({
  stored_bytes,
  stored_records,
  stored_versions,
}: Pick<Stored, 'stored_bytes' | 'stored_records' | 'stored_versions'>): number {
  return stored_bytes + rowBytes * (stored_records + stored_versions)
}

/** How many of the used bytes could be erased to make room. */
export function erasableBytes({ version_bytes, stored_versions, empty_tombstones }: Stored): number {
  return version_bytes + rowBytes * (stored_versions + empty_tombstones)
}

/** How much a write changes these counters. */
type AddedBytes = Pick<Counters, 'stored_bytes' | 'version_bytes'>

export function addedBytes(won: Won[]): AddedBytes {
  let [stored_bytes, version_bytes] = [0, 0]
  for (const verdict of won) {
    const { stored, shared } = verdict
    stored_bytes += newBytes(verdict)
    if (isLive(stored)) {
      if (keepsVersions(stored)) version_bytes += stored.bytes
      else stored_bytes -= stored.bytes
    }
    if (shared) version_bytes -= shared.bytes
  }
  return { stored_bytes, version_bytes }
}

/**
 * Returns the winners to store. Throws QuotaExceeded if they exceed a limit even after erasing all versions and empty
 * tombstones. A write that adds neither bytes nor records always passes, so that a user can get below a lowered quota.
 * Deletes pass, too: the delete of an unknown entity leaves a tombstone only if there is room.
 */
export function withinQuota(
  limits: QuotaLimits,
  user: LockedUser,
  won: Won[],
  { stored_bytes, version_bytes }: AddedBytes,
): Won[] {
  const maxBytes = maxBytesOf(limits, user)
  let [created, revived] = [0, 0]
  const unknown: Won[] = []
  for (const verdict of won) {
    const { winner, stored } = verdict
    if (!stored && winner.operation === 'delete') unknown.push(verdict)
    else if (!stored) created++
    else if (winner.operation !== 'delete' && isEmptyTombstone(stored)) revived++
  }
  const records = user.stored_records - user.empty_tombstones + created + revived
  const grown = stored_bytes - version_bytes + rowBytes * (created + revived)
  const bytes = usedBytes(user) - erasableBytes(user) + grown
  if (created > 0 && records > limits.maxUserRecords) throw new ServiceError('QuotaExceeded')
  const isAdding = stored_bytes > 0 || created > 0
  if (isAdding && grown > 0 && bytes > maxBytes) throw new ServiceError('QuotaExceeded')
  if (unknown.length === 0) return won
  const free = maxBytes - usedBytes(user) - stored_bytes - rowBytes * created
  const room = Math.min(limits.maxUserRecords - user.stored_records - created, Math.floor(free / rowBytes))
  const omitted = new Set(unknown.slice(Math.max(0, room)))
  return won.filter((verdict) => !omitted.has(verdict))
}

/** The counters of live bookmarks and of records after the write. */
export function countRecords(user: Counters, written: Won[]): Pick<Counters, 'live_bookmarks' | 'stored_records'> {
  let { live_bookmarks, stored_records } = user
  for (const { winner, stored } of written) {
    if (!stored) stored_records++
    if (winner.entity_type === 'bookmark')
      live_bookmarks += Number(winner.operation !== 'delete') - Number(isLive(stored))
  }
  return { live_bookmarks, stored_records }
}

/** How many empty tombstones the write adds. `recounted` are entities that only got new versions. */
export function addedEmptyTombstones(verdicts: Decided[], records: RecordRow[], recounted: EntityKey[]): number {
  const after = records.filter(isEmptyTombstone).length
  const before = verdicts.flatMap(({ stored }) => (stored && isEmptyTombstone(stored) ? [stored] : []))
  if (before.length === 0) return after
  const changed = new Set([...records, ...recounted].map(entityKey))
  return after - before.filter((stored) => changed.has(entityKey(stored))).length
}
