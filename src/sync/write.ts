import type { Database, Trx } from '../db/database.ts'
import type { Row, StoredVersion } from '../db/records.ts'
import { settleEntities } from '../db/rejections.ts'
import { type LockedUser, saveCounters } from '../db/users.ts'

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
}

/**
 * Stores the winners, a stamp each, and keeps the user's counters. The caller holds the lock on the user, so stamps become
 * visible in their order; a clock that goes back does not make them smaller.
 */
export async function writeWinners(
  database: Database,
  trx: Trx,
  user: LockedUser,
  now: number,
  winners: Winner[],
): Promise<Row[]> {
  if (winners.length === 0) return []
  let stamp = user.last_stamp
  const rows = winners.map((winner) => {
    stamp = Math.max(now, stamp + 1)
    return toRow(user.id, stamp, winner)
  })
  await database.saveVersions(trx, rows)
  await settleEntities(trx, user.id, rows)
  const live_bookmarks = user.live_bookmarks + winners.reduce((sum, winner) => sum + liveDelta(winner), 0)
  await saveCounters(trx, { id: user.id, last_stamp: stamp, live_bookmarks })
  return rows
}

function toRow(userId: string, stamp: number, { change, stored, createdAt, resolution }: Winner): Row {
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
  }
}

function liveDelta({ change, stored }: Winner): number {
  if (change.entity_type !== 'bookmark') return 0
  const before = stored !== undefined && stored.deleted_at === null
  const after = change.operation !== 'delete'
  return Number(after) - Number(before)
}
