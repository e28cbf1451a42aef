import { compareVersions } from '../../../protocol/order.ts'
import { editOf } from '../../../protocol/re-encrypted.ts'
import { differingFields, withFieldsOf } from '../../bookmark/merge.ts'
import type { SealedRecord } from '../../crypto/record.ts'
import { OfflineError } from '../../errors.ts'
import { sealAll } from '../edits/edit.ts'
import type { Connected } from '../engine.ts'
import { fieldsLost } from '../store/conflicts.ts'
import type { Conflict } from '../store/emitter.ts'
import { idOf, keyOfChange, typeOf } from '../store/key.ts'
import { correctedNow } from '../store/service-clock.ts'
import type { Row, Version } from '../store/store.ts'
import { isRefusal, isTooLarge, isTooSlow, mostChanges } from './batch.ts'
import { requireNewest } from './key-marks.ts'
import { bytesOf, passageOf } from './passage.ts'
import type { Change, SyncEvent } from './transport.ts'

/** A version known here, and the service's version that replaces it. */
interface Replaced {
  key: string
  known: Version
  version: Version
}

/** How long the service keeps versions by default (`versionDays`), in ms. It would take those that it has erased for lost. */
const keptMs = 30 * 86_400_000

/**
 * After a recovery: sends the versions known here that the service's are about to replace. It keeps those that it has lost as
 * conflicts, because the device that replaced them may not have seen them, and their own device may never come back.
 * Repeating this changes nothing. Nothing is sent of deleted records, which may have been erased for good.
 *
 * @returns the conflicts to report here, by key: the service or a proxy refuses these versions
 */
export async function sendReplaced(
  parts: Connected,
  events: readonly { event: SyncEvent; version: Version }[],
): Promise<[key: string, conflict: Omit<Conflict, 'id'>][]> {
  const { replica, keys, clock } = parts
  const { meta, rows } = replica
  const { epoch = '' } = meta
  if (correctedNow(clock, meta) - meta.lastSync > keptMs) return []
  const replaced = events.flatMap(({ event, version }): Replaced[] => {
    const key = keyOfChange(event)
    if (event.operation === 'delete' || typeOf(key) === 'history') return []
    const known = versionsReplaced(rows.get(key), version)
    return known.filter((one) => isLost(one, version, event, epoch)).map((known) => ({ key, known, version }))
  })
  if (replaced.length === 0) return []
  const live = replaced.filter(({ known }) => known.bookmark)
  const edits = await sealAll(
    keys,
    live.map(({ key, known }) => [key, known.bookmark as NonNullable<Version['bookmark']>]),
  )
  const sealed = new Map(live.map(({ known }, index) => [known, edits[index]?.sealed]))
  requireNewest(replica.meta, keys)
  const changes = new Map(replaced.map((one) => [toChange(parts, one, sealed.get(one.known)), one]))
  const refused: Change[] = []
  for (const batch of batches([...changes.keys()], passageOf(parts).mostBytes)) {
    refused.push(...(await push(parts, batch)))
  }
  return refused.map((change) => {
    const { key, known, version } = changes.get(change) as Replaced
    const [mine, theirs] = [known.bookmark, version.bookmark]
    return [key, { fields: fieldsLost(mine, theirs), mine, theirs }]
  })
}

/** The row's version, and the one by another device on which this device's edits were made; none if it stays. */
function versionsReplaced(row: Row | undefined, version: Version): Version[] {
  const known = row?.version
  if (!known || (!known.bookmark && known.operation !== 'delete') || compareVersions(version, known) <= 0) return []
  const { editedOn, changed = [], before = {}, bookmark } = known
  if (!editedOn || !bookmark) return [known]
  return [known, { ...known, ...editedOn, bookmark: withFieldsOf(before, changed, bookmark) }]
}

/** True unless the service's version has the same content, or its device had certainly seen the known one. */
function isLost(known: Version, version: Version, { recovered, overwritten = [] }: SyncEvent, epoch: string): boolean {
  if (known.device_id === version.device_id) return false
  if (known.bookmark && version.bookmark && differingFields(known.bookmark, version.bookmark).length === 0) return false
  // In the history that this device knows, the known version was already replaced; perhaps unseen, though.
  const wasReplaced = recovered?.epoch === epoch && recovered.timestamp >= known.timestamp
  const isNamed = overwritten.some((one) => one.device_id === known.device_id && one.timestamp >= known.timestamp)
  return !wasReplaced || isNamed
}

function toChange({ userId }: Connected, { key, known }: Replaced, sealed: SealedRecord | undefined): Change {
  const { event_id, timestamp, device_id, operation, data_hash } = known
  // The keys were rotated since, or another client has serialized the bookmark. The service recognizes it by such an id.
  const id = !sealed || sealed.data_hash === data_hash ? event_id : `${editOf(event_id)}~000`
  const entity = { user_id: userId, entity_type: typeOf(key), entity_id: idOf(key) }
  return { id, ...entity, timestamp, device_id, operation, base: 0, ...sealed }
}

function batches(changes: readonly Change[], mostBytes: number): Change[][] {
  const all: Change[][] = []
  let bytes = Number.POSITIVE_INFINITY
  for (const change of changes) {
    bytes += bytesOf({ change })
    if (bytes > mostBytes || all.at(-1)?.length === mostChanges) {
      all.push([])
      bytes = bytesOf({ change })
    }
    all.at(-1)?.push(change)
  }
  return all
}

/** Returns the changes that the service refuses, or that do not pass a proxy even when sent alone. */
async function push(parts: Connected, changes: Change[]): Promise<Change[]> {
  const { transport, clock, signal } = parts
  const passage = passageOf(parts)
  const batch = changes.map((change) => ({ change }))
  const [first, another] = batch
  if (first && !another && passage.isHeldBack(first)) return changes
  try {
    await transport.push({ changes }, { signal })
    return []
  } catch (error) {
    if (error instanceof OfflineError || isTooSlow(error)) passage.narrow(batch, clock, isTooLarge(error))
    if (!isRefusal(error) && !isTooLarge(error)) throw error
    if (!another) return changes
    const half = Math.ceil(changes.length / 2)
    return [...(await push(parts, changes.slice(0, half))), ...(await push(parts, changes.slice(half)))]
  }
}
