import { addOverwritten, type Overwritten } from '../../protocol/decide.ts'
import type { RecordRow, Stored } from '../db/tables/records.ts'
import type { VersionRow } from '../db/tables/versions.ts'
import type { Change, Decided } from './change.ts'
import type { Commit } from './numbers.ts'

/** The verdict about an entity that changes. */
export type Won = Decided & { winner: Change }

export function isWon(verdict: Decided): verdict is Won {
  return verdict.winner !== undefined
}

export function isLive(stored: Stored | undefined): stored is Stored & { deleted_at: null } {
  return stored !== undefined && stored.deleted_at === null
}

/** Ciphertext is all ASCII, so characters are bytes. */
export function newBytes({ winner: { operation, encrypted_data }, shared }: Won): number {
  return operation === 'delete' || shared ? 0 : (encrypted_data?.length ?? 0)
}

/** The record that a winner leaves, with the commit's next number. */
export function toRecord(
  user_id: string,
  commit: Commit,
  won: Won,
  { isKept, isOnUnseen }: { isKept: boolean; isOnUnseen: boolean },
): RecordRow {
  const { stamp, ahead } = commit.next()
  const { winner, stored, createdAt, resolution, shared } = won
  const { entity_type, entity_id, id: event_id, operation, timestamp, device_id } = winner
  const isDelete = operation === 'delete'
  const { bytes, data_stamp } = dataOf(stamp, won, isKept)
  return {
    user_id,
    entity_type,
    entity_id,
    encrypted_data: isDelete || shared ? null : (winner.encrypted_data ?? null),
    data_hash: (isDelete ? stored?.data_hash : undefined) ?? winner.data_hash ?? null,
    created_at: stored?.created_at ?? createdAt ?? timestamp,
    updated_at: timestamp,
    deleted_at: isDelete ? timestamp : null,
    stamp,
    ahead,
    event_id,
    operation,
    timestamp,
    device_id,
    conflict_resolved: resolution ? 1 : 0,
    resolution_strategy: resolution ?? null,
    overwritten: overwrittenBy(won, isOnUnseen),
    bytes,
    data_stamp,
    first_stamp: stored ? stored.first_stamp : stamp,
    first_ahead: stored ? stored.first_ahead : ahead,
    versions: stored ? stored.versions + Number(isKept) : 0,
  }
}

/** A delete has no data of its own, and keeps what is stored as long as a version of it would be kept. */
function dataOf(stamp: number, won: Won, isKept: boolean): Pick<RecordRow, 'bytes' | 'data_stamp'> {
  const { winner, stored, shared } = won
  if (shared) return { bytes: shared.bytes, data_stamp: shared.data_stamp }
  if (winner.operation !== 'delete') return { bytes: newBytes(won), data_stamp: stamp }
  return isKept && stored ? { bytes: stored.bytes, data_stamp: stored.data_stamp } : { bytes: 0, data_stamp: null }
}

/** Later versions keep what was overwritten: a device may receive only a later one, and must still learn of its loss. */
function overwrittenBy({ stored, unseenAfter }: Won, isOnUnseen: boolean): string | null {
  if (!stored) return null
  if (unseenAfter === undefined) return stored.overwritten
  return JSON.stringify(addOverwritten(readOverwritten(stored.overwritten), stored, isOnUnseen))
}

export function readOverwritten(json: string | null): Overwritten {
  return json === null ? [] : (JSON.parse(json) as Overwritten)
}

/** The version that a record replaces. Of a deleted one, the version before the delete has the ciphertext. */
export function toReplaced(
  record: Pick<RecordRow, 'user_id' | 'stamp' | 'ahead' | 'event_id' | 'deleted_at'>,
  { behind }: Pick<Commit, 'behind'>,
  stored: Omit<Stored, 'created_at' | 'updated_at' | 'overwritten' | 'first_stamp' | 'first_ahead' | 'versions'>,
  unseen: boolean,
): VersionRow {
  const isDeleted = stored.deleted_at !== null
  return {
    user_id: record.user_id,
    seq: record.stamp,
    ahead: record.ahead,
    entity_type: stored.entity_type,
    entity_id: stored.entity_id,
    version_id: stored.event_id,
    operation: stored.operation,
    timestamp: stored.timestamp,
    device_id: stored.device_id,
    data_hash: stored.data_hash,
    began: stored.stamp,
    began_ahead: stored.ahead,
    ended: record.stamp,
    ended_ahead: record.ahead,
    behind,
    reason: unseen ? 'overwritten' : 'superseded',
    replaced_by: record.event_id,
    settled_at: null,
    was_deleted: Number(!isDeleted && record.deleted_at !== null),
    bytes: isDeleted ? 0 : stored.bytes,
    data_stamp: isDeleted ? null : stored.data_stamp,
  }
}
