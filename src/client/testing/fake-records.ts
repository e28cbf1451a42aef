import type { components } from '../../../generated/openapi.ts'
import { continueFrom } from '../../protocol/cursor.ts'
import { decide } from '../../protocol/decide.ts'
import { isFarAhead } from '../../protocol/far-ahead.ts'
import { addOverwritten, type Overwritten } from '../../protocol/overwritten.ts'

type Schemas = components['schemas']
type Change = Schemas['Change']
type Decision = ReturnType<typeof decide>

/** The current version of an entity. */
interface Stored extends Omit<Schemas['SyncEvent'], 'id' | 'user_id' | 'encrypted_data' | 'data_hash' | 'overwritten'> {
  event_id: string
  encrypted_data: string | null
  data_hash: string | null
  overwritten: Overwritten | null
  stamp: number
}

export interface StampedEvent {
  event: Schemas['SyncEvent']
  stamp: number
}

const unknownDevice = 'unknown'
const defaultLimit = 1000

/** One user's records, under the service's rules: who wins, sequence numbers, pages, what was overwritten unseen. */
export class FakeRecords {
  lastStamp = 0
  readonly epoch = crypto.randomUUID()
  readonly #userId: string
  readonly #entities = new Map<string, Stored>()
  /** By device: where its last pull ended. */
  readonly #cursors = new Map<string, number>()

  constructor(userId: string) {
    this.#userId = userId
  }

  pull(
    { since = 0, limit = defaultLimit }: Partial<Schemas['PullRequest']>,
    deviceId: string,
  ): Schemas['PullResponse'] {
    const changes = this.changesAfter(since)
    const sent = changes.slice(0, limit)
    const last_sync_timestamp = sent.at(-1)?.stamp ?? this.lastStamp
    if (deviceId !== unknownDevice) this.#cursors.set(deviceId, last_sync_timestamp)
    return {
      changes: sent.map(({ event }) => event),
      last_sync_timestamp,
      has_more: changes.length > sent.length,
      epoch: this.epoch,
    }
  }

  /** In order of their sequence numbers. */
  changesAfter(since: number): StampedEvent[] {
    const cursor = continueFrom(since, this.lastStamp)
    const changed = [...this.#entities.values()].filter(({ stamp }) => stamp > cursor)
    return changed
      .sort((one, other) => one.stamp - other.stamp)
      .map((stored) => ({ event: toEvent(this.#userId, stored), stamp: stored.stamp }))
  }

  push(changes: Change[], now: number): Schemas['PushResponse'] {
    const refused = new Map(changes.flatMap((change) => this.#refusal(change, now)))
    const considered = changes.filter((change) => !refused.has(change))
    const entities = [...Map.groupBy(considered, keyOf)].map(([key, ofOne]) => ({ key, ofOne }))
    // All see what was there before the push.
    const decided = entities.map(({ key, ofOne }) =>
      decide(ofOne, this.#entities.get(key), (change) => this.#seen(change)),
    )
    const [reasons, before] = [refused, this.lastStamp]
    let stamp = before
    for (const [index, { key, ofOne }] of entities.entries()) {
      const { winner, lost } = decided[index] as Decision
      for (const [change, reason] of lost) reasons.set(change, reason)
      if (!winner) continue
      stamp = Math.max(now, stamp + 1)
      this.#entities.set(key, toStored(ofOne[0] as Change, winner, this.#entities.get(key), stamp))
    }
    this.lastStamp = stamp
    const accepted_ids = changes.filter((change) => !reasons.has(change)).map(({ id }) => id)
    const conflicts = changes.flatMap((change) => {
      const reason = reasons.get(change)
      if (reason === undefined) return []
      return { entity_id: change.entity_id, reason, resolution: 'rejected' as const, event_id: change.id }
    })
    return { accepted: accepted_ids.length, accepted_ids, conflicts, timestamp: now, epoch: this.epoch }
  }

  #seen({ device_id, base }: Pick<Change, 'device_id' | 'base'>): number {
    const cursor = device_id === unknownDevice ? undefined : this.#cursors.get(device_id)
    return continueFrom(base ?? cursor ?? 0, this.lastStamp)
  }

  #refusal(change: Change, now: number): [Change, string][] {
    if (change.user_id !== undefined && change.user_id !== this.#userId)
      return [[change, 'The change belongs to another user']]
    if (!isFarAhead(change.timestamp, now)) return []
    return [[change, `The timestamp is more than 24 hours ahead of the server's time ${now}`]]
  }
}

function keyOf({ entity_type, entity_id }: Pick<Change, 'entity_type' | 'entity_id'>): string {
  return `${entity_type} ${entity_id}`
}

function toStored(
  { entity_type, entity_id }: Change,
  winner: NonNullable<Decision['winner']>,
  stored: Stored | undefined,
  stamp: number,
): Stored {
  const { event_id, operation, timestamp, device_id, encrypted_data, data_hash, resolution, unseen } = winner
  const isDelete = operation === 'delete'
  const before = stored?.overwritten ?? null
  return {
    ...{ entity_type, entity_id, event_id, operation, timestamp, device_id, stamp },
    encrypted_data: isDelete ? null : encrypted_data,
    data_hash: (isDelete ? stored?.data_hash : undefined) ?? data_hash,
    conflict_resolved: resolution !== undefined,
    resolution_strategy: resolution ?? null,
    overwritten: stored && unseen ? addOverwritten(before ?? [], stored) : before,
  }
}

function toEvent(user_id: string, stored: Stored): Schemas['SyncEvent'] {
  const { event_id: id, entity_type, entity_id, operation, timestamp, device_id, ...more } = stored
  const { encrypted_data, data_hash, conflict_resolved, resolution_strategy, overwritten } = more
  return {
    ...{ id, user_id, entity_type, entity_id, operation, timestamp, device_id },
    ...(encrypted_data !== null && { encrypted_data }),
    ...(data_hash !== null && { data_hash }),
    conflict_resolved,
    resolution_strategy,
    ...(overwritten !== null && { overwritten }),
  }
}
