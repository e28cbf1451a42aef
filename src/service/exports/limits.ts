import { quotas } from '../../../generated/limits.ts'
import { ServiceError } from '../contract/errors.ts'
import type { Trx } from '../db/engine/database.ts'
import { deleteExport, type ExportRow, listExports } from '../db/tables/exports.ts'
import type { LockedUser } from '../db/tables/users.ts'

const { exportsUnfinished: maxUnfinished, exportsKept: maxKept } = quotas
/** Bytes of a bookmark in the file in addition to its ciphertext: a UUID, a SHA-256, dates and field names. */
const bytesPerBookmark = 200

export interface ExportLimits {
  maxUserExportBytes: number
}

/**
 * Throws if the user cannot have another export. Else deletes the oldest useless ones as far as needed: those that
 * failed, and those whose key does not open, which the user does not see. Runs under the user's lock, so that
 * simultaneous requests cannot exceed the limits. A user's only export always fits, or some could have none.
 */
export async function makeRoomForExport(
  trx: Trx,
  user: LockedUser,
  { maxUserExportBytes }: ExportLimits,
  now: number,
  opens: (row: ExportRow) => boolean,
): Promise<void> {
  const exports = await listExports(trx, user.id, now)
  const isKept = (row: ExportRow) => row.status !== 'failed' && opens(row)
  const kept = exports.filter(isKept)
  const unfinished = kept.filter(({ status }) => status !== 'completed')
  if (kept.length >= maxKept) throw tooManyKept(kept, now)
  if (unfinished.length >= maxUnfinished) throw tooManyUnfinished()

  const expectedBytes = user.stored_bytes + user.live_bookmarks * bytesPerBookmark
  const bytes = kept.reduce((sum, { size_bytes }) => sum + (size_bytes ?? expectedBytes), expectedBytes)
  if (kept.length > 0 && bytes > maxUserExportBytes) {
    throw kept.length > unfinished.length ? tooManyKept(kept, now) : tooManyUnfinished()
  }
  let [places, bytesLeft] = [maxKept - 1 - kept.length, maxUserExportBytes - bytes]
  // They are listed newest first.
  for (const { id, size_bytes } of exports.filter((row) => !isKept(row))) {
    places -= 1
    bytesLeft -= size_bytes ?? 0
    if (places < 0 || bytesLeft < 0) await deleteExport(trx, user.id, id)
  }
}

/** The caller can retry when the first of the kept exports expires. */
function tooManyKept(kept: ExportRow[], now: number): ServiceError {
  const soonest = Math.min(...kept.flatMap(({ expires_at }) => expires_at ?? []))
  const seconds = Math.ceil((soonest - now) / 1000)
  return new ServiceError('TooManyExportsKept', { headers: { 'retry-after': String(seconds) } })
}

function tooManyUnfinished(): ServiceError {
  return new ServiceError('TooManyExports', { headers: { 'retry-after': '10' } })
}
