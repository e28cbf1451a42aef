import { compareVersions } from '../../../protocol/order.ts'
import { isEqual } from '../../bookmark/equal.ts'
import type { EntityType } from '../../bookmark.ts'
import { decryptBookmarkAside } from '../../crypto/many-records.ts'
import { RecordError, RollbackError, SignedOutError } from '../../errors.ts'
import { paced } from '../../timing/paced.ts'
import { applyEdit, sealOne } from '../edits/edit.ts'
import type { Connected } from '../engine.ts'
import { fieldsLost } from '../store/conflicts.ts'
import { keyOfChange, nameOf } from '../store/key.ts'
import { type Draft, isStored, pulledTypes, type Replica } from '../store/replica.ts'
import { isUnknownYet, newestOf, ownIds, versionOf, viewOf } from '../store/row.ts'
import type { Meta, Row, Version } from '../store/store.ts'
import { requireTimes } from './correct-clock.ts'
import { isMadeByCopy, presentId, withNewId } from './device-copies.ts'
import { keyMarkOf, keyNamedBy, lacksNewestKey } from './key-marks.ts'
import { type MergedEdit, mergeUnreadable, mergeVersion, type Unseen } from './merge.ts'
import { sendReplaced } from './replaced.ts'
import { markReported } from './reported.ts'
import type { SyncEvent } from './transport.ts'

export interface TakeParts extends Connected {
  /** While everything is pulled again: collects the service's versions that are older than this device's, by id. */
  older?: Map<string, Version> | undefined
  /** The types that were requested. The cursor also passes changes of other types, which this store may need by now. */
  types?: readonly EntityType[] | undefined
  /** The `since` with which a page of added types was pulled, which the store's cursor has passed. */
  from?: number | undefined
  /** True if everything is pulled to repair this store, not because of a recovery. */
  isSameHistory?: boolean | undefined
}

/** An event with its sequence number. */
export interface NumberedEvent {
  event: SyncEvent
  stamp: number
  /** The sequence number of the change before this one. Services of version 2.0 do not send it. */
  previous?: number | undefined
}

/**
 * Applies a page of a pull since the cursor `since`, together with its cursor. `stale`: nothing was applied, because the
 * browser has emptied the store, or other types are needed by now. Pull again from the store's cursor.
 */
export async function takePage(
  parts: TakeParts,
  events: readonly SyncEvent[],
  since: number,
  meta: Partial<Meta> & { cursor: number },
): Promise<'taken' | 'stale'> {
  const opened = await openEvents(parts, checked(parts, events))
  const refused = isRecovered(parts) ? await sendReplaced(parts, opened) : []
  const ids = opened.map(({ event }) => keyOfChange(event))
  return parts.replica.commit(ids, 'remote', (draft) => {
    const isOther = parts.types && hasOther(parts.replica, draft.meta, parts.types)
    if (draft.meta.cursor < since || isOther) return 'stale'
    const base = Math.max(parts.from ?? draft.meta.cursor, afterHeld(parts.replica))
    for (const one of opened) {
      const older = takeEvent(parts, draft, one, { base, cursor: meta.cursor })
      if (older) reportRollback(draft, one, older)
    }
    for (const [key, conflict] of refused) draft.addConflict(draft.get(key), conflict)
    draft.setMeta(meta)
    return 'taken'
  })
}

/**
 * Applies realtime messages that continue from the cursor `since`. `stale`: pull the rest, as in `takePage`, or because a
 * message is missing, or was sent before the service accepted this device's change, and would look like a rollback.
 */
export async function takeMessages(
  parts: TakeParts,
  messages: readonly NumberedEvent[],
  since: number,
  types: readonly EntityType[],
): Promise<'taken' | 'stale'> {
  for (const { stamp } of messages) requireTimes(stamp)
  const events = checked(
    parts,
    messages.map(({ event }) => event),
  )
  const opened = new Map((await openEvents(parts, events)).map((one) => [one.event, one]))
  const ids = messages.map(({ event }) => keyOfChange(event))
  return parts.replica.commit(ids, 'remote', (draft) => {
    if (draft.meta.cursor < since || draft.meta.isIncomplete || hasOther(parts.replica, draft.meta, types))
      return 'stale'
    for (const { event, stamp, previous = 0 } of messages) {
      const one = opened.get(event)
      // The event was received twice, or already pulled.
      if (stamp <= draft.meta.cursor) continue
      if (previous > draft.meta.cursor) return 'stale'
      const older = one && takeEvent(parts, draft, one, { base: draft.meta.cursor, cursor: stamp })
      if (older && !older.confirmed) return 'stale'
      if (older) reportRollback(draft, one, older)
      draft.setMeta({ cursor: stamp })
    }
    return 'taken'
  })
}

