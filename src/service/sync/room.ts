import { demandLogin } from '../auth/sessions.ts'
import { ServiceError } from '../contract/errors.ts'
import type { Database, Trx } from '../db/engine/database.ts'
import { maxWaitMs } from '../db/engine/writer.ts'
import { eraseVersions, oldestVersions, subtract } from '../db/tables/erased-versions.ts'
import { emptyTombstonesAfter, forgetTombstones } from '../db/tables/tombstones.ts'
import { type LockedUser, lockUser, saveCounters } from '../db/tables/users.ts'
import type { Caller } from './change.ts'
import { erasableBytes, maxBytesOf, type QuotaLimits, rowBytes, usedBytes } from './usage.ts'

/** A transaction erases so many versions to make room. That takes some ten milliseconds. */
const maxErased = 2000
/** So many are looked at at once. */
const batchRows = 500

/** How much a user may store for a write to have room. Others that need it may have made it meanwhile. */
interface Goal {
  bytes: number
  records: number
}

/** Thrown by a write for which tombstones would have to go, or more versions than a transaction erases. */
class NeedsRoom extends Error {
  readonly goal: Goal
  readonly usedAtFirst: number
  constructor(goal: Goal, usedAtFirst: number) {
    super(`${goal.bytes} bytes and ${goal.records} records may be left`)
    this.goal = goal
    this.usedAtFirst = usedAtFirst
  }
}

interface Growth {
  before: LockedUser
  after: LockedUser
  /** Ciphertext that the write adds. */
  added: number
  /** How many bytes were used when it was first tried; undefined if that is now. */
  usedAtFirst: number | undefined
  /** It is several writes: a later one may need room of which an earlier one makes the tombstones. */
  isShared: boolean
}

/**
 * How much must be erased for what a write leaves: the oldest versions, and if there are not enough, the oldest tombstones of
 * which nothing is kept. What adds ciphertext makes room until the quota holds; what only adds rows, such as a delete, makes room
 * for these alone, and only among versions, so that it takes no history from a user over a lowered limit.
 */
export function missingRoom(
  limits: QuotaLimits,
  { before, after, added, usedAtFirst = usedBytes(before), isShared }: Growth,
): number {
  const isNew = after.stored_records > before.stored_records
  const forRecords = isNew ? Math.max(0, after.stored_records - limits.maxUserRecords) : 0
  const over = usedBytes(after) - rowBytes * forRecords - maxBytesOf(limits, before)
  const ofVersions = erasableBytes({ ...after, empty_tombstones: 0 })
  const missing = Math.max(0, Math.min(over, ofVersions, added > 0 ? over : usedBytes(after) - usedAtFirst))
  const needed = forRecords + (added > 0 ? Math.max(0, Math.ceil((over - ofVersions) / rowBytes)) : 0)
  const tombstones = Math.min(before.empty_tombstones, needed)
  // Each version that goes makes at least this room. Without earlier versions, a write erases no more than it adds itself.
  const isLarge = missing > maxErased * rowBytes && before.stored_versions > 0
  if (isLarge || tombstones > 0 || (isShared && Math.min(needed, after.empty_tombstones) > 0)) {
    // What others write meanwhile is no reason to erase anything where nothing is missing.
    const bytes = missing > 0 ? usedBytes(before) - missing : Number.POSITIVE_INFINITY
    const records = tombstones > 0 ? before.stored_records - tombstones : Number.POSITIVE_INFINITY
    throw new NeedsRoom({ bytes, records }, usedAtFirst)
  }
  return missing
}

/**
 * Does what may need room, and makes it before if it does: in transactions of its own, between which others write. Of a user's
 * writes that need it, one makes room and writes before the next does: else they would take each other's, and all try again.
 * `work` gets the `usedAtFirst` of its growth.
 */
export async function withRoom<T>(
  database: Pick<Database, 'write'>,
  caller: Omit<Caller, 'deviceId'>,
  work: (usedAtFirst?: number) => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof NeedsRoom)) throw error
    return afterOthers(caller.userId, () => afterRoom(database, caller, error, work))
  }
}

