import type { EntityKey, Row, StoredVersion } from '../db/rows.ts'
import { overwrittenBy } from './overwritten.ts'

/** A version that has won and will be stored. */
export interface Winner
  extends Pick<Row, 'operation' | 'event_id' | 'timestamp' | 'device_id' | 'encrypted_data' | 'data_hash'> {
  /** Used if the entity is not known yet. */
  createdAt: number
  resolution?: 'device_id' | 'last_write_wins' | undefined
  /** Whether it replaces another device's version that its own device had not seen. */
  unseen?: boolean
}

export interface Replacement {
  entity: EntityKey
  winner: Winner
  /** What it replaces. */
  stored: StoredVersion | undefined
}

export function toRow(userId: string, stamp: number, replacement: Replacement): Row {
  const { entity, winner, stored } = replacement
  const { operation, event_id, timestamp, device_id, createdAt, resolution } = winner
  const isDelete = operation === 'delete'
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
    ...(isDelete ? keptData(stored) : { bytes: newBytes(winner), data_stamp: stamp }),
  }
}

/** A delete has no data of its own, and keeps what is stored. */
function keptData(stored: StoredVersion | undefined): Pick<Row, 'bytes' | 'data_stamp'> {
  return { bytes: stored?.bytes ?? 0, data_stamp: stored?.data_stamp ?? null }
}

/** Ciphertext is all ASCII, so characters are bytes. */
export function newBytes({ encrypted_data }: Winner): number {
  return encrypted_data?.length ?? 0
}

/** How much it changes the number of live bookmarks. */
export function liveDelta({ entity, winner, stored }: Replacement): number {
  if (entity.entity_type !== 'bookmark') return 0
  const before = stored !== undefined && stored.deleted_at === null
  const after = winner.operation !== 'delete'
  return Number(after) - Number(before)
}