/** True if other types than these must be pulled now. */
export function hasOther(replica: Replica, meta: Readonly<Meta>, types: readonly EntityType[]): boolean {
  return !isEqual(pulledTypes(replica, meta), types)
}

/** A cursor above the `base` of all held deletes, which are listed by `base`. The store's may be lower after a loss. */
function afterHeld({ held, rows }: Replica): number {
  return [...held].reduce((after, id) => Math.max(after, (rows.get(id)?.held?.base ?? 0) + 1), 0)
}

/** Checks events and drops those of types that are not stored, except those that concern pending edits. */
function checked({ userId, replica }: Connected, events: readonly SyncEvent[]): SyncEvent[] {
  const foreign = events.find((event) => event.user_id !== userId)
  if (foreign) throw new SignedOutError(true)
  for (const { timestamp } of events) requireTimes(timestamp)
  const isWanted = (key: string) => isStored(key, replica.meta) || replica.waiting.has(key)
  return events.filter((event) => isWanted(keyOfChange(event)))
}

/**
 * Applies an event. If the known version is newer, returns that, or notes the event's in `older` if there is such a map.
 *
 * @param cursors before and after the event
 */
function takeEvent(
  parts: TakeParts,
  draft: Draft,
  { event, version, fault }: OpenedEvent,
  cursors: { base: number; cursor: number },
): Version | undefined {
  const row = draft.get(keyOfChange(event))
  const { older } = parts
  const isFirstPull = draft.meta.lastSync === 0
  const before = presentId(draft.meta, parts.deviceId)
  const isAfterRecovery = isRecovered(parts)
  // A store that lacks some of its own edits would take them for a copy's. After a recovery, the service sends older ones.
  const knowsRow = !older || (isAfterRecovery && newestOf(row))
  const knowsAll = !isFirstPull && knowsRow && !draft.meta.isIncomplete && !isUnknownYet(row, draft.meta)
  if (knowsAll && !fault && isMadeByCopy(row, version, before)) draft.setMeta(withNewId(draft.meta, before))
  const deviceId = presentId(draft.meta, before)
  const own = ownIds(draft.meta, deviceId)
  const overwrites = (mine: Version) =>
    overwrittenAs(event, mine) ?? (isAfterRecovery && { isCertain: namesEarlier(event, mine) })
  const descendsFrom = (mine: Version) => !isAfterRecovery && certainlyDescends(event, mine)
  const merged = mergeVersion(row, version, { deviceId, ownIds: own, ...cursors, overwrites, descendsFrom })
  if (merged.kind === 'older') {
    if (!older) return merged.than
    older.set(row.id, version)
    return undefined
  }
  older?.delete(row.id)
  if (merged.kind === 'known') return undefined
  if (fault) {
    const key = fault.fault === 'unknown-key' ? keyNamedBy(event) : undefined
    const known = row.unreadable?.event_id === event.id ? row.unreadable : undefined
    if (known && known.key === key) return undefined
    draft.set(mergeUnreadable(row, version, known?.base ?? cursors.base, key))
    draft.errors.push({ error: fault, ...nameOf(row.id) })
    return undefined
  }
  draft.set(merged.row)
  const { version: mine } = row
  const { edit } = merged
  const lost = [...((edit && !makeEdit(parts, draft, merged.row, edit) ? edit.orLost : merged.lost) ?? [])]
  if (isAfterRecovery) {
    // The service has also lost another device's edit that kept values set here. That device reports only fields that it set.
    const { bookmark } = viewOf(row)
    const { bookmark: theirs } = viewOf(draft.get(row.id))
    const reported = lost.flatMap(({ fields }) => fields)
    const isUnreported = (name: string) => row.ownFields?.includes(name) && !reported.includes(name)
    const fields = fieldsLost(bookmark, theirs).filter(isUnreported)
    if (fields.length > 0) lost.push({ fields, mine: bookmark })
    // Pending edits put back what an accepted edit of this store had set. Nobody knows whether that had seen the version.
    const isSetHere = (name: string) => mine?.changed?.includes(name) && !reported.includes(name)
    const undone = row.waiting.length > 0 ? fieldsLost(version.bookmark, theirs).filter(isSetHere) : []
    if (undone.length > 0) lost.push({ fields: undone, mine: version.bookmark, theirs })
  }
  // After a recovery, the service lists this device's version, too (`sendReplaced`).
  const isReported = (one: Version) => overwrittenAs(event, one) || (isAfterRecovery && lost.length > 0)
  if (mine && own.has(mine.device_id) && isReported(mine)) markReported(draft, [mine.event_id])
  for (const one of lost) {
    draft.addConflict(draft.get(row.id), { theirs: version.bookmark, ...one })
  }
  return undefined
}

/** True while everything is pulled because the service was recovered from a backup. */
function isRecovered({ older, isSameHistory }: TakeParts): boolean {
  return older !== undefined && !isSameHistory
}

