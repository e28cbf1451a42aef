import { v7 as uuidv7 } from 'uuid'
import type { Context } from '../context.ts'
import type { Schemas } from '../contract.ts'
import { saveLastSync } from '../db/devices.ts'
import type { StoredVersion } from '../db/records.ts'
import { lockUser } from '../db/users.ts'
import { describeFault } from '../http/faults.ts'
import { compileSchema } from '../http/schemas.ts'
import { isFarAhead } from './clock.ts'
import type { Device } from './push.ts'
import { type Winner, writeWinners } from './write.ts'

type Candidate = Schemas['ImportCandidate']
type ImportBookmark = Schemas['ImportBookmark']

const isImportBookmark = compileSchema<ImportBookmark>('ImportBookmark')

/** Imports what it can in one transaction; the elements that fail are reported, each with its reason. */
export async function importBookmarks(
  context: Context,
  device: Device,
  candidates: Candidate[],
): Promise<Schemas['ImportResponse']> {
  const now = context.clock()
  const faults = new Map<number, string>()
  const sound = new Map<number, ImportBookmark>()
  const seen = new Set<string>()
  candidates.forEach((candidate, index) => {
    const fault = findFault(candidate, now) ?? (seen.has(candidate.id) ? 'Bookmark already exists' : undefined)
    if (fault) faults.set(index, fault)
    else sound.set(index, candidate as ImportBookmark)
    if (!fault) seen.add(candidate.id)
  })

  const { existing, written } = await context.database.write(async (trx) => {
    const user = await lockUser(trx, device.userId)
    const list = [...sound]
    const stored = await context.database.findVersions(
      trx,
      user.id,
      list.map(([, { id }]) => ({ entity_type: 'bookmark', entity_id: id })),
    )
    const isLive = (place: number) => stored[place] !== undefined && stored[place].deleted_at === null
    const winners = list.flatMap(([, bookmark], place) =>
      isLive(place) ? [] : [toWinner(bookmark, stored[place], device.deviceId, now)],
    )
    await writeWinners(context, trx, user, now, winners)
    if (device.deviceId !== 'unknown') await saveLastSync(trx, user.id, device.deviceId, now)
    return { existing: list.filter((_, place) => isLive(place)).map(([index]) => index), written: winners.length }
  })
  if (written > 0) context.pulse.publishChange(device.userId)

  for (const index of existing) faults.set(index, 'Bookmark already exists')
  const imported_ids = candidates.filter((_, index) => !faults.has(index)).map(({ id }) => id)
  const errors = candidates.flatMap(({ id }, index) => {
    const error = faults.get(index)
    return error === undefined ? [] : [{ id, error }]
  })
  context.metrics.countImport(candidates.length)
  return { imported: imported_ids.length, imported_ids, errors, timestamp: now }
}

/** Milliseconds are beyond the schema's range, too: that they are no seconds is the better reason. */
function findFault(candidate: Candidate & Partial<ImportBookmark>, now: number): string | undefined {
  const late = (['date_added', 'date_modified'] as const).find((field) =>
    isFarAhead(Number(candidate[field]) * 1000, now),
  )
  if (late) return `${late} is not in seconds`
  return isImportBookmark(candidate) ? undefined : describeFault(isImportBookmark.errors)
}

/** A deleted bookmark is revived: that is what backups are for, so the import is made newer than its deletion. */
function toWinner(bookmark: ImportBookmark, stored: StoredVersion | undefined, deviceId: string, now: number): Winner {
  const addedAt = bookmark.date_added === undefined ? now : bookmark.date_added * 1000
  const modifiedAt = bookmark.date_modified === undefined ? addedAt : bookmark.date_modified * 1000
  return {
    change: {
      entity_type: 'bookmark',
      entity_id: bookmark.id,
      operation: 'create',
      event_id: uuidv7(),
      timestamp: Math.max(modifiedAt, stored ? stored.timestamp + 1 : 0),
      device_id: deviceId,
      encrypted_data: bookmark.encrypted_data,
      data_hash: bookmark.data_hash,
    },
    stored,
    createdAt: addedAt,
  }
}
