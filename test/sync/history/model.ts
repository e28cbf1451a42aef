/** The data that the service must have of one user, in plain arrays. Uses the service's own rule for winners. */

import { quotas } from '../../../generated/limits.ts'
import { decide } from '../../../src/protocol/decide.ts'
import type { Schemas } from '../../../src/service/contract/schemas.ts'

type Change = Schemas['Change']
/** Versions that share a ciphertext share the object. */
type Data = { text: string }

export interface Version {
  /** The service makes some of these ids. The model copies them. */
  event_id: string
  operation: Schemas['Operation']
  timestamp: number
  device_id: string
  data_hash: string | null
  data: Data | undefined
}

export interface Kept extends Version {
  sequence: number
  /** The time at which it became a version. */
  at: number
  /** How far behind (ms) the service found its clock at that time (test/db/clock-movements.test.ts). */
  behind: number
  began: number | null
  beganAt: number
  ended: number
  endedAt: number
  reason: Schemas['VersionReason']
  by: Pick<Version, 'event_id'>
  isOpen: boolean
}

export interface Entity {
  type: Schemas['EntityType']
  id: string
  current: Version & Numbered
  first: Numbered
  kept: Kept[]
  /** True if versions between others were erased. */
  hasGaps: boolean
  /** The entity's content from each sequence number on, null while deleted. Entries are never removed. */
  states: [sequence: number, content: Pick<Version, 'data' | 'data_hash'> | null][]
}

/** A sequence number, and when it was assigned. */
interface Numbered {
  sequence: number
  at: number
}

interface Outcome {
  key: string
  winner?: (Version & { unseen: boolean }) | undefined
  lost?: Change[]
  /** The version that a restore used. */
  source?: Kept | undefined
}

const keepMs = 30 * 86_400_000
const hourMs = 3_600_000

export class Model {
  readonly entities = new Map<string, Entity>()
  readonly cursors = new Map<string, number>()
  lastSequence = 0
  readonly maxBytes: number
  constructor(maxBytes: number) {
    this.maxBytes = maxBytes
  }

  /** Applies changes as a push does. REST calls and imports give a `base`. Returns false if the quota is exceeded. */
  push(now: number, made: Change[] | (() => Change[])): boolean {
    // `made` is called again after room was made, because its result may depend on erased data.
    const changes = typeof made === 'function' ? made() : made
    const groups = Map.groupBy(changes, ({ entity_type, entity_id }) => `${entity_type}/${entity_id}`)
    const outcomes = [...groups].map(([key, group]): Outcome => {
      const stored = this.entities.get(key)?.current
      const seen = ({ device_id, base }: { device_id: string; base?: number }) =>
        base ?? this.cursors.get(device_id) ?? 0
      const { winner, lost, unseenAfter } = decide(group, stored && { ...stored, encrypted_data: null }, seen)
      if (!winner) return { key, lost: [...lost.keys()] }
      const { id: event_id, operation, timestamp, device_id, data_hash = null } = winner
      const won = {
        event_id,
        operation,
        timestamp,
        device_id,
        data_hash,
        data: dataOf(winner),
        unseen: unseenAfter !== undefined,
      }
      return { key, lost: [...lost.keys()], winner: won }
    })
    return this.write(now, outcomes) ?? this.push(now, made)
  }

  /** Pulls everything. If there is nothing, the cursor is the last assigned number. */
  pull(device: string): number {
    const sequences = [...this.entities.values()].map(({ current }) => current.sequence)
    const cursor = sequences.length > 0 ? Math.max(...sequences) : this.lastSequence
    this.cursors.set(device, cursor)
    return cursor
  }

  source(entity: Entity, index: number | undefined): Kept | undefined {
    const sources = entity.kept.toReversed().filter(({ data }) => data)
    if (index !== undefined) return sources[index % sources.length]
    if (entity.current.operation !== 'delete') return sources.find(({ began }) => began !== null)
    return sources.find(({ data }) => data === entity.current.data)
  }

