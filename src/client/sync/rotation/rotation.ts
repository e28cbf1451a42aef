import { editOf } from '../../../protocol/re-encrypted.ts'
import { bytesToBase64 } from '../../crypto/base64.ts'
import type { Keys } from '../../crypto/keys.ts'
import { sealedLength } from '../../crypto/many-records.ts'
import type { SealedRecord } from '../../crypto/record.ts'
import { type ApiError, OfflineError } from '../../errors.ts'
import { uuidv7 } from '../../ids.ts'
import { leastWaitMs } from '../../timing/clock.ts'
import { sealList } from '../edits/seal-list.ts'
import type { Connected } from '../engine.ts'
import { isTooLarge, isTooSlow, passesEmpty } from '../exchange/batch.ts'
import { exchange } from '../exchange/exchange.ts'
import { keyMarkOf, takeKeys } from '../exchange/key-marks.ts'
import { overheadBytes, passageOf } from '../exchange/passage.ts'
import { pullAll } from '../exchange/pull.ts'
import type { Change } from '../exchange/transport.ts'
import { entityTypes, idOf, keyOfChange, typeOf } from '../store/key.ts'
import type { Row, Version } from '../store/store.ts'

type OnProgress = ((done: number, total: number) => void) | undefined

const mostRows = 500
/** The longest id that the service accepts. */
const longestId = 128

/**
 * Switches to these keys: from then on, this device encrypts under them alone, and tabs without them send nothing any more.
 *
 * @throws RecordError `unknown-key`: they were replaced, and nothing was changed
 */
export async function adoptKeys(parts: Connected, opened: Keys, onProgress?: OnProgress): Promise<void> {
  await takeKeys(parts.replica, opened, parts.keys)
  try {
    await exchange(parts)
    await reencrypt(parts, onProgress)
  } finally {
    // Otherwise a tab that is not the leader, and so has no later exchange, would go on showing this progress.
    parts.status.endExchange()
  }
}

/**
 * Encrypts the records that `isStale` finds under the newest key, and sends them. If this is interrupted, any device can
 * continue, because each record names its key.
 *
 * @throws ApiError the service refuses a batch, for example for the quota; what was sent before is done
 */
export async function reencrypt(parts: Connected, onProgress?: OnProgress): Promise<void> {
  const { keys, tabs, replica, signal } = parts
  if (!keys.older) return
  /** Event ids of versions that could not be re-encrypted or sent: this call does not try them again. */
  const skipped = new Set<string>()
  const listStale = () => {
    // Read each time, because newer keys may have arrived since the last batch.
    const newest = bytesToBase64(keys.prefix)
    return [...replica.rows.values()].filter((row) => isStale(row, newest, skipped))
  }
  const total = listStale().length
  for (let left = total; left > 0; left = listStale().length) {
    onProgress?.(Math.max(0, total - left), total)
    await tabs.exclusively('exchange', () => encryptBatch(parts, listStale(), skipped), signal)
  }
  onProgress?.(total, total)
}

/** True if the row needs re-encryption. Deletes have no ciphertext; pending edits, unless refused, replace the version. */
function isStale({ version, held, unreadable, waiting }: Row, newest: string, skipped: ReadonlySet<string>): boolean {
  if (!version?.bookmark || held || unreadable || skipped.has(version.event_id)) return false
  return version.key !== newest && waiting.every(({ refusal }) => refusal)
}

async function encryptBatch(parts: Connected, stale: readonly Row[], skipped: Set<string>): Promise<void> {
  const { replica, keys, clock, signal } = parts
  const passage = passageOf(parts)
  // Another tab may have newer keys by now.
  await takeKeys(replica, keys)
  const rows = firstOf(stale, passage.mostBytes)
  const { prefix } = keys
  const changes = await encryptRows(parts, rows)
  // The keys were replaced meanwhile: nothing may be sent under them any more.
  if (keys.prefix !== prefix) return
  const failure = changes.length > 0 ? await push(parts, changes).catch(unlessRefused) : undefined
  if (failure) {
    const batch = changes.map((change) => ({ change }))
    const passes = isTooSlow(failure) || (failure.status !== undefined && (await passesEmpty(parts)))
    if (passes || batch.length > 1) passage.narrow(batch, clock, isTooLarge(failure))
    if (!passes) throw failure
    await clock.sleep(leastWaitMs, signal)
    // A change that fails even when sent alone is skipped.
    if (changes.length > 1) return
  }
  for (const { id, version } of rows) {
    if (version && replica.rows.get(id)?.version?.event_id === version.event_id) skipped.add(version.event_id)
  }
}

