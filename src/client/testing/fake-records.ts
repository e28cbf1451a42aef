import type { components } from '../../../generated/openapi.ts'
import { decide, type MadeBy, type Verdict } from '../../protocol/decide.ts'
import { isFarAhead } from '../../protocol/order.ts'
import { continueFrom } from '../../protocol/sequence.ts'
import { FakeDevices } from './fake-devices.ts'
import {
  isOpen,
  isSameVersion,
  type Kept,
  type Replacement,
  type Stored,
  toRejected,
  toReplaced,
  toReplacement,
  toStored,
} from './fake-versions.ts'

type Schemas = components['schemas']
type Change = Schemas['Change']

export interface StampedEvent {
  event: Schemas['SyncEvent']
  stamp: number
}

const defaultLimit = 1000

/** One user's records, under the service's rules: who wins, sequence numbers, pages, what is kept of what was replaced. */
export class FakeRecords {
  lastStamp = 0
  readonly epoch = crypto.randomUUID()
  readonly devices = new FakeDevices()
  /** In the order of their sequence numbers. */
  kept: Kept[] = []
  readonly #userId: string
  readonly #entities = new Map<string, Stored>()

  constructor(userId: string) {
    this.#userId = userId
  }

  /** In the order of their keys. */
  get entities(): Stored[] {
    return [...this.#entities].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, stored]) => stored)
  }

  find(entity: Pick<Change, 'entity_type' | 'entity_id'>): Stored | undefined {
    return this.#entities.get(keyOf(entity))
  }

  keptOf({ entity_type, entity_id }: Pick<Change, 'entity_type' | 'entity_id'>): Kept[] {
    return this.kept.filter((version) => version.entity_type === entity_type && version.entity_id === entity_id)
  }

  pull(
    { since = 0, limit = defaultLimit }: Partial<Schemas['PullRequest']>,
    deviceId: string,
    now: number,
  ): Schemas['PullResponse'] {
    const changes = this.changesAfter(since)
    const sent = changes.slice(0, limit)
    const last_sync_timestamp = sent.at(-1)?.stamp ?? this.lastStamp
    const lost = this.kept.filter(
      (version) => isOpen(version) && version.device_id === deviceId && version.ended <= last_sync_timestamp,
    )
    this.devices.pulled(deviceId, last_sync_timestamp, now, lost.length > 0)
    // A device that has pulled what its version lost to knows of it.
    for (const version of deviceId === FakeDevices.unknown ? [] : lost) version.settled_at = now
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

  push(changes: Change[], deviceId: string, now: number): Schemas['PushResponse'] {
    const refused = new Map(changes.flatMap((change) => this.#refusal(change, now)))
    const considered = changes.filter((change) => !refused.has(change))
    const entities = [...Map.groupBy(considered, keyOf).values()]
    // All see what was there before the push.
    const decided = entities.map((changes) => this.decide(changes))
    const replacements = decided.flatMap((verdict) => toReplacement(verdict) ?? [])
    const lost = decided.flatMap(({ lost }) => [...lost.keys()])
    const before = this.lastStamp
    const written = this.write(replacements, lost, now)
    this.devices.pushed(deviceId === FakeDevices.unknown ? changes[0]?.device_id : deviceId, now)
    const reasons = new Map([...refused, ...decided.flatMap(({ lost, heldBack }) => [...lost, ...heldBack])])
    const accepted_ids = changes.filter((change) => !reasons.has(change)).map(({ id }) => id)
    const conflicts = changes.flatMap((change) => {
      const reason = reasons.get(change)
      if (reason === undefined) return []
      return { entity_id: change.entity_id, reason, resolution: 'rejected' as const, event_id: change.id }
    })
    const hasMore = conflicts.length > 0 || written.some(({ overwritten }) => overwritten !== null)
    const isTold = deviceId !== FakeDevices.unknown && written.length > 0 && !hasMore
    return {
      ...{ accepted: accepted_ids.length, accepted_ids, conflicts, timestamp: now, epoch: this.epoch },
      ...(isTold && { previous_sync_timestamp: before, last_sync_timestamp: this.lastStamp }),
    }
  }

  /** Between the stored version of an entity and changes of it. */
  decide(changes: Change[]): Verdict<Stored> {
    const stored = this.find(changes[0] as Change)
    return decide(changes, stored, (change) => this.#seen(change))
  }

  /** Stores what has won, and keeps what it replaces and what has lost. Returns what it has stored. */
  write(replacements: Replacement[], lost: Change[], now: number): Stored[] {
    const next = () => {
      this.lastStamp = Math.max(now, this.lastStamp + 1)
      return this.lastStamp
    }
    const written = replacements.map((replacement) => {
      const before = this.find(replacement)
      const stored = toStored(replacement, before, next())
      this.#entities.set(keyOf(stored), stored)
      if (before) this.kept.push(toReplaced(before, stored, replacement.unseen))
      return stored
    })
    for (const change of lost) {
      const current = this.find(change) as Stored
      const version = toRejected(change, current)
      // A change that is sent again is kept once.
      if (!this.keptOf(change).some((kept) => isSameVersion(kept, version))) this.kept.push({ ...version, seq: next() })
    }
    return written
  }

  #seen({ device_id, base }: MadeBy): number {
    return continueFrom(base ?? this.devices.cursorOf(device_id), this.lastStamp)
  }

  #refusal(change: Change, now: number): [Change, string][] {
    if (change.user_id !== undefined && change.user_id !== this.#userId)
      return [[change, 'The change belongs to another user']]
    if (!isFarAhead(change.timestamp, now)) return []
    return [[change, `The timestamp is more than 24 hours ahead of the server's time ${now}`]]
  }
}

function keyOf({ entity_type, entity_id }: Pick<Change, 'entity_type' | 'entity_id'>): string {
  return `${entity_type}/${entity_id}`
}

function toEvent(user_id: string, stored: Stored): Schemas['SyncEvent'] {
  const { event_id: id, entity_type, entity_id, operation, timestamp, device_id, ...more } = stored
  const { data, data_hash, conflict_resolved, resolution_strategy, overwritten } = more
  return {
    ...{ id, user_id, entity_type, entity_id, operation, timestamp, device_id },
    ...(data !== null && operation !== 'delete' && { encrypted_data: data.text }),
    ...(data_hash !== null && { data_hash }),
    conflict_resolved,
    resolution_strategy,
    ...(overwritten !== null && { overwritten }),
  }
}
