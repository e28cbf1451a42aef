import { ServiceError } from '../contract/errors.ts'
import type { Share, Trx } from '../db/engine/database.ts'
import { inOrder } from '../db/engine/query.ts'
import { upsert } from '../db/engine/table.ts'
import { type Rejection, rejections } from '../db/tables/conflicts.ts'
import { saveLastSync } from '../db/tables/devices.ts'
import { holdLogins } from '../db/tables/logins.ts'
import { type EntityKey, entityKey, findStored, type RecordRow, type Stored } from '../db/tables/records.ts'
import { type LockedUser, lockUser } from '../db/tables/users.ts'
import { unknownDevice } from './device.ts'
import type { LostChange } from './kept-versions.ts'
import { type Outcome, type Plan, type PlanParts, plan } from './plan.ts'
import type { Winner } from './replacement.ts'
import { store } from './store.ts'

/** The outcome for an entity. */
export interface Verdict {
  /** Replaces what is stored. */
  winner?: Winner | undefined
  /** The device whose change was rejected. */
  loser?: string | undefined
  /** All changes that were rejected. */
  lost?: ReadonlyMap<LostChange, unknown>
}

/** What a request does with the records of a user. */
export interface RecordShare extends Share {
  parts: PlanParts
  userId: string
  loginId: string
  /** The server's time, Unix ms. */
  now: number
  syncedBy: string
  entities: EntityKey[]
  /** May read, and decides for each entity what becomes of it. */
  decide(trx: Trx, user: LockedUser, stored: (Stored | undefined)[]): Promise<Verdict[]>
}

/** What has been stored for a request. */
export interface Written {
  rows: RecordRow[]
  /** The user's last sequence number before it. */
  lastBefore: number
  epoch: string
}

/** Decides one after the other, each with the counters that the one before leaves, and stores all at once. */
export async function writeShares(
  trx: Trx,
  userId: string,
  take: () => [RecordShare, ...RecordShare[]],
): Promise<PromiseSettledResult<Written>[]> {
  let user = await lockUser(trx, userId)
  const shares = take()
  const [{ parts }] = shares
  const logins = new Set(shares.map(({ loginId }) => loginId))
  const wanted = shares.flatMap(({ entities }) => entities)
  const [held, stored] = await inOrder(trx, [
    () => holdLogins(trx, userId, logins),
    () => findStored(trx, userId, wanted),
  ])
  const done: Done[] = []
  const outcomes: PromiseSettledResult<Written>[] = []
  for (const share of shares) {
    const own = stored.splice(0, share.entities.length)
    try {
      if (!held.has(share.loginId)) throw new ServiceError('InvalidSession')
      const verdicts = await share.decide(trx, user, own)
      const planned = await plan(parts, trx, user, share.now, toOutcome(share, verdicts, own))
      const value = { rows: planned.rows, lastBefore: user.last_stamp, epoch: user.epoch }
      outcomes.push({ status: 'fulfilled', value })
      done.push({ share, verdicts, stored: own, plan: planned })
      user = planned.user
    } catch (reason) {
      if (!(reason instanceof ServiceError)) throw reason
      outcomes.push({ status: 'rejected', reason })
    }
  }
  const plans = done.map(({ plan }) => plan)
  const rejected = parts.config.keepVersionsDays === 0 ? done.flatMap(toRejections) : []
  const synced = new Map(done.map(({ share: { syncedBy, now } }) => [syncedBy, now]))
  synced.delete(unknownDevice)
  await inOrder(trx, [
    () => store(parts, trx, plans),
    () => upsert(trx, rejections, rejected),
    ...[...synced].map(
      ([deviceId, now]) =>
        () =>
          saveLastSync(trx, userId, deviceId, now),
    ),
  ])
  return outcomes
}

interface Done {
  share: RecordShare
  verdicts: Verdict[]
  stored: (Stored | undefined)[]
  plan: Plan
}

function toOutcome({ entities }: RecordShare, verdicts: Verdict[], stored: (Stored | undefined)[]): Required<Outcome> {
  const outcome: Required<Outcome> = { replacements: [], lost: [] }
  verdicts.forEach(({ winner, lost }, index) => {
    const current = stored[index]
    if (winner) outcome.replacements.push({ entity: entities[index] as EntityKey, winner, stored: current })
    if (lost?.size) for (const change of lost.keys()) outcome.lost.push({ change, current })
  })
  return outcome
}

/** Without a winner's sequence number an entity has no record: its tombstone was beyond the quota. */
function toRejections({ share: { entities, userId, now }, verdicts, stored, plan: { rows } }: Done): Rejection[] {
  const stamps = new Map(rows.map((row) => [entityKey(row), row.stamp]))
  return entities.flatMap(({ entity_type, entity_id }, index) => {
    const device_id = verdicts[index]?.loser
    const winner_stamp = stamps.get(entityKey({ entity_type, entity_id })) ?? stored[index]?.stamp
    if (device_id === undefined || winner_stamp === undefined) return []
    return [{ user_id: userId, entity_type, entity_id, device_id, winner_stamp, created_at: now }]
  })
}
