import { quotas } from '../../../generated/limits.ts'
import type { components } from '../../../generated/openapi.ts'
import { isEncryptedAnew } from '../../protocol/encrypted-anew.ts'
import { uuidv7 } from '../ids.ts'
import {
  type Current,
  type FakeRecords,
  isLive,
  isOpen,
  type Kept,
  type Replacement,
  replacementOf,
  unknownDevice,
} from './fake-records.ts'

type Schemas = components['schemas']
type Fate = Exclude<keyof Schemas['RewindResponse'], 'next'>

const keptMs = quotas.versionDays * 86_400_000

/** The operations on what the service keeps of a user's bookmarks. */
export class FakeHistory {
  readonly #records: FakeRecords

  constructor(records: FakeRecords) {
    this.#records = records
  }

  /** Undefined if it is deleted, or there is none. */
  bookmark(id: string): Schemas['Bookmark'] | undefined {
    const current = this.#records.find(bookmark(id))
    if (!current || !isLive(current)) return undefined
    const { data, data_hash, created_at, timestamp } = current
    const content = { encrypted_data: data?.ciphertext ?? '', data_hash: data_hash ?? '' }
    return { id, ...content, created_at, updated_at: timestamp, deleted_at: null }
  }

  /** Those that are not deleted, the newest first. */
  bookmarks(): Schemas['Bookmark'][] {
    const live = this.#records.entities.flatMap(({ entity_type, entity_id }) => {
      const found = entity_type === 'bookmark' ? this.bookmark(entity_id) : undefined
      return found ?? []
    })
    return live.sort((one, other) => other.created_at - one.created_at || (one.id < other.id ? 1 : -1))
  }

  versions(id: string): Schemas['Version'][] | undefined {
    if (!this.#records.find(bookmark(id))) return undefined
    return this.#records.keptOf(bookmark(id)).toReversed().map(toVersion)
  }

  conflicts(): Schemas['Version'][] {
    return this.#records.kept.filter(isOpen).toReversed().map(toVersion)
  }

  trash(): Schemas['DeletedBookmark'][] {
    const deleted = this.#records.entities.flatMap((current) => {
      const last = this.#records.keptOf(current).findLast(({ data }) => data !== null && data === current.data)
      const isThere = current.entity_type === 'bookmark' && !isLive(current) && last?.was_deleted
      return isThere ? [{ current, last }] : []
    })
    return deleted
      .sort((one, other) => other.last.seq - one.last.seq)
      .map(({ current, last }) => toDeleted(current, last))
  }

  /** False if there is no such conflict. */
  settle(versionId: string, now: number): boolean {
    const open = firstNamed(this.#records.kept.filter(isOpen), versionId)
    if (open) open.settled_at = now
    return open !== undefined
  }

  /** False if the bookmark is not deleted. */
  purge(id: string): boolean {
    const current = this.#records.find(bookmark(id))
    if (!current || isLive(current)) return false
    const erased = new Set(this.#records.keptOf(current))
    this.#records.kept = this.#records.kept.filter((version) => !erased.has(version))
    current.data = null
    return true
  }

  /** Undefined if there is no such bookmark. */
  restore(
    id: string,
    versionId: string | undefined,
    device_id: string,
    now: number,
  ): Schemas['Bookmark'] | 'no version' | undefined {
    const before = this.#records.find(bookmark(id))
    if (!before) return undefined
    const source = choose(this.#records.keptOf(before), before, versionId)
    if (!source?.data) return 'no version'
    const { data } = source
    if (versionId !== undefined && 'settled_at' in source && isOpen(source)) source.settled_at = now
    const content = { encrypted_data: data.ciphertext, data_hash: source.data_hash ?? '' }
    const change = { ...bookmark(id), ...replacing(before, device_id, now), operation: 'update', ...content } as const
    // A request without a device id counts as having seen what it replaces.
    const base = device_id === unknownDevice ? { base: before.stamp } : {}
    const verdict = this.#records.decide([{ ...change, ...base, id: change.event_id }])
    const [current = before] = this.#records.write(
      replacementOf(verdict).map((one) => ({ ...one, data })),
      [],
      now,
    )
    return { id, ...content, created_at: current.created_at, updated_at: current.timestamp, deleted_at: null }
  }

  rewind(
    { to, dry_run, cursor = '' }: Schemas['RewindRequest'],
    deviceId: string,
    now: number,
  ): Schemas['RewindResponse'] {
    const counts: Record<Fate, number> = { restored: 0, deleted: 0, unchanged: 0, beyond_retention: 0 }
    const until = this.#numberAt(to, now)
    const replacements: Replacement[] = []
    const restored: Kept[] = []
    for (const current of this.#records.entities) {
      const { entity_type, entity_id } = current
      if (`${entity_type}/${entity_id}` <= cursor) continue
      const kept = this.#records.keptOf(current)
      const version = kept.find(({ began, ended }) => began !== null && began.stamp <= until && until < ended.stamp)
      const fate = fateOf(current, version, until)
      counts[fate] += 1
      const made = { entity_type, entity_id, ...replacing(current, deviceId, now) }
      if (fate === 'deleted') replacements.push({ ...made, operation: 'delete', data: null, data_hash: null })
      if (fate !== 'restored' || !version) continue
      replacements.push({ ...made, operation: 'update', data: version.data, data_hash: version.data_hash })
      restored.push(version)
    }
    if (dry_run) return { ...counts, next: null }
    for (const version of restored.filter(isOpen)) version.settled_at = now
    this.#records.write(replacements, [], now)
    return { ...counts, next: null }
  }

  /** The sequence number up to which everything was stored at the time `to`, which may also be the cursor of before a write. */
  #numberAt(to: number, now: number): number {
    const current = this.#records.entities.flatMap(({ stamp, at, first }) => [{ stamp, at }, first])
    const kept = this.#records.kept.flatMap(({ seq, at, began }) => [{ stamp: seq, at }, ...(began ? [began] : [])])
    const given = [...current, ...kept]
    const next = given.find(({ stamp }) => stamp === to + 1)
    const isOfWrite = given.some(({ stamp, at }) => stamp === to && at === next?.at)
    if (next && next.at < next.stamp && !isOfWrite) return to
    const stored = given.filter(({ at }) => at <= to)
    return to >= now ? Number.POSITIVE_INFINITY : Math.max(to, ...stored.map(({ stamp }) => stamp))
  }
}

