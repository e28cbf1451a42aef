import type { components } from '../../../generated/openapi.ts'
import { addOverwritten, type Overwritten, type Verdict } from '../../protocol/decide.ts'
import { editOf, isSealedAnew } from '../../protocol/sealed-anew.ts'

type Schemas = components['schemas']
type Change = Schemas['Change']

/** A ciphertext. A version that was restored, and what it was restored from, share it. */
export interface Data {
  text: string
}

/** The current version of an entity. A deleted one keeps the data of the version before. */
export interface Stored
  extends Omit<Schemas['SyncEvent'], 'id' | 'user_id' | 'encrypted_data' | 'data_hash' | 'overwritten'> {
  event_id: string
  data: Data | null
  data_hash: string | null
  overwritten: Overwritten | null
  stamp: number
  first_stamp: number
  created_at: number
}

/** A version that was replaced or that lost. Only the service knows `data`; null for a delete. */
export interface Kept extends Omit<Schemas['Version'], 'encrypted_data' | 'data_hash' | 'erased_at'> {
  seq: number
  data: Data | null
  data_hash: string | null
  /** Whether a delete has replaced it. */
  was_deleted: boolean
}

/** What an entity becomes. */
export interface Replacement extends Pick<Schemas['SyncEvent'], 'entity_type' | 'entity_id' | 'operation'> {
  event_id: string
  timestamp: number
  device_id: string
  data: Data | null
  data_hash: string | null
  resolution?: 'device_id' | 'last_write_wins' | undefined
  unseen?: boolean
}

/** Whether it is a conflict that nobody has settled. */
export function isOpen({ settled_at, reason }: Kept): boolean {
  return settled_at === null && reason !== 'superseded'
}

export function dataOf({
  operation,
  encrypted_data,
}: {
  operation: string
  encrypted_data?: string | null
}): Data | null {
  return operation === 'delete' || encrypted_data == null ? null : { text: encrypted_data }
}

/** Undefined if nothing has won. */
export function toReplacement({ winner, resolution, unseen }: Verdict<Stored>): Replacement | undefined {
  if (!winner) return undefined
  const { id: event_id, entity_type, entity_id, operation, timestamp, device_id, data_hash = null } = winner
  const made = { event_id, entity_type, entity_id, operation, timestamp, device_id, data_hash }
  return { ...made, data: dataOf(winner), resolution, unseen }
}

export function toStored(replacement: Replacement, before: Stored | undefined, stamp: number): Stored {
  const { entity_type, entity_id, event_id, operation, timestamp, device_id, data, data_hash } = replacement
  const { resolution, unseen } = replacement
  const isDelete = operation === 'delete'
  const overwritten = before?.overwritten ?? null
  return {
    ...{ entity_type, entity_id, event_id, operation, timestamp, device_id, stamp },
    first_stamp: before?.first_stamp ?? stamp,
    created_at: before?.created_at ?? timestamp,
    data: isDelete ? (before?.data ?? null) : data,
    data_hash: (isDelete ? before?.data_hash : undefined) ?? data_hash,
    conflict_resolved: resolution !== undefined,
    resolution_strategy: resolution ?? null,
    overwritten: before && unseen ? addOverwritten(overwritten ?? [], before) : overwritten,
  }
}

export function toReplaced(before: Stored, { stamp, event_id, operation }: Stored, unseen = false): Kept {
  const { entity_type, entity_id, timestamp, device_id, data, data_hash } = before
  const isDelete = before.operation === 'delete'
  return {
    ...{ entity_type, entity_id, timestamp, device_id, data_hash, operation: before.operation },
    ...{ version_id: before.event_id, began: before.stamp, ended: stamp, seq: stamp, replaced_by: event_id },
    reason: unseen ? 'overwritten' : 'superseded',
    settled_at: null,
    was_deleted: !isDelete && operation === 'delete',
    data: isDelete ? null : data,
  }
}

export function toRejected(change: Change, { stamp, event_id }: Stored): Kept {
  const { id: version_id, entity_type, entity_id, operation, timestamp, device_id, data_hash } = change
  return {
    ...{ version_id, entity_type, entity_id, operation, timestamp, device_id },
    ...{ began: null, ended: stamp, seq: 0, reason: 'rejected', replaced_by: event_id, settled_at: null },
    data_hash: (operation === 'delete' ? undefined : data_hash) ?? null,
    was_deleted: false,
    data: dataOf(change),
  }
}

/**
 * The same event may be kept as a version that was replaced, perhaps under an older key of the user. A deleted record's
 * hash is that of its last content.
 */
export function isSameVersion(one: Kept, other: Kept): boolean {
  if (isSealedAnew(other.version_id, editOf(one.version_id))) return true
  const keyOf = ({ version_id, operation, timestamp, device_id, data_hash }: Kept) =>
    JSON.stringify([version_id, operation, timestamp, device_id, operation === 'delete' ? null : data_hash])
  return keyOf(one) === keyOf(other)
}