  /** Rewinds. Returns the counts of the response. */
  rewind(
    now: number,
    to: number,
    device: string,
    isDryRun: boolean,
  ): Record<'restored' | 'deleted' | 'unchanged' | 'beyond_retention', number> {
    const counts = { restored: 0, deleted: 0, unchanged: 0, beyond_retention: 0 }
    const until = this.numberAt(now, to)
    const outcomes: Outcome[] = []
    for (const [key, entity] of [...this.entities].sort(([one], [other]) => (one < other ? -1 : 1))) {
      const { current, first, kept, states } = entity
      const version = kept.find(({ began, ended }) => began !== null && began <= until && until < ended)
      const [, then = null] = states.findLast(([sequence]) => sequence <= until) ?? []
      const [, last = null] = states.at(-1) ?? []
      const isSame = then === null ? last === null : last !== null && last.data === then.data
      if (entity.type === 'history') {
        counts.unchanged += 1
        continue
      }
      const isKnown = current.sequence <= until || first.sequence > until || version !== undefined
      const fate = !isKnown ? 'beyond_retention' : isSame ? 'unchanged' : then === null ? 'deleted' : 'restored'
      counts[fate] += 1
      if (fate !== 'restored' && fate !== 'deleted') continue
      if (version && fate === 'restored' && !isDryRun) version.isOpen = false
      const made = { event_id: '', timestamp: Math.max(now, current.timestamp + 1), device_id: device, unseen: false }
      const content = { operation: 'update' as const, data_hash: then?.data_hash ?? null, data: version?.data }
      const deletion = { operation: 'delete' as const, data_hash: null, data: undefined }
      const isRestored = fate === 'restored'
      outcomes.push({
        key,
        winner: { ...made, ...(isRestored ? content : deletion) },
        source: isRestored ? version : undefined,
      })
    }
    if (!isDryRun && this.write(now, outcomes) === undefined) return this.rewind(now, to, device, isDryRun)
    return counts
  }

  /** The sequence number for a time, or for a number that looks like a time. */
  private numberAt(now: number, to: number): number {
    const entities = [...this.entities.values()]
    const written: Numbered[] = [
      ...entities.map(({ current }) => current),
      ...this.kept().map(({ sequence, at }) => ({ sequence, at })),
    ]
    const begun = this.kept().map(({ began, beganAt: at }) => ({ sequence: began ?? 0, at }))
    const given = [...written, ...begun, ...entities.map(({ first }) => first)]
    const next = given.find(({ sequence }) => sequence === to + 1)
    const isOfWrite = given.some(({ sequence, at }) => sequence === to && at === next?.at)
    if (next && next.at < next.sequence && !isOfWrite) return to
    if (to >= now) return Number.POSITIVE_INFINITY
    return Math.max(to, ...given.filter(({ at }) => at <= to).map(({ sequence }) => sequence))
  }

  /** Erases old versions, the oldest first, up to the first that must be kept. */
  sweep(now: number): void {
    const keptFrom = ({ at, behind }: Kept) => at + behind
    const known = this.kept().filter((version) => keptFrom(version) <= now)
    const first = known.findIndex((version) => keptFrom(version) >= now - keepMs)
    const erased = new Set(first < 0 ? known : known.slice(0, first))
    for (const entity of this.entities.values()) entity.kept = entity.kept.filter((version) => !erased.has(version))
  }

  open(): Kept[] {
    return this.kept().filter(({ isOpen }) => isOpen)
  }

  kept(): Kept[] {
    return [...this.entities.values()].flatMap(({ kept }) => kept).sort((one, other) => one.sequence - other.sequence)
  }

  bytes(): { stored: number; live: number } {
    const live = [...this.entities.values()].flatMap(({ current }) => (current.operation === 'delete' ? [] : [current]))
    return { stored: lengthOf([...live, ...this.kept()]), live: lengthOf(live) }
  }

  /** The bytes that count for the quota: all, and those that cannot be erased to make room. */
  used(): { all: number; live: number } {
    const { stored, live } = this.bytes()
    const rows = this.entities.size + this.kept().length
    const liveRows = this.entities.size - this.tombstones().length
    return { all: stored + quotas.rowBytes * rows, live: live + quotas.rowBytes * liveRows }
  }

