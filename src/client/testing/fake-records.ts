import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js'
import { quotas } from '../../../generated/limits.ts'
import type { components } from '../../../generated/openapi.ts'
import { addOverwritten, decide, type MadeBy, type Overwritten, type Verdict } from '../../protocol/decide.ts'
import { hexValue, toDigest } from '../../protocol/digest.ts'
import { editOf, isEncryptedAnew } from '../../protocol/encrypted-anew.ts'
import { isFarAhead, isRetry } from '../../protocol/order.ts'
import { continueFrom } from '../../protocol/sequence.ts'

type Schemas = components['schemas']
type Change = Schemas['Change']
type Entity = Pick<Change, 'entity_type' | 'entity_id'>

/** A sequence number, and when it was given (Unix ms). */
export interface Numbered {
  stamp: number
  at: number
}

/** A version of an entity. One that was restored shares its data with the one that it was restored from. */
interface FakeVersion extends Entity, Pick<Change, 'operation' | 'timestamp' | 'device_id'> {
  event_id: string
  /** Null for a delete. */
  data: { ciphertext: string } | null
  data_hash: string | null
}

/** A version that becomes current. */
export type Replacement = FakeVersion & Partial<Pick<Verdict<never>, 'resolution' | 'unseenAfter'>>

/** The current version of an entity. A deleted one keeps the data of the version before. */
export interface Current extends Replacement, Numbered {
  overwritten: Overwritten
  first: Numbered
  created_at: number
}

/** A version that was replaced, or that lost when it arrived, with the number and time of that. */
export interface Kept extends FakeVersion, Numbered, Pick<Schemas['Version'], 'replaced_by' | 'reason'> {
  /** With which it became current; null if it never did. */
  began: Numbered | null
  /** Those of the change that replaced it, or that it lost to. */
  ended: Numbered
  settled_at: number | null
  /** True if a delete has replaced it. */
  was_deleted: boolean
}

/** Stands for every device that does not send its id. */
export const unknownDevice = 'unknown'
const pullLimit = 1000
const cursorAgeMs = 60_000

/** One user's records, under the service's rules: who wins, sequence numbers, pages, what is kept of what was replaced. */
export class FakeRecords {
  lastStamp = 0
  readonly epoch = crypto.randomUUID()
  /** In the order of their sequence numbers. */
  kept: Kept[] = []
  readonly #userId: string
  readonly #entities = new Map<string, Current>()
  /** The devices that have synced, and how far. */
  readonly #devices = new Map<string, { cursor: number; lastSync: number }>()

  constructor(userId: string) {
    this.#userId = userId
  }

