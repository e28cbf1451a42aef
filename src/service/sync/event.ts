import type { Schemas } from '../contract/schemas.ts'
import type { ChangeRow } from '../db/tables/changes.ts'
import { readOverwritten } from './rows.ts'

/** The last change of an entity in the contract's form. A deleted entity is sent without ciphertext. */
export function toSyncEvent(row: ChangeRow): Schemas['SyncEvent'] {
  return {
    id: row.event_id,
    user_id: row.user_id,
    entity_type: row.entity_type,
    entity_id: row.entity_id,
    operation: row.operation,
    timestamp: row.timestamp,
    device_id: row.device_id,
    ...(row.encrypted_data !== null && { encrypted_data: row.encrypted_data }),
    ...(row.data_hash !== null && { data_hash: row.data_hash }),
    conflict_resolved: row.resolution_strategy !== null,
    resolution_strategy: row.resolution_strategy,
    ...(row.overwritten !== null && { overwritten: readOverwritten(row.overwritten) }),
    ...(row.recovered !== null && { recovered: JSON.parse(row.recovered) as Schemas['RecoveredVersion'] }),
  }
}