  /** Deleted records of which no data is kept, the oldest first. */
  tombstones(): Entity[] {
    const empty = [...this.entities.values()].filter(isEmpty)
    return empty.sort((one, other) => one.current.sequence - other.current.sequence)
  }

  /** Erases the oldest versions until the quota holds, and `needed` of the oldest tombstones. */
  private makesRoom(needed: number): boolean {
    const count = Math.max(0, Math.min(this.tombstones().length, needed))
    let hasMade = this.eraseWhile(() => this.used().all > this.maxBytes)
    for (const { type, id } of this.tombstones().slice(0, count)) hasMade = this.entities.delete(`${type}/${id}`)
    return hasMade
  }

  private eraseWhile(isTooMuch: () => boolean, order: Kept[] = this.kept()): boolean {
    let hasErased = false
    for (const { sequence } of order) {
      if (!isTooMuch()) break
      hasErased = true
      for (const entity of this.entities.values()) {
        if (entity.kept.findIndex((version) => version.sequence === sequence) > 0) entity.hasGaps = true
        entity.kept = entity.kept.filter((version) => version.sequence !== sequence)
      }
    }
    return hasErased
  }

  /** False if the quota has no room. Undefined if room was made, so that the caller must decide again. */
  write(now: number, outcomes: Outcome[]): boolean | undefined {
    const { live, all: used } = this.used()
    let [grown, created, brought, added] = [0, 0, 0, 0]
    const known = new Set(
      [...this.kept(), ...[...this.entities.values()].map(({ current }) => current)].map(({ data }) => data),
    )
    for (const { key, winner } of outcomes) {
      if (!winner) continue
      const entity = this.entities.get(key)
      const before = entity?.current
      const wasLive = before !== undefined && before.operation !== 'delete'
      const isLive = winner.operation !== 'delete'
      grown += lengthOf([winner]) - (wasLive ? lengthOf([before]) : 0)
      brought += Number(isLive && (!entity || isEmpty(entity)))
      if (!before && isLive) created += 1
      if (winner.data && !known.has(winner.data)) added += lengthOf([winner])
      if (wasLive && entity?.type === 'history') added -= lengthOf([before])
    }
    grown += brought * quotas.rowBytes
    const isAdding = added > 0 || created > 0
    if (isAdding && grown > 0 && live + grown > this.maxBytes) return false
    let tombstones = Math.max(
      0,
      Math.floor((this.maxBytes - used - added - created * quotas.rowBytes) / quotas.rowBytes),
    )
    const unknown = outcomes.filter(
      ({ key, winner }) => winner?.operation === 'delete' && !this.entities.has(key),
    ).length
    const records = this.entities.size + created + Math.min(unknown, tombstones)
    const liveBytes = this.bytes().live + grown - brought * quotas.rowBytes
    const room = Math.floor((this.maxBytes - liveBytes) / quotas.rowBytes)
    if (added > 0 && this.makesRoom(records - room)) return undefined
    let rows = 0
    for (const { key, winner } of outcomes) {
      const isTombstone = winner?.operation === 'delete' && !this.entities.has(key)
      if (!winner || (isTombstone && tombstones-- <= 0)) continue
      this.replace(key, winner, this.next(now))
      rows += 1
    }
    const kept = outcomes.flatMap(({ key, lost = [] }) => this.reject(now, key, lost))
    rows += kept.length
    const lost = kept.reduce((sum, change) => sum + (dataOf(change)?.text.length ?? 0), 0)
    const isMore = added + lost > 0
    // A write without ciphertext makes room only for its own rows.
    const most = isMore ? this.maxBytes : Math.max(this.maxBytes, this.used().all - rows * quotas.rowBytes)
    for (const { key } of outcomes) this.thin(this.entities.get(key))
    const restored = outcomes.flatMap(({ source }) => source ?? [])
    this.eraseWhile(() => this.used().all > most, [...restored, ...this.kept()])
    return true
  }

