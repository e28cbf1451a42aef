import { addOverwritten, type Overwritten } from '../../protocol/decide.ts'
import type { EntityKey, RecordRow, Stored } from '../db/tables/records.ts'
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

/** False for history: every visit would make a version, and these would fill the quota. */
export function keepsVersions({ entity_type }: Pick<EntityKey, 'entity_type'>): boolean {
  return entity_type !== 'history'
}

/** Ciphertext is ASCII, so its length is its size in bytes. */
export function newBytes({ winner: { operation, encrypted_data }, shared }: Won): number {
  return operation === 'delete' || shared ? 0 : (encrypted_data?.length ?? 0)
}

/** The record of a winner, with the commit's next number. */
export function toRecord(user_id: string, commit: Commit, won: Won): RecordRow {
  const sequence = commit.next()
  const { winner, stored, createdAt, resolution, shared } = won
  const { entity_type, entity_id, id: event_id, operation, timestamp, device_id } = winner
  const isDelete = operation === 'delete'
  const { bytes, data_sequence } = dataOf(sequence, won)
  return {
    user_id,
    entity_type,
    entity_id,
    encrypted_data: isDelete || shared ? null : (winner.encrypted_data ?? null),
    data_hash: (isDelete ? stored?.data_hash : undefined) ?? winner.data_hash ?? null,
    created_at: stored?.created_at ?? createdAt ?? timestamp,
    updated_at: timestamp,
    deleted_at: isDelete ? timestamp : null,
    sequence,
    stored_at: commit.at,
    event_id,
    operation,
    timestamp,
    device_id,
    resolution_strategy: resolution ?? null,
    overwritten: overwrittenBy(won),
    recovered: recoveredIn(won),
    bytes,
    data_sequence,
    first_sequence: stored?.first_sequence ?? sequence,
    first_stored_at: stored?.first_stored_at ?? commit.at,
    others_sequence: (stored?.device_id === device_id ? stored.others_sequence : stored?.sequence) ?? null,
    versions: stored && keepsVersions(stored) ? stored.versions + 1 : 0,
  }
}

/** The ciphertext of a record. A delete has none: the stored one stays if versions are kept of this entity. */
function dataOf(sequence: number, won: Won): Pick<RecordRow, 'bytes' | 'data_sequence'> {
  const { winner, stored, shared } = won
  if (shared) return { bytes: shared.bytes, data_sequence: shared.data_sequence }
  if (winner.operation !== 'delete') return { bytes: newBytes(won), data_sequence: sequence }
  if (!stored || !keepsVersions(stored)) return { bytes: 0, data_sequence: null }
  return { bytes: stored.bytes, data_sequence: stored.data_sequence }
}

/** The list of versions that were overwritten unseen. Later versions keep it: a device may get only the last one. */
function overwrittenBy({ winner, stored, unseenAfter }: Won): string | null {
  if (unseenAfter === undefined && !winner.overwritten) return stored?.overwritten ?? null
  // A version that was lost in a recovery comes with its list.
  const named = winner.overwritten ?? []
  const known = named.reduce(
    (all, one) => addOverwritten(all, one, one.made_on_unseen === true),
    readOverwritten(stored?.overwritten ?? null),
  )
  if (!stored || unseenAfter === undefined) return known.length > 0 ? toJson(known) : null
  // A create has seen no version of the entity. Noted now, because later updates do not show that.
  const hasSeenNone = winner.operation === 'create' || unseenAfter < stored.first_sequence
  // The stored version may build on another device's that this device has not seen either.
  const isOnUnseen = (stored.others_sequence ?? 0) > unseenAfter
  return toJson(addOverwritten(known, stored, isOnUnseen || hasSeenNone))
}

/** Characters. 16 versions fit if their device ids are UUIDs. Longer ids must not fill the disk outside the quota. */
const maxOverwritten = 1700

/** Leaves out the oldest versions beyond `maxOverwritten`. */
function toJson(versions: Overwritten): string {
  const json = JSON.stringify(versions)
  return json.length <= maxOverwritten ? json : toJson(versions.slice(1))
}

/** The last version that was sent again after a recovery, if the winner is that or its device had seen it. */
function recoveredIn({ winner, stored, unseenAfter }: Won): string | null {
  if (winner.recovered) return JSON.stringify(winner.recovered)
  return unseenAfter === undefined ? (stored?.recovered ?? null) : null
}

export function readOverwritten(json: string | null): Overwritten {
  return json === null ? [] : (JSON.parse(json) as Overwritten)
}

/** The version that a record replaces. If that is a delete, the version before the delete has the ciphertext. */
export function toReplaced(record: RecordRow, { behind }: Commit, stored: Stored, unseen: boolean): VersionRow {
  const isDeleted = stored.deleted_at !== null
  return {
    user_id: record.user_id,
    sequence: record.sequence,
    stored_at: record.stored_at,
    behind,
    entity_type: stored.entity_type,
    entity_id: stored.entity_id,
    version_id: stored.event_id,
    operation: stored.operation,
    timestamp: stored.timestamp,
    device_id: stored.device_id,
    data_hash: stored.data_hash,
    began: stored.sequence,
    began_at: stored.stored_at,
    ended_at: record.stored_at,
    reason: unseen ? 'overwritten' : 'superseded',
    replaced_by: record.event_id,
    settled_at: null,
    was_deleted: Number(!isDeleted && record.deleted_at !== null),
    bytes: isDeleted ? 0 : stored.bytes,
    data_sequence: isDeleted ? null : stored.data_sequence,
  }
}
