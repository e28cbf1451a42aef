import { editOf, isSealedAnew } from '../../protocol/sealed-anew.ts'
import type { Schemas } from '../contract/schemas.ts'
import { type EntityKey, entityKey, type RecordRow, type Stored } from '../db/tables/records.ts'
import type { VersionRow } from '../db/tables/versions.ts'
import type { Replacement } from './replacement.ts'

/** A change that was rejected. */
export type LostChange = EntityKey &
  Pick<Schemas['Change'], 'id' | 'operation' | 'timestamp' | 'device_id' | 'encrypted_data' | 'data_hash'>

export interface Loser {
  change: LostChange
  /** The version that it lost to. */
  winner: Pick<RecordRow, 'stamp' | 'event_id'>
}

/** The version that a record replaces. Of a deleted one, the version before the delete has the ciphertext. */
export function toReplaced({
  row,
  winner,
  stored,
}: Pick<Replacement, 'winner'> & { row: RecordRow; stored: Stored }): VersionRow {
  const isDeleted = stored.deleted_at !== null
  return {
    user_id: row.user_id,
    seq: row.stamp,
    entity_type: stored.entity_type,
    entity_id: stored.entity_id,
    version_id: stored.event_id,
    operation: stored.operation,
    timestamp: stored.timestamp,
    device_id: stored.device_id,
    data_hash: stored.data_hash,
    began: stored.stamp,
    ended: row.stamp,
    reason: winner.unseen ? 'overwritten' : 'superseded',
    replaced_by: row.event_id,
    settled_at: null,
    was_deleted: Number(!isDeleted && row.deleted_at !== null),
    bytes: isDeleted ? 0 : stored.bytes,
    data_stamp: isDeleted ? null : stored.data_stamp,
  }
}

/** Its ciphertext gets the version's own sequence number. */
export function toRejected(user_id: string, seq: number, { change, winner }: Loser): VersionRow {
  const data = change.operation === 'delete' ? undefined : change.encrypted_data
  return {
    user_id,
    seq,
    entity_type: change.entity_type,
    entity_id: change.entity_id,
    version_id: change.id,
    operation: change.operation,
    timestamp: change.timestamp,
    device_id: change.device_id,
    data_hash: (change.operation === 'delete' ? undefined : change.data_hash) ?? null,
    began: null,
    ended: winner.stamp,
    reason: 'rejected',
    replaced_by: winner.event_id,
    settled_at: null,
    was_deleted: 0,
    bytes: data?.length ?? 0,
    data_stamp: data === undefined ? null : seq,
  }
}

/** Without those that are kept already, perhaps under an older key of the user: a retried push changes nothing. */
export function withoutKept(losers: Loser[], kept: VersionRow[]): Loser[] {
  const known = new Set(kept.map(versionKey))
  const edits = new Set(kept.map(({ version_id, ...entity }) => editKey(entity, version_id)))
  return losers.filter((loser) => {
    const { change } = loser
    if (isSealedAnew(change.id, editOf(change.id)) && edits.has(editKey(change, change.id))) return false
    const key = versionKey(toRejected('', 0, loser))
    if (known.has(key)) return false
    known.add(key)
    return true
  })
}

/** The same event may be kept as a version that was replaced. A deleted record's hash is that of its last content. */
function versionKey(version: VersionRow): string {
  const { version_id, operation, timestamp, device_id, data_hash } = version
  const hash = operation === 'delete' ? null : data_hash
  return JSON.stringify([entityKey(version), version_id, operation, timestamp, device_id, hash])
}

function editKey(entity: EntityKey, eventId: string): string {
  return JSON.stringify([entityKey(entity), editOf(eventId)])
}
