import { quotas } from '../../../generated/limits.ts'
import type { components } from '../../../generated/openapi.ts'
import { isSameContent } from '../../protocol/order.ts'
import { isSealedAnew } from '../../protocol/sealed-anew.ts'
import { uuidv7 } from '../ids.ts'
import { FakeDevices } from './fake-devices.ts'
import type { FakeRecords } from './fake-records.ts'
import { isOpen, type Kept, type Replacement, type Stored, toReplacement } from './fake-versions.ts'

type Schemas = components['schemas']
type Fate = Exclude<keyof Schemas['RewindResponse'], 'next'>

const keptMs = quotas.versionDays * 86_400_000

/** The operations on what the service keeps of a user's bookmarks. */
export class FakeHistory {
  readonly #records: FakeRecords

  constructor(records: FakeRecords) {
    this.#records = records
  }

  versions(id: string): Schemas['Version'][] | undefined {
    if (!this.#records.find(bookmark(id))) return undefined
    return this.#records.keptOf(bookmark(id)).toReversed().map(toVersion)
  }

  conflicts(): Schemas['Version'][] {
    return this.#records.kept.filter(isOpen).toReversed().map(toVersion)
  }

  trash(): Schemas['DeletedBookmark'][] {
    const deleted = this.#records.entities.flatMap((stored) => {
      const last = this.#records.keptOf(stored).findLast(({ data }) => data !== null && data === stored.data)
      const isThere = stored.entity_type === 'bookmark' && stored.operation === 'delete' && last?.was_deleted
      return isThere ? [{ stored, seq: last.seq }] : []
    })
    return deleted.sort((one, other) => other.seq - one.seq).map(({ stored, seq }) => toDeleted(stored, seq))
  }

  settle(versionId: string, now: number): boolean {
    const open = this.#records.kept.filter((version) => isOpen(version) && version.version_id === versionId)
    for (const version of open) version.settled_at = now
    return open.length > 0
  }

  purge(id: string): boolean {
    const stored = this.#records.find(bookmark(id))
    if (stored?.operation !== 'delete') return false
    const erased = new Set(this.#records.keptOf(bookmark(id)))
    this.#records.kept = this.#records.kept.filter((version) => !erased.has(version))
    stored.data = null
    return true
  }

  /** Undefined if there is no such bookmark. */
  restore(
    id: string,
    versionId: string | undefined,
    deviceId: string,
    now: number,
  ): Schemas['Bookmark'] | 'no version' | undefined {
    const stored = this.#records.find(bookmark(id))
    if (!stored) return undefined
    const source = choose(this.#records.keptOf(bookmark(id)), stored, versionId)
    if (!source?.data) return 'no version'
    if (versionId !== undefined) this.settle(versionId, now)
    const made = { operation: 'update', device_id: deviceId, timestamp: Math.max(now, stored.timestamp + 1) } as const
    const content = { encrypted_data: source.data.text, data_hash: source.data_hash ?? '' }
    // A request without a device id counts as having seen what it replaces.
    const base = deviceId === FakeDevices.unknown ? { base: stored.stamp } : {}
    const change = { ...bookmark(id), id: uuidv7(), ...made, ...content, ...base }
    const replacement = toReplacement(this.#records.decide([change]))
    if (replacement) this.#records.write([{ ...replacement, data: source.data }], [], now)
    const { created_at, timestamp: updated_at } = this.#records.find(bookmark(id)) as Stored
    return { id, ...content, created_at, updated_at, deleted_at: null }
  }

  rewind(
    { to, dry_run, cursor = '' }: Schemas['RewindRequest'],
    deviceId: string,
    now: number,
  ): Schemas['RewindResponse'] {
    const counts: Record<Fate, number> = { restored: 0, deleted: 0, unchanged: 0, beyond_retention: 0 }
    const replacements: Replacement[] = []
    const restored: Kept[] = []
    for (const stored of this.#records.entities) {
      if (`${stored.entity_type}/${stored.entity_id}` <= cursor) continue
      const { entity_type, entity_id } = stored
      const version = this.#records
        .keptOf(stored)
        .find(({ began, ended }) => began !== null && began <= to && to < ended)
      const fate = fateOf(stored, version, to)
      counts[fate] += 1
      if (fate !== 'restored' && fate !== 'deleted') continue
      const made = { event_id: uuidv7(), timestamp: Math.max(now, stored.timestamp + 1), device_id: deviceId }
      const deletion = { operation: 'delete', data: null, data_hash: null } as const
      const content = {
        operation: 'update',
        data: version?.data ?? null,
        data_hash: version?.data_hash ?? null,
      } as const
      replacements.push({ entity_type, entity_id, ...made, ...(fate === 'deleted' ? deletion : content) })
      if (version && fate === 'restored') restored.push(version)
    }
    if (dry_run) return { ...counts, next: null }
    for (const version of restored.filter(isOpen)) version.settled_at = now
    this.#records.write(replacements, [], now)
    return { ...counts, next: null }
  }
}

function bookmark(entity_id: string) {
  return { entity_type: 'bookmark', entity_id } as const
}

/** By default, what a deleted record was before, or what a live one was last before it became what it is. */
function choose(
  kept: Kept[],
  stored: Stored,
  versionId: string | undefined,
): Pick<Kept, 'data' | 'data_hash'> | undefined {
  const sources = kept.toReversed().filter(({ data }) => data !== null)
  if (versionId !== undefined) return sources.find(({ version_id }) => version_id === versionId)
  if (stored.operation === 'delete') return stored
  return sources.find(({ began, version_id }) => began !== null && !isSealedAnew(stored.event_id, version_id))
}

/** What becomes of an entity, of which `version` was current then, if it is kept. */
function fateOf(stored: Stored, version: Kept | undefined, to: number): Fate {
  const isLive = stored.operation !== 'delete'
  if (stored.stamp <= to) return 'unchanged'
  if (!version && stored.first_stamp <= to) return 'beyond_retention'
  if (!version || version.operation === 'delete') return isLive ? 'deleted' : 'unchanged'
  const isSame = isSameContent(stored, version) || isSealedAnew(stored.event_id, version.version_id)
  return isLive && isSame ? 'unchanged' : 'restored'
}

function toVersion({ seq, data, data_hash, was_deleted: _, ...version }: Kept): Schemas['Version'] {
  return {
    ...version,
    ...(data !== null && { encrypted_data: data.text }),
    ...(data_hash !== null && { data_hash }),
    erased_at: seq + keptMs,
  }
}

function toDeleted(
  { entity_id, data, data_hash, created_at, timestamp }: Stored,
  seq: number,
): Schemas['DeletedBookmark'] {
  const times = { created_at, updated_at: timestamp, deleted_at: timestamp, erased_at: seq + keptMs }
  return { id: entity_id, encrypted_data: data?.text ?? '', data_hash: data_hash ?? '', ...times }
}