/** Returns false if the merged bookmark is too large. */
function makeEdit(parts: Connected, draft: Draft, row: Row, { bookmark, basis }: MergedEdit): boolean {
  try {
    const edit = bookmark ? sealOne(parts.keys, bookmark, row.id) : { id: row.id, bookmark, sealed: null }
    applyEdit(draft, row, edit, parts, basis)
    return true
  } catch (error) {
    if (error instanceof RecordError) return false
    throw error
  }
}

function reportRollback(draft: Draft, { event, version }: OpenedEvent, known: Version): void {
  const error = new RollbackError(event.entity_id, known.timestamp, version.timestamp)
  draft.errors.push({ error, ...nameOf(keyOfChange(event)) })
}

/** The entry of `overwritten` that reports this version as replaced by a device that had not seen it. */
function overwrittenAs({ overwritten = [] }: SyncEvent, { device_id, timestamp }: Version): Unseen | undefined {
  return overwritten.find(
    ({ device_id: device, timestamp: time, made_on_unseen }) =>
      // It may name a later version by this device that this store has lost: if that was made on this one, both lose.
      device === device_id && (time === timestamp || (time > timestamp && made_on_unseen)),
  )
}

/**
 * True if the event replaced an earlier version by this version's device, without having seen it: the recovered service has
 * lost this version, which was made on that one.
 */
function namesEarlier(event: SyncEvent, { device_id, timestamp, overwritten: known = [] }: Version): boolean {
  const isNew = (time: number) => time < timestamp && !known.some((other) => other.timestamp === time)
  return (event.overwritten ?? []).some((one) => one.device_id === device_id && isNew(one.timestamp))
}

/**
 * True if the first, later version was certainly made on top of the second: otherwise its `overwritten`, each device's
 * last version that was replaced unseen, would have one as new as the second.
 */
export function certainlyDescends(
  { overwritten = [] }: Pick<Version, 'overwritten'>,
  { device_id, timestamp }: Version,
): boolean {
  return overwritten.every(
    (one) => one.timestamp < timestamp || (one.timestamp === timestamp && one.device_id < device_id),
  )
}

/** An event with its decrypted content, or with the reason why it cannot be decrypted. */
interface OpenedEvent {
  event: SyncEvent
  version: Version
  fault?: RecordError
}

/**
 * Decrypts events without blocking the page. Versions that are already known are not decrypted again.
 *
 * @throws RecordError `unknown-key`: the keys were rotated, and this device does not have the new ones
 */
async function openEvents(parts: Connected, events: readonly SyncEvent[]): Promise<OpenedEvent[]> {
  const { keys, replica, status, signal } = parts
  const { prefix } = keys
  const opened: Promise<OpenedEvent>[] = []
  const open = (event: SyncEvent) => {
    opened.push(openEvent(event))
    status.countChanges(1)
  }
  status.expectChanges(events.length)
  await paced(events, open, signal)
  const all = await Promise.all(opened)
  const unknownKey = all.find(({ fault }) => fault?.fault === 'unknown-key')
  if (!unknownKey) return all
  if (await lacksNewestKey(parts)) throw unknownKey.fault
  // Newer keys may have arrived since the failure.
  return keys.prefix === prefix ? all : openEvents(parts, events)

  async function openEvent(event: SyncEvent): Promise<OpenedEvent> {
    const version = { ...toVersion(event), ...keyMarkOf(keys, event) }
    // The content is passed on, because the user may drop the pending edit meanwhile.
    const known = knownAs(replica.rows.get(keyOfChange(event)), version)
    if (known) return { event, version: { ...version, bookmark: known.bookmark } }
    if (event.operation === 'delete') return { event, version }
    const { entity_id: id, encrypted_data = '', data_hash = '' } = event
    try {
      const bookmark = await decryptBookmarkAside(keys, { id, encrypted_data, data_hash }, event.entity_type)
      return { event, version: { ...version, bookmark } }
    } catch (fault) {
      if (!(fault instanceof RecordError)) throw fault
      return { event, version, fault }
    }
  }
}

function toVersion(event: SyncEvent): Version {
  const { id, timestamp, device_id, operation, data_hash = null, overwritten, recovered } = event
  const isDelete = operation === 'delete'
  return {
    event_id: id,
    timestamp,
    device_id,
    operation,
    data_hash: isDelete ? null : data_hash,
    bookmark: null,
    confirmed: true,
    ...(overwritten && { overwritten }),
    ...(recovered && { recovered }),
  }
}

/** The version if the row has it, or if its first pending edit is it: its content need not be decrypted again. */
function knownAs(row: Row | undefined, version: Version): Version | undefined {
  const [first] = row?.waiting ?? []
  const known = [row?.version, first && versionOf(first)]
  return known.find((one) => one && compareVersions(one, version) === 0) ?? undefined
}
