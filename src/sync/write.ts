import type { Context } from '../context.ts'
import type { Trx } from '../db/database.ts'
import type { Row, StoredVersion } from '../db/records.ts'
import { type LockedUser, saveCounters } from '../db/users.ts'
import { overwrittenBy } from './overwritten.ts'
import { addedUsage, withinQuota } from './quota.ts'

/** A change that won, and what it replaces. */
export interface Winner {
  change: Pick<
    Row,
    'entity_type' | 'entity_id' | 'operation' | 'event_id' | 'timestamp' | 'device_id' | 'encrypted_data' | 'data_hash'
  >
  stored: StoredVersion | undefined
  /** When the entity is not known yet. */
  createdAt: number
  resolution?: 'device_id' | 'last_write_wins' | undefined
  /** Whether what it replaces was another device's, unseen. */
  unseen?: boolean
}

/**
 * Stores the winners that the user's quota leaves room for, a stamp each, and keeps the user's counters. The caller holds the
 * lock on the user, so stamps become visible in their order; a clock that goes back does not make them smaller.
 */
export async function writeWinners(
  { config, database }: Pick<Context, 'config' | 'database'>,
  trx: Trx,
  user: LockedUser,
  now: number,
  winners: Winner[],
): Promise<Row[]> {
  const kept = withinQuota(config, user, winners)
  if (kept.length === 0) return []
  let stamp = user.last_stamp
  const rows = kept.map((winner) => {
    stamp = Math.max(now, stamp + 1)
    return toRow(user.id, stamp, winner)
  })
  await database.saveVersions(trx, rows)
  await database.settleEntities(trx, user.id, rows)
  const added = addedUsage(kept)
  await saveCounters(trx, {
    id: user.id,
    last_stamp: stamp,
    live_bookmarks: user.live_bookmarks + kept.reduce((sum, winner) => sum + liveDelta(winner), 0),
    stored_bytes: user.stored_bytes + added.bytes,
    stored_records: user.stored_records + added.records,
  })
  return rows
}

function toRow(userId: string, stamp: number, winner: Winner): Row {
  const { change, stored, createdAt, resolution } = winner
  const isDelete = change.operation === 'delete'
  return {
    ...change,
    user_id: userId,
    encrypted_data: isDelete ? null : change.encrypted_data,
    data_hash: isDelete ? null : change.data_hash,
    created_at: stored?.created_at ?? createdAt,
    updated_at: change.timestamp,
    deleted_at: isDelete ? change.timestamp : null,
    stamp,
    conflict_resolved: resolution ? 1 : 0,
    resolution_strategy: resolution ?? null,
    overwritten: overwrittenBy(winner),
  }
}

function liveDelta({ change, stored }: Winner): number {
  if (change.entity_type !== 'bookmark') return 0
  const before = stored !== undefined && stored.deleted_at === null
  const after = change.operation !== 'delete'
  return Number(after) - Number(before)
}
