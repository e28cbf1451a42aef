import { v7 as uuidv7 } from 'uuid'
import { decide } from '../../protocol/decide.ts'
import { ServiceError } from '../contract/errors.ts'
import type { Schemas } from '../contract/schemas.ts'
import { entityKey, type RecordRow, type Stored } from '../db/tables/records.ts'
import type { Caller } from './change.ts'
import { baseOf, type WriteParts, writeRecords } from './write.ts'

type Content = Schemas['BookmarkContent']

export type RestParts = WriteParts

/** A write over REST is a change that always wins: its timestamp is above the stored one, whatever the clocks say. */
export async function createRecord(parts: RestParts, caller: Caller, id: string, content: Content): Promise<RecordRow> {
  return writeRecord(parts, caller, id, 'create', content, (stored) => {
    if (stored) throw new ServiceError('BookmarkExists')
  })
}

export async function updateRecord(parts: RestParts, caller: Caller, id: string, content: Content): Promise<RecordRow> {
  return writeRecord(parts, caller, id, 'update', content, assertLive)
}

export async function deleteRecord(parts: RestParts, caller: Caller, id: string): Promise<void> {
  await writeRecord(parts, caller, id, 'delete', undefined, assertLive)
}

function assertLive(stored: Stored | undefined): void {
  if (!stored || stored.deleted_at !== null) throw new ServiceError('BookmarkNotFound')
}

async function writeRecord(
  parts: RestParts,
  caller: Caller,
  id: string,
  operation: Schemas['Operation'],
  content: Content | undefined,
  check: (stored: Stored | undefined) => void,
): Promise<RecordRow> {
  const { deviceId } = caller
  const now = parts.clock()
  const bookmark = { entity_type: 'bookmark', entity_id: id, device_id: deviceId } as const
  const { rows } = await writeRecords(parts, {
    caller,
    entities: new Map([[entityKey(bookmark), [bookmark]]]),
    bytes: content?.encrypted_data.length ?? 0,
    syncedBy: undefined,
    decide(_, stored, seenUpTo) {
      check(stored)
      const timestamp = Math.max(now, stored ? stored.timestamp + 1 : 0)
      // Only these two of the body's fields: it may hold others, with the names of a change's.
      const data = content && { encrypted_data: content.encrypted_data, data_hash: content.data_hash }
      const change = { ...bookmark, id: uuidv7(), operation, timestamp, ...data, ...baseOf(deviceId, stored) }
      return decide([change], stored, seenUpTo)
    },
  })
  return rows[0] as RecordRow
}
