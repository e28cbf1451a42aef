import type { EntityKey, RecordRow, Stored } from '../db/tables/records.ts'
import { overwrittenBy } from './overwritten.ts'

/** A version that has won and will be stored. */
export interface Winner
  extends Pick<RecordRow, 'operation' | 'event_id' | 'timestamp' | 'device_id' | 'encrypted_data' | 'data_hash'> {
  /** Used if the entity is not known yet. */
  createdAt: number
  resolution?: 'device_id' | 'last_write_wins' | undefined
  /** Whether it replaces another device's version that its own device had not seen. */
  unseen?: boolean
  /** The stored ciphertext that it shares with the version that it restores. It has no other then. */
  restored?: RestoredData
}

export interface RestoredData {
  data_stamp: number
  bytes: number
  /** Whether a kept version has it, and not just a deleted record. */
  isKept: boolean
}

export interface Replacement {
  entity: EntityKey
  winner: Winner
  /** What it replaces. */
  stored: Stored | undefined
}

/** What of a record remains when it is replaced: how many versions are kept of it at most, 0 if none are. */
export function toRow(userId: string, stamp: number, replacement: Replacement, maxVersions: number): RecordRow {
  const { entity, winner, stored } = replacement
  const { operation, event_id, timestamp, device_id, createdAt, resolution } = winner
  const isDelete = operation === 'delete'
  const { bytes, data_stamp } = dataOf(stamp, replacement, maxVersions > 0)
  return {
    user_id: userId,
    entity_type: entity.entity_type,
    entity_id: entity.entity_id,
    encrypted_data: isDelete ? null : winner.encrypted_data,
    data_hash: (isDelete ? stored?.data_hash : undefined) ?? winner.data_hash,
    created_at: stored?.created_at ?? createdAt,
    updated_at: timestamp,
    deleted_at: isDelete ? timestamp : null,
    stamp,
    event_id,
    operation,
    timestamp,
    device_id,
    conflict_resolved: resolution ? 1 : 0,
    resolution_strategy: resolution ?? null,
    overwritten: overwrittenBy(stored, winner.unseen ?? false),
    bytes,
    data_stamp,
    first_stamp: stored ? stored.first_stamp : stamp,
    versions: stored ? Math.min(stored.versions + 1, maxVersions) : 0,
  }
}

/** A delete has no data of its own, and keeps what is stored as long as a version of it would be kept. */
function dataOf(
  stamp: number,
  { winner, stored }: Replacement,
  isKept: boolean,
): Pick<RecordRow, 'bytes' | 'data_stamp'> {
  if (winner.restored) return { bytes: winner.restored.bytes, data_stamp: winner.restored.data_stamp }
  if (winner.operation !== 'delete') return { bytes: newBytes(winner), data_stamp: stamp }
  return isKept && stored ? { bytes: stored.bytes, data_stamp: stored.data_stamp } : { bytes: 0, data_stamp: null }
}

/** Ciphertext is all ASCII, so characters are bytes. */
export function newBytes({ operation, encrypted_data }: Winner): number {
  return operation === 'delete' ? 0 : (encrypted_data?.length ?? 0)
}

export function isLive(stored: Stored | undefined): stored is Stored & { deleted_at: null } {
  return stored !== undefined && stored.deleted_at === null
}

/** How much it changes the number of live bookmarks. */
export function liveDelta({ entity, winner, stored }: Replacement): number {
  if (entity.entity_type !== 'bookmark') return 0
  return Number(winner.operation !== 'delete') - Number(isLive(stored))
}
