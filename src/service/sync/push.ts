import { decide } from '../../protocol/decide.ts'
import { isFarAhead } from '../../protocol/order.ts'
import type { Schemas } from '../contract/schemas.ts'
import { entityKey } from '../db/tables/records.ts'
import { type Caller, type Change, unknownDevice, type Written } from './change.ts'
import { type WriteParts, writeRecords } from './write.ts'

export interface PushParts extends WriteParts {
  metrics: { countPush(changes: number, conflicts: { rejected: number; overwritten: number }): void }
}

/** Applies changes in one transaction. An entity's greatest version (protocol/order.ts) wins, unless it is refused. */
export async function push(parts: PushParts, caller: Caller, changes: Change[]): Promise<Schemas['PushResponse']> {
  const now = parts.clock()
  const reasons = new Map<Change, string>()
  for (const change of changes) {
    const reason = refusal(change, caller.userId, now)
    if (reason !== undefined) reasons.set(change, reason)
  }
  const considered = changes.filter((change) => !reasons.has(change))
  const written = await writeRecords(parts, {
    caller,
    entities: Map.groupBy(considered, entityKey),
    syncedBy: caller.deviceId === unknownDevice ? changes[0]?.device_id : caller.deviceId,
    decide,
  })
  const { verdicts, epoch } = written

  for (const { lost, heldBack } of verdicts)
    for (const [change, reason] of [...lost, ...heldBack]) reasons.set(change, reason)
  const accepted_ids = changes.filter((change) => !reasons.has(change)).map(({ id }) => id)
  const conflicts = changes
    .filter((change) => reasons.has(change))
    .map((change) => toConflict(change, reasons.get(change) ?? ''))
  const overwritten = verdicts.filter(({ resolution }) => resolution).length
  parts.metrics.countPush(changes.length, { rejected: conflicts.length, overwritten })
  const hasCursor = caller.deviceId !== unknownDevice
  const cursors = hasCursor && conflicts.length === 0 ? cursorsAround(written) : {}
  return { accepted: accepted_ids.length, accepted_ids, conflicts, timestamp: now, ...cursors, epoch }
}

/** The cursors before and after this push. Empty if it wrote nothing, or the device must pull what it overwrote. */
function cursorsAround({
  rows,
  before,
}: Written): Pick<Schemas['PushResponse'], 'previous_sync_timestamp' | 'last_sync_timestamp'> {
  const last = rows.at(-1)
  if (!last || rows.some(({ overwritten }) => overwritten !== null)) return {}
  return { previous_sync_timestamp: before, last_sync_timestamp: last.sequence }
}

function refusal({ user_id, timestamp }: Change, userId: string, now: number): string | undefined {
  if (user_id !== undefined && user_id !== userId) return 'The change belongs to another user'
  if (!isFarAhead(timestamp, now)) return undefined
  return `The timestamp is more than 24 hours ahead of the server's time ${now}`
}

function toConflict({ id, entity_id }: Change, reason: string): Schemas['ConflictInfo'] {
  return { entity_id, reason, resolution: 'rejected', event_id: id }
}
