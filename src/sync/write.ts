import { demandLogin } from '../auth/signed-in.ts'
import type { Database, Trx } from '../db/database.ts'
import { saveLastSync } from '../db/devices.ts'
import { type EntityKey, entityKey, type Rejection, type Row, rejections, type StoredVersion } from '../db/rows.ts'
import { type LockedUser, lockUser } from '../db/users.ts'
import { mapInTurns, pause } from '../event-loop.ts'
import type { MadeBy, SeenUpTo } from '../protocol/decide.ts'
import type { Pulse } from '../pulse/pulse.ts'
import { unknownDevice } from './device.ts'
import type { LostChange } from './kept-versions.ts'
import type { Winner } from './replacement.ts'
import { readSeen } from './seen.ts'
import { type Outcome, type StoreParts, store } from './store.ts'

export interface WriteParts extends StoreParts {
  database: StoreParts['database'] & Pick<Database, 'write' | 'findVersions'>
  pulse: Pick<Pulse, 'publishChange'>
}

interface Write {
  userId: string
  loginId: string
  /** The server's time, Unix ms. */
  now: number
}

/** The outcome for an entity. */
export interface Verdict {
  /** Replaces what is stored. */
  winner?: Winner | undefined
  /** The device whose change was rejected. */
  loser?: string | undefined
  /** All changes that were rejected. */
  lost?: ReadonlyMap<LostChange, unknown>
}

/** What a write has stored. */
interface Written {
  rows: Row[]
  /** The user's last sequence number before it. */
  lastBefore: number
  epoch: string
}

/** What a write has decided, and what else it wants to return. */
type Result<T> = Outcome & { result: T }

/**
 * The only way to change a user's records: lock, decide, store, and publish after the commit. `decide` may read and settle,
 * but must leave everything else to `store`, which gets what it decides; it runs again if the transaction is retried. If
 * it throws, nothing is written. So it is if the user's quota is exceeded, and if the login has ended.
 */
export async function changeRecords<T>(
  parts: WriteParts,
  { userId, loginId, now }: Write,
  decide: (trx: Trx, user: LockedUser) => Promise<Result<T>>,
  then: (trx: Trx, rows: Row[], result: T) => Promise<void> = async () => {},
): Promise<Written & { result: T }> {
  const written = await parts.database.write(async (trx) => {
    const user = await lockUser(trx, userId)
    await demandLogin(trx, { userId, loginId })
    const { result, ...outcome } = await decide(trx, user)
    const rows = await store(parts, trx, user, now, outcome)
    await then(trx, rows, result)
    return { result, rows, lastBefore: user.last_stamp, epoch: user.epoch }
  }, userId)
  if (written.rows.length > 0) parts.pulse.publishChange(userId)
  return written
}

/**
 * Applies changes of known entities. `decide` gets all changes of one entity, its stored version and what their devices
 * had seen. Tombstones beyond the user's quota are left out. `syncedBy` is the device that syncs with this write.
 */
export async function writeRecords<Change extends EntityKey & MadeBy, Decided extends Verdict>(
  parts: WriteParts,
  { syncedBy = unknownDevice, ...write }: Write & { syncedBy?: string | undefined },
  changes: Change[],
  decide: (changes: Change[], stored: StoredVersion | undefined, seenUpTo: SeenUpTo) => Decided,
): Promise<Written & { verdicts: Decided[] }> {
  const { database, config } = parts
  const { userId, now } = write
  await pause()
  const entities = [...Map.groupBy(changes, entityKey).values()] as [Change, ...Change[]][]
  const keys = entities.map(([first]) => first)

  const { result, ...written } = await changeRecords(
    parts,
    write,
    async (trx, user) => {
      const stored = await database.findVersions(trx, userId, keys)
      const seenUpTo = await readSeen(trx, user, entities, stored)
      const verdicts = await mapInTurns(entities, (changesOfOne, index) =>
        decide(changesOfOne, stored[index], seenUpTo),
      )
      const outcome: Required<Outcome> = { replacements: [], lost: [] }
      for (const [index, { winner, lost }] of verdicts.entries()) {
        const current = stored[index]
        if (winner) outcome.replacements.push({ entity: keys[index] as EntityKey, winner, stored: current })
        for (const change of lost?.keys() ?? []) outcome.lost.push({ change, current })
      }
      return { ...outcome, result: { verdicts, stored } }
    },
    async (trx, rows, { verdicts, stored }) => {
      if (config.keepVersionsDays === 0) await database.upsert(trx, rejections, rejected(verdicts, stored, rows))
      if (syncedBy !== unknownDevice) await saveLastSync(trx, userId, syncedBy, now)
    },
  )
  return { ...written, verdicts: result.verdicts }

  function rejected(verdicts: Verdict[], stored: (StoredVersion | undefined)[], rows: Row[]): Rejection[] {
    const stamps = new Map(rows.map((row) => [entityKey(row), row.stamp]))
    return keys.flatMap((entity, index) => {
      const loser = verdicts[index]?.loser
      if (loser === undefined) return []
      return toRejection(entity, loser, stamps.get(entityKey(entity)) ?? stored[index]?.stamp, userId, now)
    })
  }
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