async function afterRoom<T>(
  database: Pick<Database, 'write'>,
  caller: Omit<Caller, 'deviceId'>,
  { goal, usedAtFirst }: NeedsRoom,
  work: (usedAtFirst?: number) => Promise<T>,
): Promise<T> {
  while (await database.write((trx) => makeRoomApart(trx, caller, goal), caller.userId));
  try {
    return await work(usedAtFirst)
  } catch (error) {
    if (!(error instanceof NeedsRoom)) throw error
    return afterRoom(database, caller, error, work)
  }
}

/** By user, the end of the last of those that make room. */
const lanes = new Map<string, Promise<void>>()

/** Whoever waits too long for its turn is refused, as by the writer. */
async function afterOthers<T>(userId: string, run: () => Promise<T>): Promise<T> {
  const { promise: ended, resolve: end } = Promise.withResolvers<void>()
  const others = lanes.get(userId)
  lanes.set(userId, ended)
  const latest = performance.now() + maxWaitMs
  try {
    await others
    if (performance.now() > latest) throw new ServiceError('Overloaded')
    return await run()
  } finally {
    if (lanes.get(userId) === ended) lanes.delete(userId)
    end()
  }
}

/** Erases some versions, or, without any, some tombstones. True if it is to be called again. */
async function makeRoomApart(trx: Trx, { userId, loginId }: Omit<Caller, 'deviceId'>, goal: Goal): Promise<boolean> {
  const user = await lockUser(trx, userId)
  await demandLogin(trx, { userId, loginId })
  const bytes = usedBytes(user) - goal.bytes
  const records = user.stored_records - goal.records
  // Whoever counts what is not there would look for it again and again.
  if (bytes > 0 && user.stored_versions > 0)
    await saveCounters(trx, (await eraseOldest(trx, user, bytes)) ?? { ...user, stored_versions: 0, version_bytes: 0 })
  else if (records > 0 && user.empty_tombstones > 0)
    await saveCounters(trx, (await forgetOldest(trx, user, records)) ?? { ...user, empty_tombstones: 0 })
  else return false
  return true
}

/** Erases the user's oldest versions until so many bytes are free, or none is left. Resolves to the user's counters. */
export async function makeRoom(trx: Trx, user: LockedUser, bytes: number): Promise<LockedUser> {
  const goal = usedBytes(user) - bytes
  for (let left = user; ; ) {
    const next = usedBytes(left) > goal ? await eraseOldest(trx, left, usedBytes(left) - goal) : undefined
    if (!next) return left
    left = next
  }
}

/** Undefined if there is none. */
async function eraseOldest(trx: Trx, user: LockedUser, bytes: number): Promise<LockedUser | undefined> {
  const oldest = await oldestVersions(trx, user.id, batchRows)
  if (oldest.length === 0) return undefined
  return subtract(user, await eraseVersions(trx, user.id, until(oldest, bytes)))
}

/** Looks through some records for the oldest tombstones, and forgets at most `max`. Undefined if there is no record left. */
async function forgetOldest(trx: Trx, user: LockedUser, max: number): Promise<LockedUser | undefined> {
  const next = await emptyTombstonesAfter(trx, user.id, user.empty_tombstones_after, batchRows)
  if (!next) return undefined
  const gone = next.tombstones.slice(0, max)
  await forgetTombstones(trx, user.id, gone)
  return {
    ...user,
    stored_records: user.stored_records - gone.length,
    empty_tombstones: Math.max(0, user.empty_tombstones - gone.length),
    empty_tombstones_after: gone.length < next.tombstones.length ? (gone.at(-1)?.stamp ?? 0) : next.upTo,
  }
}

/** The first ones that make so much room together. */
function until(oldest: { seq: number; bytes: number }[], bytes: number): number[] {
  let sum = 0
  const end = oldest.findIndex((version) => {
    sum += version.bytes + rowBytes
    return sum >= bytes
  })
  return oldest.slice(0, end < 0 ? oldest.length : end + 1).map(({ seq }) => seq)
}
