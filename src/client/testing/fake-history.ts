import { BookmarkNotFound, ConflictNotFound, VersionNotFound } from '../../../generated/errors.ts'
import { quotas } from '../../../generated/limits.ts'
import type { components } from '../../../generated/openapi.ts'
import { isEncryptedAnew } from '../../protocol/encrypted-anew.ts'
import { dayMs } from '../../protocol/order.ts'
import { uuidv7 } from '../ids.ts'
import { type Call, done, doneIf, type FakeAnswer, failed, ok, okIfFound } from './fake-call.ts'
import {
  type Current,
  type FakeRecords,
  isLive,
  isOpen,
  type Kept,
  type Numbered,
  type Replacement,
  replacementOf,
  unknownDevice,
} from './fake-records.ts'

type Schemas = components['schemas']
type Fate = Exclude<keyof Schemas['RewindResponse'], 'next'>

const keptMs = quotas.versionDays * dayMs

export function listBookmarks({ account: { records } }: Call): FakeAnswer {
  const live = records.entities.filter((current) => current.entity_type === 'bookmark' && isLive(current))
  const data = live.map(toBookmark)
  data.sort((one, other) => other.created_at - one.created_at || (one.id < other.id ? 1 : -1))
  return ok({ data, meta: { total: data.length, page: 1, limit: data.length } })
}

export function getBookmark({ account: { records }, id }: Call): FakeAnswer {
  const current = records.find(bookmark(id))
  return okIfFound(current && isLive(current) ? toBookmark(current) : undefined, BookmarkNotFound)
}

export function listVersions({ account: { records }, id }: Call): FakeAnswer {
  if (!records.find(bookmark(id))) return failed(BookmarkNotFound)
  return ok({ versions: records.keptOf(bookmark(id)).toReversed().map(toVersion), next: null })
}

export function listConflicts({ account: { records } }: Call): FakeAnswer {
  return ok({ conflicts: records.kept.filter(isOpen).toReversed().map(toVersion), next: null })
}

export function listTrash({ account: { records } }: Call): FakeAnswer {
  const deleted = records.entities.flatMap((current) => {
    const last = records.keptOf(current).findLast(({ data }) => data !== null && data === current.data)
    const isThere = current.entity_type === 'bookmark' && !isLive(current) && last?.was_deleted
    return isThere ? [{ current, last }] : []
  })
  deleted.sort((one, other) => other.last.stamp - one.last.stamp)
  const bookmarks = deleted.map(({ current, last }) => ({ ...toBookmark(current), erased_at: last.at + keptMs }))
  return ok({ bookmarks, next: null })
}

export function settleConflict({ account: { records }, id, now }: Call): FakeAnswer {
  const open = firstNamed(records.kept.filter(isOpen), id)
  if (open) open.settled_at = now
  return doneIf(open !== undefined, ConflictNotFound)
}

export function purgeBookmark({ account: { records }, id }: Call): FakeAnswer {
  const current = records.find(bookmark(id))
  if (!current || isLive(current)) return failed(BookmarkNotFound)
  const erased = new Set(records.keptOf(current))
  records.kept = records.kept.filter((version) => !erased.has(version))
  current.data = null
  return done
}

export function restoreBookmark({ account: { records }, id, body, by: device_id, now }: Call): FakeAnswer {
  const versionId: string | undefined = body.version_id
  const before = records.find(bookmark(id))
  if (!before) return failed(BookmarkNotFound)
  const source = choose(records.keptOf(before), before, versionId)
  if (!source?.data) return failed(VersionNotFound)
  const { data, data_hash } = source
  if (versionId !== undefined && 'settled_at' in source && isOpen(source)) source.settled_at = now
  const content = { encrypted_data: data.ciphertext, data_hash: data_hash ?? '' }
  const { event_id, ...made } = replacing(before, device_id, now)
  // A request without a device id counts as having seen what it replaces.
  const base = device_id === unknownDevice ? { base: before.stamp } : {}
  const change = { ...bookmark(id), ...made, ...content, ...base, id: event_id, operation: 'update' as const }
  const replacements = replacementOf(records.decide([change])).map((one) => ({ ...one, data }))
  const [current = before] = records.write(replacements, [], now)
  return ok(toBookmark(current))
}

export function rewindBookmarks({ account: { records }, body, by, now }: Call): FakeAnswer {
  const { to, dry_run, cursor = '' }: Schemas['RewindRequest'] = body
  const counts: Record<Fate, number> = { restored: 0, deleted: 0, unchanged: 0, beyond_retention: 0 }
  const until = numberAt(records, to, now)
  const replacements: Replacement[] = []
  const restored: Kept[] = []
  for (const current of records.entities) {
    const { entity_type, entity_id } = current
    if (`${entity_type}/${entity_id}` <= cursor) continue
    const kept = records.keptOf(current)
    const version = kept.find(({ began, ended }) => began !== null && began.stamp <= until && until < ended.stamp)
    const fate = fateOf(current, version, until)
    counts[fate] += 1
    const made = { entity_type, entity_id, ...replacing(current, by, now) }
    if (fate === 'deleted') replacements.push({ ...made, operation: 'delete', data: null, data_hash: null })
    if (fate !== 'restored' || !version) continue
    replacements.push({ ...made, operation: 'update', data: version.data, data_hash: version.data_hash })
    restored.push(version)
  }
  if (!dry_run) {
    for (const version of restored.filter(isOpen)) version.settled_at = now
    records.write(replacements, [], now)
  }
  return ok({ ...counts, next: null })
}

/** The sequence number up to which everything was stored at the time `to`, which may also be the cursor of before a write. */
function numberAt({ entities, kept }: FakeRecords, to: number, now: number): number {
  const given: Numbered[] = [
    ...entities.flatMap((current) => [current, current.first]),
    ...kept.flatMap((version) => [version, version.began ?? []].flat()),
  ]
  const next = given.find(({ stamp }) => stamp === to + 1)
  const isOfWrite = given.some(({ stamp, at }) => stamp === to && at === next?.at)
  if (next && next.at < next.stamp && !isOfWrite) return to
  const stored = given.filter(({ at }) => at <= to)
  return to >= now ? Number.POSITIVE_INFINITY : Math.max(to, ...stored.map(({ stamp }) => stamp))
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
  const arrival = ({ began, stamp }: Kept) => began?.stamp ?? stamp
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

function toVersion({ began, ended, data, data_hash, ...kept }: Kept): Schemas['Version'] {
  const { event_id: version_id, entity_type, entity_id, operation, timestamp, device_id } = kept
  const { reason, replaced_by, settled_at, at } = kept
  return {
    ...{ version_id, entity_type, entity_id, operation, timestamp, device_id, reason, replaced_by, settled_at },
    ...{ began: began?.at ?? null, ended: ended.at, erased_at: at + keptMs },
    ...(data !== null && { encrypted_data: data.ciphertext }),
    ...(data_hash !== null && { data_hash }),
  }
}

function toBookmark(current: Current): Schemas['Bookmark'] {
  const { entity_id: id, data, data_hash, created_at, timestamp } = current
  const content = { encrypted_data: data?.ciphertext ?? '', data_hash: data_hash ?? '' }
  const deleted_at = isLive(current) ? null : timestamp
  return { id, ...content, created_at, updated_at: timestamp, deleted_at }
}