  private replace(key: string, { unseen, ...winner }: Version & { unseen: boolean }, numbered: Numbered): void {
    const { sequence, at } = numbered
    const [type = '', id = ''] = key.split('/')
    const before = this.entities.get(key)
    const isDelete = winner.operation === 'delete'
    // A tombstone refers to the deleted content as long as a version has it.
    const last = isDelete &&
      before && {
        data: type === 'history' ? undefined : before.current.data,
        data_hash: before.current.data_hash ?? winner.data_hash,
      }
    const entity: Entity = {
      ...(before ?? { type: type as Entity['type'], id, first: numbered, kept: [], hasGaps: false, states: [] }),
      current: { ...winner, ...last, ...numbered },
    }
    if (before && type !== 'history') {
      const { sequence: began, at: beganAt, ...version } = before.current
      const data = version.operation === 'delete' ? undefined : version.data
      const reason = unseen ? 'overwritten' : 'superseded'
      entity.kept.push({
        ...version,
        data,
        sequence,
        at,
        behind: 0,
        began,
        beganAt,
        ended: sequence,
        endedAt: at,
        reason,
        by: entity.current,
        isOpen: unseen,
      })
    }
    entity.states.push([sequence, isDelete ? null : winner])
    this.entities.set(key, entity)
  }

  /** Keeps losing changes, unless they are kept already. Of very many, only those that thinning would leave. */
  private reject(now: number, key: string, lost: Change[]): Change[] {
    const entity = this.entities.get(key)
    if (!entity || entity.type === 'history') return []
    const hashOf = ({ operation, data_hash }: Change) => (operation === 'delete' ? null : (data_hash ?? null))
    const isSame = (change: Change) => (kept: Kept) =>
      kept.event_id === change.id &&
      kept.operation === change.operation &&
      kept.timestamp === change.timestamp &&
      kept.device_id === change.device_id &&
      (change.operation === 'delete' || kept.data_hash === hashOf(change))
    const once = [...new Map(lost.map((change) => [change.id, change])).values()]
    const added = once.filter((change) => !entity.kept.some(isSame(change)))
    const left = added.filter(
      (_, index) =>
        index < quotas.versionsOfRecord - quotas.newestVersionsOfRecord ||
        index >= added.length - quotas.newestVersionsOfRecord,
    )
    for (const change of left) {
      const { id: event_id, operation, timestamp, device_id } = change
      const version = { event_id, operation, timestamp, device_id, data_hash: hashOf(change), data: dataOf(change) }
      const { current } = entity
      const { sequence, at } = this.next(now)
      const numbers = { sequence, at, behind: 0, began: null, beganAt: 0, ended: current.sequence, endedAt: current.at }
      entity.kept.push({ ...version, ...numbers, reason: 'rejected', by: current, isOpen: true })
    }
    return left
  }

  /** Erases surplus versions in turn: of the older ones, the latest that was current for the fewest whole hours. */
  private thin(entity: Entity | undefined): void {
    while (entity && entity.kept.length > quotas.versionsOfRecord) {
      entity.kept.sort((one, other) => one.sequence - other.sequence)
      const others = entity.kept.slice(0, -quotas.newestVersionsOfRecord)
      const hours = others.map(({ began, beganAt, endedAt }) =>
        began === null ? 0 : Math.max(0, Math.floor((endedAt - beganAt) / hourMs)),
      )
      const place = hours.lastIndexOf(Math.min(...hours))
      entity.kept.splice(place, 1)
      entity.hasGaps = true
    }
  }

  private next(at: number): Numbered {
    this.lastSequence = Math.max(at, this.lastSequence + 1)
    return { sequence: this.lastSequence, at }
  }
}

function isEmpty({ current, kept }: Entity): boolean {
  return current.operation === 'delete' && kept.length === 0
}

function dataOf({ operation, encrypted_data }: Pick<Change, 'operation'> & { encrypted_data?: string | null }) {
  return operation === 'delete' || !encrypted_data ? undefined : { text: encrypted_data }
}

function lengthOf(versions: (Pick<Version, 'data'> | undefined)[]): number {
  return [...new Set(versions.map((version) => version?.data))].reduce((sum, data) => sum + (data?.text.length ?? 0), 0)
}
