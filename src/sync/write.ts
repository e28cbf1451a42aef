import { demandLogin } from '../auth/signed-in.ts'
import type { Database, Trx } from '../db/database.ts'
import { saveLastSync } from '../db/devices.ts'
import { saveRecords } from '../db/records.ts'
import { type EntityKey, entityKey, type Rejection, type Row, rejections, type StoredVersion } from '../db/rows.ts'
import { type LockedUser, lockUser, saveCounters } from '../db/users.ts'
import type { MadeBy, SeenUpTo } from '../protocol/decide.ts'
import type { Pulse } from '../pulse/pulse.ts'
import { unknownDevice } from './device.ts'
import { addedUsage, type QuotaLimits, withinQuota } from './quota.ts'
import { liveDelta, type Replacement, toRow, type Winner } from './replacement.ts'
import { readSeen } from './seen.ts'

export interface WriteParts {
  config: QuotaLimits
  database: Pick<Database, 'write' | 'findVersions' | 'upsert' | 'settleEntities' | 'removeCiphertexts'>
  pulse: Pick<Pulse, 'publishChange'>
}

interface Write {
  userId: string
  loginId: string
  /** The server's time, Unix ms. */
  now: number
  /** The device that syncs with this write. */
  syncedBy?: string | undefined
}

/** The outcome for an entity. */
export interface Verdict {
  /** Replaces what is stored. */
  winner?: Winner | undefined
  /** The device whose change was rejected. */
  loser?: string | undefined
}

/**
 * The only way to change a user's records: lock, read, decide, write, and publish after the commit.
 *
 * `decide` gets all changes of one entity, its stored version and what their devices had seen, under the lock on the user.
 * It must only decide: it runs again if the transaction is retried. If it throws, nothing is written. Winners beyond the
 * user's quota throw QuotaExceeded, except for tombstones, which are left out. A login that has ended throws
 * InvalidSession.
 */
export async function writeRecords<Change extends EntityKey & MadeBy, Decided extends Verdict>(
  { config, database, pulse }: WriteParts,
  { userId, loginId, now, syncedBy = unknownDevice }: Write,
  changes: Change[],
  decide: (changes: Change[], stored: StoredVersion | undefined, seenUpTo: SeenUpTo) => Decided,
): Promise<{ verdicts: Decided[]; rows: Row[]; epoch: string }> {
  const entities = [...Map.groupBy(changes, entityKey).values()] as [Change, ...Change[]][]
  const written = await database.write(async (trx) => {
    const user = await lockUser(trx, userId)
    await demandLogin(trx, { userId, loginId })
    const keys = entities.map(([first]) => first)
    const stored = await database.findVersions(trx, userId, keys)
    const seenUpTo = await readSeen(trx, user, entities, stored)
    const verdicts = entities.map((changesOfOne, index) => decide(changesOfOne, stored[index], seenUpTo))
    const replacements = keys.flatMap((entity, index) => {
      const winner = verdicts[index]?.winner
      return winner ? [{ entity, winner, stored: stored[index] }] : []
    })
    const rows = await replace(database, trx, user, now, withinQuota(config, user, replacements))
    const stamps = new Map(rows.map((row) => [entityKey(row), row.stamp]))
    const lost = keys.flatMap((entity, index) => {
      const loser = verdicts[index]?.loser
      if (loser === undefined) return []
      return toRejection(entity, loser, stamps.get(entityKey(entity)) ?? stored[index]?.stamp, userId, now)
    })
    await database.upsert(trx, rejections, lost)
    if (syncedBy !== unknownDevice) await saveLastSync(trx, userId, syncedBy, now)
    return { verdicts, rows, epoch: user.epoch }
  }, userId)
  if (written.rows.length > 0) pulse.publishChange(userId)
  return written
}

/** Gives each a sequence number, which grows even if the clock goes back, and updates the user's counters. */
async function replace(
  database: WriteParts['database'],
  trx: Trx,
  user: LockedUser,
  now: number,
  replacements: Replacement[],
): Promise<Row[]> {
  if (replacements.length === 0) return []
  let stamp = user.last_stamp
  const rows = replacements.map((replacement) => {
    stamp = Math.max(now, stamp + 1)
    return toRow(user.id, stamp, replacement)
  })
  await saveRecords(database, trx, rows)
  await database.removeCiphertexts(trx, user.id, replacements.flatMap(replacedData))
  // Only what is stored can have beaten a change.
  const known = replacements.flatMap(({ entity, stored }) => (stored ? [entity] : []))
  await database.settleEntities(trx, user.id, known)
  const added = addedUsage(replacements)
  await saveCounters(trx, {
    id: user.id,
    last_stamp: stamp,
    live_bookmarks: user.live_bookmarks + replacements.reduce((sum, replacement) => sum + liveDelta(replacement), 0),
    stored_bytes: user.stored_bytes + added.bytes,
    stored_records: user.stored_records + added.records,
  })
  return rows
}

function replacedData({ winner, stored }: Replacement): number[] {
  if (winner.operation === 'delete' || stored === undefined || stored.data_stamp === null) return []
  return [stored.data_stamp]
}

/** Without a winner's sequence number the entity has no record: its tombstone was beyond the quota. */
function toRejection(
  { entity_type, entity_id }: EntityKey,
  loser: string,
  winner_stamp: number | undefined,
  userId: string,
  now: number,
): Rejection[] {
  if (winner_stamp === undefined) return []
  return [{ user_id: userId, entity_type, entity_id, device_id: loser, winner_stamp, created_at: now }]
}
