import { createHash } from 'node:crypto'
import { stringify, v7 as uuidv7 } from 'uuid'
import { decide, unchanged } from '../../protocol/decide.ts'
import { ServiceError } from '../contract/errors.ts'
import type { Schemas } from '../contract/schemas.ts'
import type { BookmarkRow } from '../db/tables/bookmarks.ts'
import { entityKey, type Stored } from '../db/tables/records.ts'
import { type Caller, newEventId } from './change.ts'
import { baseOf, type WriteParts, writeRecords } from './write.ts'

type Content = Schemas['BookmarkContent']

/** Creates a record. Changes over REST always win: their timestamp is above the stored one, whatever the clocks say. */
export async function createRecord(
  parts: WriteParts,
  caller: Caller,
  { id, ...content }: Schemas['BookmarkToCreate'],
  key: string | undefined,
): Promise<BookmarkRow> {
  if (id === undefined && key !== undefined) return createOnce(parts, caller, key, content)
  return writeRecord(parts, caller, id ?? uuidv7(), 'create', content, (stored) => {
    if (stored) throw new ServiceError('BookmarkExists')
  })
}

/**
 * Derives the bookmark's id from the key, and the event id from the body. So a repeated request finds the bookmark, and
 * recognizes it as its own until something changes it.
 */
function createOnce(parts: WriteParts, caller: Caller, key: string, content: Content): Promise<BookmarkRow> {
  const id = uuidOf(caller.userId, key)
  const eventId = uuidOf(id, content.data_hash, content.encrypted_data)
  const check = (stored: Stored | undefined) => {
    if (stored && stored.sequence !== stored.first_sequence) throw new ServiceError('BookmarkExists')
    if (stored && stored.event_id !== eventId) throw new ServiceError('IdempotencyKeyUsed')
  }
  return writeRecord(parts, caller, id, 'create', content, check, eventId)
}

/** A UUIDv8 (RFC 9562, section 5.8). It begins with 00: a leading `e` marks events that the client package made. */
export function uuidOf(...names: string[]): string {
  const bytes = createHash('sha256').update(JSON.stringify(names)).digest().subarray(0, 16)
  bytes[0] = 0
  bytes[6] = 0x80 | ((bytes[6] as number) & 0x0f)
  bytes[8] = 0x80 | ((bytes[8] as number) & 0x3f)
  return stringify(bytes)
}

export async function updateRecord(
  parts: WriteParts,
  caller: Caller,
  id: string,
  content: Content,
): Promise<BookmarkRow> {
  return writeRecord(parts, caller, id, 'update', content, assertLive)
}

export async function deleteRecord(parts: WriteParts, caller: Caller, id: string): Promise<void> {
  await writeRecord(parts, caller, id, 'delete', undefined, assertLive)
}

function assertLive(stored: Stored | undefined): void {
  if (!stored || stored.deleted_at !== null) throw new ServiceError('BookmarkNotFound')
}

async function writeRecord(
  parts: WriteParts,
  caller: Caller,
  id: string,
  operation: Schemas['Operation'],
  content: Content | undefined,
  check: (stored: Stored | undefined) => void,
  eventId = newEventId(),
): Promise<BookmarkRow> {
  const { deviceId } = caller
  const now = parts.clock()
  const bookmark = { entity_type: 'bookmark', entity_id: id, device_id: deviceId } as const
  const { rows, verdicts } = await writeRecords(parts, {
    caller,
    entities: new Map([[entityKey(bookmark), [bookmark]]]),
    syncedBy: undefined,
    decide(_, stored, seenUpTo) {
      check(stored)
      if (stored?.event_id === eventId) return unchanged(stored)
      const timestamp = Math.max(now, stored ? stored.timestamp + 1 : 0)
      // Copies only these fields of the body, which might have others with the names of a change's fields.
      const data = content && { encrypted_data: content.encrypted_data, data_hash: content.data_hash }
      const change = { ...bookmark, id: eventId, operation, timestamp, ...data, ...baseOf(deviceId, stored) }
      return decide([change], stored, seenUpTo)
    },
  })
  return rows[0] ?? { ...(verdicts[0]?.stored as Stored), encrypted_data: content?.encrypted_data ?? null }
}
