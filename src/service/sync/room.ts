import { setImmediate as eventLoopTurn } from 'node:timers/promises'
import type { Trx } from '../db/engine/database.ts'
import { eraseVersions, oldestVersions, subtract } from '../db/tables/erased-versions.ts'
import { emptyTombstonesAfter, forgetTombstones } from '../db/tables/tombstones.ts'
import type { LockedUser } from '../db/tables/users.ts'
import { erasableBytes, maxBytesOf, type QuotaLimits, rowBytes, usedBytes } from './usage.ts'

/** The most versions that `makeRoom` erases, and records that it searches for tombstones. Takes some 10 ms. */
const maxRows = 2000
const batchRows = 500

/** The versions (in bytes, oldest first) and tombstones without versions to erase until a user's quota holds. */
interface Surplus {
  bytes: number
  tombstones: number
}

/** A write, with the user's counters before and after it. */
interface Growth {
  before: LockedUser
  after: LockedUser
  /** Bytes of ciphertext added: of all changes, and of the winners. */
  added: { all: number; won: number }
}

/**
 * The surplus to erase before a write. Undefined for nearly all writes: a write makes room afterwards, so the quota is
 * exceeded by at most one write. Tombstones go before the write: a change that loses to one may win without it.
 */
export function surplusBefore(limits: QuotaLimits, { before, after, added }: Growth): Surplus | undefined {
  const maxBytes = maxBytesOf(limits, before)
  const isAdding = added.won > 0
  const bytes = isAdding ? Math.min(usedBytes(before) - maxBytes, bytesOfVersions(before)) : 0
  const isNew = after.stored_records > before.stored_records
  const records = isNew ? Math.max(0, after.stored_records - limits.maxUserRecords) : 0
  const over = usedBytes(after) - rowBytes * records - bytesOfVersions(after) - maxBytes
  const needed = records + (isAdding ? Math.max(0, Math.ceil(over / rowBytes)) : 0)
  const tombstones = Math.min(before.empty_tombstones, needed)
  return bytes > 0 || tombstones > 0 ? { bytes, tombstones } : undefined
}

/**
 * The bytes of versions to erase after a write. A write of ciphertext makes room until the quota holds. A write of rows
 * alone, such as a delete, only makes room for these rows, so that a user over a lowered quota does not lose history.
 */
export function surplusAfter(limits: QuotaLimits, { before, after, added }: Growth): number {
  const maxBytes = maxBytesOf(limits, before)
  const goal = added.all > 0 ? maxBytes : Math.max(maxBytes, usedBytes(before))
  return Math.max(0, Math.min(usedBytes(after) - goal, bytesOfVersions(after)))
}

function bytesOfVersions(user: LockedUser): number {
  return erasableBytes({ ...user, empty_tombstones: 0 })
}

/** Makes as much room as one transaction may. Resolves to the user's counters. */
export async function makeRoom(trx: Trx, user: LockedUser, { bytes, tombstones }: Surplus): Promise<LockedUser> {
  const goal = { bytes: usedBytes(user) - bytes, records: user.stored_records - tombstones }
  let left = user
  for (let rows = 0; rows < maxRows && usedBytes(left) > goal.bytes && left.stored_versions > 0; rows += batchRows) {
    if (rows > 0) await eventLoopTurn()
    left = await eraseOldest(trx, left, usedBytes(left) - goal.bytes)
  }
  for (let rows = 0; rows < maxRows && left.stored_records > goal.records; rows += batchRows) {
    if (rows > 0) await eventLoopTurn()
    const next = await forgetOldest(trx, left, left.stored_records - goal.records)
    // Corrects a wrong counter, so that missing tombstones are not searched again and again.
    if (!next) return { ...left, empty_tombstones: 0 }
    left = next
  }
  return left
}

async function eraseOldest(trx: Trx, user: LockedUser, bytes: number): Promise<LockedUser> {
  const oldest = await oldestVersions(trx, user.id, batchRows)
  // Corrects a wrong counter, so that missing versions are not searched again and again.
  if (oldest.length === 0) return { ...user, stored_versions: 0, version_bytes: 0 }
  return subtract(user, await eraseVersions(trx, user.id, until(oldest, bytes)))
}

/** Searches the next records for tombstones and erases at most `max`. Undefined if there are no more records. */
async function forgetOldest(trx: Trx, user: LockedUser, max: number): Promise<LockedUser | undefined> {
  const next = await emptyTombstonesAfter(trx, user.id, user.empty_tombstones_after, batchRows)
  if (!next) return undefined
  const gone = next.tombstones.slice(0, max)
  await forgetTombstones(trx, user.id, gone)
  return {
    ...user,
    stored_records: user.stored_records - gone.length,
    empty_tombstones: Math.max(0, user.empty_tombstones - gone.length),
    empty_tombstones_after: gone.length < next.tombstones.length ? (gone.at(-1)?.sequence ?? 0) : next.upTo,
  }
}

/** The first versions whose sizes add up to this many bytes. */
function until(oldest: { sequence: number; bytes: number }[], bytes: number): number[] {
  let sum = 0
  const end = oldest.findIndex((version) => {
    sum += version.bytes + rowBytes
    return sum >= bytes
  })
  return oldest.slice(0, end < 0 ? oldest.length : end + 1).map(({ sequence }) => sequence)
}
