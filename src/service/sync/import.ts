import { BookmarkExists } from '../../../generated/errors.ts'
import { decide, keep } from '../../protocol/decide.ts'
import { isFarAhead } from '../../protocol/order.ts'
import type { Schemas } from '../contract/schemas.ts'
import { faultFinderOf } from '../contract/validation.ts'
import { entityKey, type Stored } from '../db/tables/records.ts'
import { type Caller, type Change, type Decided, newEventId } from './change.ts'
import { isLive } from './rows.ts'
import { baseOf, type WriteParts, writeRecords } from './write.ts'

type ImportBookmark = Schemas['ImportBookmark']
/** An element of which only the id has been checked. */
type Candidate = Pick<ImportBookmark, 'id'>

export interface ImportParts extends WriteParts {
  metrics: { countImport(bookmarks: number): void }
}

const faultOfBookmark = faultFinderOf('ImportBookmark')
const [, inUse] = BookmarkExists

/** Imports the elements in one transaction. Reports those that fail, with the reasons. */
export async function importBookmarks(
  parts: ImportParts,
  caller: Caller,
  candidates: Candidate[],
): Promise<Schemas['ImportResponse']> {
  const { deviceId } = caller
  const now = parts.clock()
  const faults = findFaults(candidates, now)
  const valid = candidates.filter((candidate) => !faults.has(candidate)) as ImportBookmark[]
  const wanted = valid.map((bookmark) => ({ ...keyOf(bookmark), device_id: deviceId, bookmark }))
  const { verdicts, epoch } = await writeRecords(parts, {
    caller,
    entities: Map.groupBy(wanted, entityKey),
    syncedBy: deviceId,
    decide([entity], stored, seenUpTo): Decided {
      const { bookmark } = entity as (typeof wanted)[number]
      const change = toChange(bookmark, stored, deviceId, now)
      if (isLive(stored)) return keep(stored, change, inUse)
      return { ...decide([change], stored, seenUpTo), createdAt: addedAt(bookmark, now) }
    },
  })
  // Elements and entities correspond, because a second element with the same id is a fault.
  for (const [index, { heldBack }] of verdicts.entries())
    if (heldBack.size > 0) faults.set(valid[index] as ImportBookmark, inUse)

  const imported_ids = candidates.filter((candidate) => !faults.has(candidate)).map(({ id }) => id)
  const errors = candidates.flatMap((candidate) => {
    const error = faults.get(candidate)
    return error === undefined ? [] : [{ id: candidate.id, error }]
  })
  parts.metrics.countImport(candidates.length)
  return { imported: imported_ids.length, imported_ids, errors, timestamp: now, epoch }
}

/** Includes second elements with the id of a valid one. */
function findFaults(candidates: Candidate[], now: number): Map<Candidate, string> {
  const seen = new Set<string>()
  const faults = new Map<Candidate, string>()
  for (const candidate of candidates) {
    const fault = findFault(candidate, now) ?? (seen.has(candidate.id) ? inUse : undefined)
    if (fault) faults.set(candidate, fault)
    else seen.add(candidate.id)
  }
  return faults
}

/** A date in milliseconds also exceeds the schema's maximum, but this text is clearer. */
function findFault(candidate: Candidate & Partial<ImportBookmark>, now: number): string | undefined {
  const ahead = (['date_added', 'date_modified'] as const).find((field) => {
    const seconds: unknown = candidate[field]
    return typeof seconds === 'number' && isFarAhead(seconds * 1000, now)
  })
  if (ahead) return `${ahead} is not in seconds`
  return faultOfBookmark(candidate)
}

/** The change is newer than a stored deletion, because a backup is imported to bring deleted bookmarks back. */
function toChange(bookmark: ImportBookmark, stored: Stored | undefined, deviceId: string, now: number): Change {
  const modifiedAt = bookmark.date_modified === undefined ? addedAt(bookmark, now) : bookmark.date_modified * 1000
  return {
    ...keyOf(bookmark),
    id: newEventId(),
    operation: 'create',
    timestamp: Math.max(modifiedAt, stored ? stored.timestamp + 1 : 0),
    device_id: deviceId,
    encrypted_data: bookmark.encrypted_data,
    data_hash: bookmark.data_hash,
    ...baseOf(deviceId, stored),
  }
}

function keyOf({ id }: ImportBookmark) {
  return { entity_type: 'bookmark' as const, entity_id: id }
}

function addedAt({ date_added }: ImportBookmark, now: number): number {
  return date_added === undefined ? now : date_added * 1000
}