  /** In the order of their keys. */
  get entities(): Current[] {
    return inOrder(this.#entities).map(([, current]) => current)
  }

  find(entity: Entity): Current | undefined {
    return this.#entities.get(keyOf(entity))
  }

  keptOf(entity: Entity): Kept[] {
    return this.kept.filter((version) => keyOf(version) === keyOf(entity))
  }

  pull({ since = 0, limit = pullLimit }: Partial<Schemas['PullRequest']>, deviceId: string, now: number) {
    const changes = this.changesAfter(since)
    const sent = changes.slice(0, limit)
    const cursor = sent.at(-1)?.stamp ?? this.lastStamp
    if (deviceId !== unknownDevice) {
      const before = this.#devices.get(deviceId)
      // A pull that changes nothing is written once a minute.
      const isFresh = before?.cursor === cursor && Math.abs(now - before.lastSync) < cursorAgeMs
      if (!isFresh) this.#devices.set(deviceId, { cursor, lastSync: now })
    }
    const has_more = changes.length > sent.length
    const page = { last_sync_timestamp: cursor, has_more, epoch: this.epoch }
    return { changes: sent.map(({ event }) => event), ...page } satisfies Schemas['PullResponse']
  }

  /** In order of their sequence numbers. */
  changesAfter(since: number): { event: Schemas['SyncEvent']; stamp: number }[] {
    const cursor = continueFrom(since, this.lastStamp)
    const changed = [...this.#entities.values()].filter(({ stamp }) => stamp > cursor)
    const sorted = changed.sort((one, other) => one.stamp - other.stamp)
    return sorted.map((current) => ({ event: toEvent(this.#userId, current), stamp: current.stamp }))
  }

  push(changes: Change[], deviceId: string, now: number): Schemas['PushResponse'] {
    const refused = new Map(changes.flatMap((change) => this.#refusal(change, now)))
    const considered = changes.filter((change) => !refused.has(change))
    // All see what was there before the push.
    const verdicts = [...Map.groupBy(considered, keyOf).values()].map((group) => this.decide(group))
    const before = this.lastStamp
    const lost = verdicts.flatMap((verdict) => [...verdict.lost.keys()])
    const written = this.write(verdicts.flatMap(replacementOf), lost, now)
    const device = deviceId === unknownDevice ? changes[0]?.device_id : deviceId
    // The cursor stays: the device has not seen what others wrote.
    if (device !== undefined && device !== unknownDevice)
      this.#devices.set(device, { cursor: this.#cursorOf(device), lastSync: now })
    const reasons = new Map([...refused, ...verdicts.flatMap(({ lost, heldBack }) => [...lost, ...heldBack])])
    const accepted_ids = changes.filter((change) => !reasons.has(change)).map(({ id }) => id)
    const conflicts = changes.flatMap((change) => {
      const reason = reasons.get(change)
      if (reason === undefined) return []
      return { entity_id: change.entity_id, reason, resolution: 'rejected' as const, event_id: change.id }
    })
    const hasMore = conflicts.length > 0 || written.some(({ overwritten }) => overwritten.length > 0)
    const isTold = deviceId !== unknownDevice && written.length > 0 && !hasMore
    return {
      ...{ accepted: accepted_ids.length, accepted_ids, conflicts, timestamp: now, epoch: this.epoch },
      ...(isTold && { previous_sync_timestamp: before, last_sync_timestamp: this.lastStamp }),
    }
  }

  /** Between the stored version of an entity and changes of it. */
  decide(changes: Change[]): Verdict<Current> {
    const seenUpTo = ({ device_id, base }: MadeBy) => continueFrom(base ?? this.#cursorOf(device_id), this.lastStamp)
    return decide(changes, this.find(changes[0] as Change), seenUpTo)
  }

  /** Stores what has won, and keeps what it replaces and what has lost. Returns what it has stored. */
  write(replacements: Replacement[], lost: Change[], now: number): Current[] {
    const next = () => {
      this.lastStamp = Math.max(now, this.lastStamp + 1)
      return { stamp: this.lastStamp, at: now }
    }
    const written = replacements.map((replacement) => this.#replace(replacement, next()))
    for (const change of lost) {
      const current = this.find(change) as Current
      const version = versionOf(change)
      // A change that is sent again is kept once, which may be as a version that was replaced, perhaps under an older key.
      const isKept = (kept: Kept) => isEncryptedAnew(version.event_id, editOf(kept.event_id)) || isRetry(kept, version)
      if (this.keptOf(change).some(isKept)) continue
      this.kept.push({
        ...{ ...version, ...next(), data_hash: isLive(version) ? version.data_hash : null },
        ...{ began: null, ended: current, reason: 'rejected', replaced_by: current.event_id },
        ...{ settled_at: null, was_deleted: false },
      })
    }
    this.#eraseBriefest()
    return written
  }

  #replace(replacement: Replacement, numbered: Numbered): Current {
    const before = this.find(replacement)
    const { operation, timestamp: created_at, data_hash, resolution, unseenAfter } = replacement
    const current: Current = {
      ...{ created_at, first: numbered, overwritten: [] },
      ...before,
      ...{ ...replacement, ...numbered, resolution, unseenAfter },
      ...(before && operation === 'delete' && { data: before.data, data_hash: before.data_hash ?? data_hash }),
    }
    this.#entities.set(keyOf(current), current)
    if (!before) return current
    if (unseenAfter !== undefined) {
      // True if it was made on one of another device that its replacer had not seen either.
      const isMadeOnUnseen = this.keptOf(before).some(
        ({ device_id, began }) => device_id !== before.device_id && (began?.stamp ?? 0) > unseenAfter,
      )
      current.overwritten = addOverwritten(before.overwritten, before, isMadeOnUnseen)
    }
    this.kept.push({
      ...{ ...before, ...numbered, data: isLive(before) ? before.data : null },
      ...{ began: { stamp: before.stamp, at: before.at }, ended: numbered, replaced_by: current.event_id },
      reason: unseenAfter === undefined ? 'superseded' : 'overwritten',
      ...{ settled_at: null, was_deleted: isLive(before) && operation === 'delete' },
    })
    return current
  }

  /** Of an entity with too many versions, the service erases those that were current for the fewest hours, the latest first. */
  #eraseBriefest(): void {
    const full = [...Map.groupBy(this.kept, keyOf).values()].filter(({ length }) => length > quotas.versionsOfRecord)
    const erased = full.flatMap((own) => {
      const others = own.slice(0, -quotas.newestVersionsOfRecord)
      const sorted = others.sort((one, other) => hoursOf(one) - hoursOf(other) || other.stamp - one.stamp)
      return sorted.slice(0, own.length - quotas.versionsOfRecord)
    })
    if (erased.length === 0) return
    const gone = new Set(erased)
    this.kept = this.kept.filter((version) => !gone.has(version))
  }

  /** The status of a device or, without one, of all devices together. */
  status(deviceId: string | undefined): Schemas['SyncStatus'] {
    const those = [...this.#devices].flatMap(([id, device]) => ((deviceId ?? id) === id ? device : []))
    const cursor = Math.max(0, ...those.map((device) => device.cursor))
    const live = this.entities.filter(isLive)
    return {
      user_id: this.#userId,
      last_sync: Math.max(0, ...those.map(({ lastSync }) => lastSync)),
      pending_changes: this.#pendingOf(deviceId, cursor),
      conflict_count: this.kept.filter(isOpen).length,
      total_bookmarks: live.filter(({ entity_type }) => entity_type === 'bookmark').length,
      epoch: this.epoch,
      digest: toDigest(live.reduce((sum, { data_hash }) => sum + digestValue(data_hash ?? ''), 0n)),
    }
  }

  devices(current: string | undefined): Schemas['Device'][] {
    return inOrder(this.#devices).map(([id, { cursor, lastSync: last_seen }]) => {
      return { id, last_seen, pending_changes: this.#pendingOf(id, cursor), current: id === current }
    })
  }

  /** False if it is not known. */
  forgetDevice(id: string): boolean {
    return this.#devices.delete(id)
  }

  /** Ciphertexts that versions share count once. */
  usage(): Schemas['AccountUsage'] {
    const bytesOf = (versions: FakeVersion[]) =>
      [...new Set(versions.map(({ data }) => data))].reduce((sum, data) => sum + (data?.ciphertext.length ?? 0), 0)
    const data = bytesOf([...this.entities, ...this.kept])
    const bytes = data + quotas.rowBytes * (this.#entities.size + this.kept.length)
    // A deleted record of which nothing is kept can be erased, too.
    const kept = new Set(this.kept.map(keyOf))
    const staying = this.entities.filter((entity) => isLive(entity) || kept.has(keyOf(entity)))
    const version_bytes = bytes - bytesOf(staying.filter(isLive)) - quotas.rowBytes * staying.length
    return { bytes, version_bytes, records: this.#entities.size, devices: this.#devices.size, export_bytes: 0 }
  }

  #cursorOf(deviceId: string): number {
    return this.#devices.get(deviceId)?.cursor ?? 0
  }

  /** Changes of other devices after the cursor. */
  #pendingOf(deviceId: string | undefined, cursor: number): number {
    return this.entities.filter(({ stamp, device_id }) => stamp > cursor && device_id !== deviceId).length
  }

  #refusal(change: Change, now: number): [Change, string][] {
    if (change.user_id !== undefined && change.user_id !== this.#userId)
      return [[change, 'The change belongs to another user']]
    if (!isFarAhead(change.timestamp, now)) return []
    return [[change, `The timestamp is more than 24 hours ahead of the server's time ${now}`]]
  }
}

/** True of a conflict that nobody has settled. */
export function isOpen({ settled_at, reason }: Kept): boolean {
  return settled_at === null && reason !== 'superseded'
}

export function isLive({ operation }: FakeVersion): boolean {
  return operation !== 'delete'
}

export function replacementOf({ winner, resolution, unseenAfter }: Verdict<Current>): Replacement[] {
  return winner ? [{ ...versionOf(winner), resolution, unseenAfter }] : []
}

function hoursOf({ began, ended }: Kept): number {
  return began ? Math.max(0, Math.floor((ended.at - began.at) / 3_600_000)) : 0
}

function keyOf({ entity_type, entity_id }: Entity): string {
  return `${entity_type}/${entity_id}`
}

function inOrder<Value>(map: ReadonlyMap<string, Value>): [string, Value][] {
  return [...map].sort(([one], [other]) => (one < other ? -1 : 1))
}

function versionOf(change: Change): FakeVersion {
  const { id: event_id, entity_type, entity_id, operation, timestamp, device_id, encrypted_data, data_hash } = change
  const data = operation === 'delete' || encrypted_data === undefined ? null : { ciphertext: encrypted_data }
  return { event_id, entity_type, entity_id, operation, timestamp, device_id, data, data_hash: data_hash ?? null }
}

function toEvent(user_id: string, current: Current): Schemas['SyncEvent'] {
  const { event_id: id, entity_type, entity_id, operation, timestamp, device_id } = current
  const { data, data_hash, resolution, overwritten } = current
  return {
    ...{ id, user_id, entity_type, entity_id, operation, timestamp, device_id },
    ...(data !== null && isLive(current) && { encrypted_data: data.ciphertext }),
    ...(data_hash !== null && { data_hash }),
    ...{ conflict_resolved: resolution !== undefined, resolution_strategy: resolution ?? null },
    ...(overwritten.length > 0 && { overwritten }),
  }
}

function digestValue(hash: string): bigint {
  return hexValue(hash) ?? hexValue(bytesToHex(sha256(utf8ToBytes(hash)))) ?? 0n
}
