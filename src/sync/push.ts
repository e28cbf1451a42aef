import type { Context } from '../context.ts'
import type { Schemas } from '../contract.ts'
import { saveLastSync } from '../db/devices.ts'
import { entityKey } from '../db/records.ts'
import type { Rejection } from '../db/rejections.ts'
import { lockUser } from '../db/users.ts'
import { isFarAhead } from './clock.ts'
import { type Decision, decide, type Pushed } from './decide.ts'
import { type Winner, writeWinners } from './write.ts'

type Change = Schemas['Change']
type Conflict = Schemas['ConflictInfo']

export interface Device {
  userId: string
  deviceId: string
}

/** Applies all changes in one transaction; for each entity the greatest of the stored version and the pushed ones stays. */
export async function push(context: Context, device: Device, changes: Change[]): Promise<Schemas['PushResponse']> {
  const now = context.clock()
  const refused = new Map<number, string>()
  const entities = new Map<string, Pushed[]>()
  changes.forEach((change, index) => {
    const reason = refusal(change, device.userId, now)
    if (reason) refused.set(index, reason)
    else group(entities, change, index)
  })

  const { lost, written, overwritten } = await context.database.write(async (trx) => {
    const user = await lockUser(trx, device.userId)
    const groups = [...entities.values()]
    const stored = await context.database.findVersions(
      trx,
      user.id,
      groups.map(([first]) => (first as Pushed).change),
    )
    const decisions = groups.map((pushed, index) => decide(pushed, stored[index]))
    const winners = decisions.filter((decision) => decision.written).map(toWinner)
    const rows = await writeWinners(context, trx, user, now, winners)
    const stamps = new Map(rows.map((row) => [entityKey(row), row.stamp]))
    await context.database.saveRejections(
      trx,
      decisions.flatMap((decision) => toRejection(decision, user.id, now, stamps)),
    )
    const deviceId = device.deviceId === 'unknown' ? changes[0]?.device_id : device.deviceId
    if (deviceId !== undefined && deviceId !== 'unknown') await saveLastSync(trx, user.id, deviceId, now)
    return {
      lost: new Map(decisions.flatMap((decision) => [...decision.lost])),
      written: rows.length,
      overwritten: decisions.filter(({ resolution }) => resolution).length,
    }
  })
  if (written > 0) context.pulse.publishChange(device.userId)

  const reasons = new Map([...refused, ...lost])
  const accepted_ids = changes.filter((_, index) => !reasons.has(index)).map((change) => change.id)
  const conflicts = changes.flatMap((change, index) => toConflict(change, reasons.get(index)))
  context.metrics.countPush(changes.length, { rejected: conflicts.length, overwritten })
  return { accepted: accepted_ids.length, accepted_ids, conflicts, timestamp: now }
}

function refusal(change: Change, userId: string, now: number): string | undefined {
  if (change.user_id !== undefined && change.user_id !== userId) return 'The change belongs to another user'
  if (isFarAhead(change.timestamp, now)) return `The timestamp is more than 24 hours ahead of the server's time ${now}`
  return undefined
}

function group(entities: Map<string, Pushed[]>, change: Change, index: number): void {
  const key = entityKey(change)
  const pushed = entities.get(key)
  if (pushed) pushed.push({ change, index })
  else entities.set(key, [{ change, index }])
}

function toWinner({ winner, stored, resolution, unseen }: Decision): Winner {
  const {
    id,
    entity_type,
    entity_id,
    operation,
    timestamp,
    device_id,
    encrypted_data = null,
    data_hash = null,
  } = winner
  const change = { entity_type, entity_id, operation, event_id: id, timestamp, device_id, encrypted_data, data_hash }
  return { change, stored, createdAt: timestamp, resolution, unseen }
}

function toRejection(
  { winner, stored, loser }: Decision,
  userId: string,
  now: number,
  stamps: Map<string, number>,
): Rejection[] {
  const winner_stamp = stamps.get(entityKey(winner)) ?? stored?.stamp
  // Without a winner's stamp there is no record of the entity: its tombstone was beyond the quota.
  if (loser === undefined || winner_stamp === undefined) return []
  const { entity_type, entity_id } = winner
  return [{ user_id: userId, entity_type, entity_id, device_id: loser, winner_stamp, created_at: now }]
}

function toConflict(change: Change, reason: string | undefined): Conflict[] {
  if (reason === undefined) return []
  return [{ entity_id: change.entity_id, reason, resolution: 'rejected', event_id: change.id }]
}