/** Returns the error if a smaller request may pass: the connection may be slow, or a proxy may refuse large ones. */
function unlessRefused(error: unknown): ApiError | OfflineError {
  if (error instanceof OfflineError || isTooSlow(error)) return error
  throw error
}

function firstOf(stale: readonly Row[], mostBytes: number): Row[] {
  let bytes = 0
  const fits = ({ version }: Row, index: number) => {
    bytes += overheadBytes + (version?.bookmark ? sealedLength(version.bookmark) : 0)
    return index === 0 || bytes <= mostBytes
  }
  return stale.slice(0, mostRows).filter(fits)
}

type Reencrypted = Change & { base: number }

/**
 * Re-encrypts versions under the newest key, except those that cannot be encrypted. Timestamp and device stay, and the
 * event id becomes greater (if it can). So an edit made meanwhile wins by its later timestamp, the version's device still
 * recognizes the version in the service's `overwritten`, and devices that re-encrypt at the same time send the same event.
 */
async function encryptRows(parts: Connected, rows: readonly Row[]): Promise<Reencrypted[]> {
  const { keys, userId, replica } = parts
  const sealed = new Map<string, SealedRecord>()
  for (const type of entityTypes) {
    const bookmarks = rows.flatMap(({ id, version }) => (typeOf(id) === type && version?.bookmark) || [])
    for (const edit of await sealList(keys, bookmarks, parts.signal, undefined, type)) {
      if ('sealed' in edit) sealed.set(edit.id, edit.sealed)
    }
  }
  return rows.flatMap(({ id, version }) => {
    const content = sealed.get(id)
    if (!version || !content) return []
    const { deviceId: device_id } = parts
    const edit = sameEditReencrypted(keys, version) ?? { id: uuidv7(), timestamp: version.timestamp + 1, device_id }
    const entity = { user_id: userId, entity_type: typeOf(id), entity_id: idOf(id) }
    // A create stays a create, because its device had seen no other version (see the contract's `made_on_unseen`).
    return { ...edit, ...content, ...entity, operation: version.operation, base: replica.meta.cursor }
  })
}

/** The same edit as an event with a greater id; undefined if that id would be too long or not greater. */
function sameEditReencrypted(
  keys: Keys,
  { event_id, timestamp, device_id }: Version,
): Pick<Change, 'id' | 'timestamp' | 'device_id'> | undefined {
  let rotations = 0
  for (let { older } = keys; older; { older } = older) rotations++
  const id = `${editOf(event_id)}~${String(rotations).padStart(3, '0')}`
  return id > event_id && id.length <= longestId ? { id, timestamp, device_id } : undefined
}

async function push(parts: Connected, changes: Reencrypted[]): Promise<void> {
  const { transport, replica, keys, signal } = parts
  const { accepted_ids, epoch } = await transport.push({ changes }, { signal })
  const accepted = new Set(accepted_ids)
  await replica.commit(changes.map(keyOfChange), 'remote', (draft) => {
    for (const change of changes) {
      const row = draft.get(keyOfChange(change))
      if (!row.version || !accepted.has(change.id)) continue
      const { id: event_id, operation, timestamp, device_id, data_hash = null, base } = change
      const sent = { event_id, operation, timestamp, device_id, data_hash, base, confirmed: false }
      draft.set({ ...row, version: { ...row.version, ...sent, ...keyMarkOf(keys, change) } })
    }
  })
  // A bookmark that was not accepted has been edited meanwhile.
  if (accepted.size < changes.length || epoch !== replica.meta.epoch) await pullAll(parts)
}