function bookmark(entity_id: string) {
  return { entity_type: 'bookmark', entity_id } as const
}

/** A new version is later than the current one. */
function replacing({ timestamp }: Current, device_id: string, now: number) {
  return { event_id: uuidv7(), timestamp: Math.max(now, timestamp + 1), device_id }
}

/** By default, what a deleted record was before, or what a live one was last before it became what it is. */
function choose(kept: Kept[], current: Current, versionId: string | undefined): Kept | Current | undefined {
  const sources = kept.toReversed().filter(({ data }) => data !== null)
  if (versionId !== undefined) return firstNamed(sources, versionId)
  if (!isLive(current)) return current
  const before = sources.filter(({ began }) => began !== null)
  return before.find(({ event_id }) => !isEncryptedAnew(current.event_id, event_id)) ?? before[0]
}

/** Of several with this id the first to arrive: before its owner has sent it, nobody can know it. */
function firstNamed(versions: Kept[], versionId: string): Kept | undefined {
  const arrival = ({ began, seq }: Kept) => began?.stamp ?? seq
  const named = versions.filter(({ event_id }) => event_id === versionId)
  return named.sort((one, other) => arrival(one) - arrival(other))[0]
}

/** The fate of an entity of which `version` was current then, if it is kept. */
function fateOf(current: Current, version: Kept | undefined, until: number): Fate {
  if (current.stamp <= until) return 'unchanged'
  if (!version && current.first.stamp <= until) return 'beyond_retention'
  if (!version || !isLive(version)) return isLive(current) ? 'deleted' : 'unchanged'
  return isLive(current) && current.data === version.data ? 'unchanged' : 'restored'
}

function toVersion(kept: Kept): Schemas['Version'] {
  const { event_id: version_id, seq: _, at, began, ended, data, data_hash, was_deleted: __, ...rest } = kept
  return {
    ...{ ...rest, version_id, began: began?.at ?? null, ended: ended.at, erased_at: at + keptMs },
    ...(data !== null && { encrypted_data: data.ciphertext }),
    ...(data_hash !== null && { data_hash }),
  }
}

function toDeleted(current: Current, { at }: Kept): Schemas['DeletedBookmark'] {
  const { entity_id: id, data, data_hash, created_at, timestamp } = current
  const times = { created_at, updated_at: timestamp, deleted_at: timestamp, erased_at: at + keptMs }
  return { id, encrypted_data: data?.ciphertext ?? '', data_hash: data_hash ?? '', ...times }
}
