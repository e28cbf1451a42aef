import { demandLogin } from '../auth/sessions.ts'
import { ServiceError } from '../contract/errors.ts'
import type { Database, Trx } from '../db/engine/database.ts'
import { maxWaitMs } from '../db/engine/writer.ts'
import { eraseVersions, oldestVersions, subtract } from '../db/tables/erased-versions.ts'
import { type LockedUser, lockUser, saveCounters } from '../db/tables/users.ts'
import type { Caller } from './change.ts'
import { erasableBytes, type QuotaLimits, rowBytes, usedBytes } from './usage.ts'

/** A transaction erases so many versions to make room. That takes some ten milliseconds. */
const maxErased = 2000
/** So many are looked at at once. */
const batchRows = 500

/** Thrown by a write for which more versions would have to go than a transaction erases. */
class NeedsRoom extends Error {
  /** So much may count for the quota before the write runs again. Others that need room may have made it meanwhile. */
  readonly goal: number
  constructor(goal: number) {
    super(`the oldest versions are in the way: ${goal} bytes may be used`)
    this.goal = goal
  }
}

interface Growth {
  before: LockedUser
  after: LockedUser
  /** Ciphertext that the write adds. */
  added: number
  /** Rows that it adds. */
  rows: number
}

/**
 * How much must be erased for what a write leaves. What adds ciphertext makes room until the quota holds; what only adds rows,
 * such as a delete, makes room for these alone, so that it takes no history from a user over a lowered limit.
 */
export function missingRoom({ maxUserBytes }: QuotaLimits, { before, after, added, rows }: Growth): number {
  const over = usedBytes(after) - maxUserBytes
  const missing = Math.min(added > 0 ? over : Math.min(over, rows * rowBytes), erasableBytes(after))
  // Each version that goes makes at least this room. Without earlier versions, a write erases no more than it adds itself.
  if (missing > maxErased * rowBytes && before.stored_versions > 0) throw new NeedsRoom(usedBytes(before) - missing)
  return Math.max(0, missing)
}

/**
 * Does what may need room, and makes it before if it does: in transactions of its own, between which others write. Of a user's
 * writes that need it, one makes room and writes before the next does: else they would take each other's, and all try again.
 */
export async function withRoom<T>(
  database: Pick<Database, 'write'>,
  caller: Omit<Caller, 'deviceId'>,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof NeedsRoom)) throw error
    return afterOthers(caller.userId, () => afterRoom(database, caller, error.goal, work))
  }
}

async function afterRoom<T>(
  database: Pick<Database, 'write'>,
  caller: Omit<Caller, 'deviceId'>,
  goal: number,
  work: () => Promise<T>,
): Promise<T> {
  while (await database.write((trx) => makeRoomApart(trx, caller, goal), caller.userId));
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof NeedsRoom)) throw error
    return afterRoom(database, caller, error.goal, work)
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

/** Erases some. True if more must go, and there are more. */
async function makeRoomApart(trx: Trx, { userId, loginId }: Omit<Caller, 'deviceId'>, goal: number): Promise<boolean> {
  const user = await lockUser(trx, userId)
  await demandLogin(trx, { userId, loginId })
  if (usedBytes(user) <= goal) return false
  const left = await eraseOldest(trx, user, usedBytes(user) - goal)
  // Whoever counts versions that are not there would look for them again and again.
  await saveCounters(trx, left ?? { ...user, stored_versions: 0, version_bytes: 0 })
  return left !== undefined && usedBytes(left) > goal
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

/** The first ones that make so much room together. */
function until(oldest: { seq: number; bytes: number }[], bytes: number): number[] {
  let sum = 0
  const end = oldest.findIndex((version) => {
    sum += version.bytes + rowBytes
    return sum >= bytes
  })
  return oldest.slice(0, end < 0 ? oldest.length : end + 1).map(({ seq }) => seq)
}
