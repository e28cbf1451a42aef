import { ApiError } from '../../errors.ts'
import { uuidv7 } from '../../ids.ts'
import { settleDeletions } from '../edits/deletions.ts'
import { type SealedEdit, sealAll } from '../edits/edit.ts'
import type { Connected } from '../engine.ts'
import { idOf, keyOfChange, typeOf } from '../store/key.ts'
import { isStored, pulledTypes } from '../store/replica.ts'
import { newestOf } from '../store/row.ts'
import { correctedNow } from '../store/service-clock.ts'
import type { Row, Version, Waiting } from '../store/store.ts'
import { asReplacement } from './batch.ts'
import { requireTimes } from './correct-clock.ts'
import { keysOf } from './key-marks.ts'
import { mergeUnreadable, unreadableAfter } from './merge.ts'
import { certainlyDescends, type TakeParts, takePage } from './take.ts'
import type { PullResponse } from './transport.ts'

/** Pulls everything new; after the service was recovered from a backup, everything. */
export async function pullAll(parts: Connected): Promise<void> {
  const isWhole = await pullNew(parts)
  if (!isWhole) await pullAgain(parts)
  await pullAdded(parts)
  await pullUnread(parts)
  await settleDeletions(parts)
}

/**
 * Pulls page by page, and stores each with its cursor.
 *
 * @returns false if the service was recovered from a backup
 */
async function pullNew(parts: Connected): Promise<boolean> {
  const { transport, replica, clock, signal } = parts
  let types = pulledTypes(replica, replica.meta)
  const request = (since: number) => transport.pull({ since, entity_types: [...types] }, { signal })
  let since = replica.meta.cursor
  let nextPage = request(since)
  for (;;) {
    const page = await nextPage
    signal.throwIfAborted()
    const { last_sync_timestamp: cursor, epoch } = page
    if (epoch !== (replica.meta.epoch ?? epoch) || cursor < since) return false
    requireProgress(page, since)
    const end = { lastSync: correctedNow(clock, replica.meta), isIncomplete: false }
    if (page.has_more) nextPage = prefetched(request(cursor))
    const meta = { cursor, epoch, ...(!page.has_more && end) }
    const outcome = await takePage({ ...parts, types }, page.changes, since, meta)
    if (outcome === 'taken' && !page.has_more) return true
    since = outcome === 'taken' ? cursor : replica.meta.cursor
    if (outcome === 'taken') continue
    types = pulledTypes(replica, replica.meta)
    nextPage = request(since)
  }
}

/** A page requested while the one before it is decrypted and stored. If nobody awaits it, its failure is ignored. */
function prefetched<T>(page: Promise<T>): Promise<T> {
  page.catch(() => {})
  return page
}

/** Pulls the changes of added entity types, which the cursor has already passed. */
async function pullAdded(parts: Connected): Promise<void> {
  const { replica } = parts
  const { added, epoch } = replica.meta
  if (!added) return
  let from = added.since
  for await (const page of pagesSince(parts, from, added.types)) {
    // After a recovery, the next pull gets everything.
    if (page.epoch !== epoch) return
    const { last_sync_timestamp: since, has_more } = page
    const { cursor } = replica.meta
    const rest = has_more ? { ...added, since } : undefined
    const events = page.changes.filter(({ entity_type }) => added.types.includes(entity_type))
    if ((await takePage({ ...parts, from }, events, cursor, { cursor, added: rest })) === 'stale') return
    from = since
  }
}

/** Pulls versions again that could not be decrypted, if their key has arrived. */
async function pullUnread(parts: Connected): Promise<void> {
  const { replica, keys } = parts
  const isOpenable = ({ unreadable }: Row) => keysOf(keys, unreadable?.key) !== undefined
  const rows = [...replica.unreadable].flatMap((id) => replica.rows.get(id) ?? []).filter(isOpenable)
  if (rows.length === 0) return
  const { cursor, epoch } = replica.meta
  const from = Math.min(...rows.map(({ unreadable }) => unreadable?.base ?? cursor))
  for await (const page of pagesSince(parts, from)) {
    // After a recovery, the next pull gets everything.
    if (page.epoch !== epoch) return
    if ((await takePage(parts, page.changes, cursor, { cursor })) === 'stale') return
  }
  const ids = rows.map(({ id }) => id)
  await replica.commit(ids, 'remote', (draft) => {
    // The service no longer has these versions, so they cannot be requested.
    for (const row of ids.map((id) => draft.get(id)).filter(isOpenable)) draft.set({ ...row, unreadable: null })
  })
}

/**
 * Pulls everything, after the service was recovered from a backup, or to repair the store. Versions that the service has
 * lost become pending changes, if possible with the same event ids, so that devices recognize them. Returns which records
 * the service has, and the previous rows of those that are sent again.
 */
async function pullAgain(
  parts: TakeParts,
): Promise<{ found: Pick<Found, 'ids' | 'unseen'>; pushed: Row[]; isRecovered: boolean }> {
  const { replica, keys, clock, signal } = parts
  const { cursor: before, epoch: known } = replica.meta
  const found = await pullFromStart(parts, before)
  const { older, cursor, epoch } = found
  // This device knew all of the service's changes up to here. Later ones are from devices that may not know this one's.
  const base = Math.min(before, cursor)
  const isMissing = (id: string) => isStored(id, replica.meta) && (!found.ids.has(id) || older.has(id))
  const isLost = ({ id, version }: Row) => version !== null && isMissing(id)
  const lost = [...replica.rows.values()].filter(isLost)
  const contents = lost.flatMap(({ id, version, waiting }) =>
    waiting.length === 0 && version?.bookmark ? [[id, version.bookmark] as const] : [],
  )
  const sealed = new Map((await sealAll(keys, contents)).map((edit) => [edit.id, edit]))
  signal.throwIfAborted()
  const ids = [...new Set([...lost.map(({ id }) => id), ...replica.waiting])]
  const pushed = await replica.commit(ids, 'remote', (draft) => {
    const again: Row[] = []
    for (const row of ids.map((id) => draft.get(id))) {
      if (!isLost(row)) {
        draft.set(onTopOfAll(row, base, cursor))
      } else if (row.waiting.length > 0) {
        draft.set(withEdits(row, found, base))
      } else if (sealed.has(row.id) || !row.version?.bookmark) {
        draft.set(withLostVersion(parts, row, sealed.get(row.id), found, base))
        again.push(row)
      }
    }
    draft.setMeta({ cursor, epoch, isIncomplete: false, added: undefined, lastSync: correctedNow(clock, draft.meta) })
    return again
  })
  const isRecovered = !parts.isSameHistory || epoch !== known
  const kept = pushed.filter(({ id, version }) => version?.bookmark && !older.has(id)).length
  if (isRecovered && pushed.length > 0) parts.emitter.emit('restored', { kept, pushed: pushed.length })
  return { found, pushed, isRecovered }
}

/** The result of pulling everything again. */
interface Found {
  /** The keys of all records of the service, deleted ones too, if their types are stored here. */
  ids: ReadonlySet<string>
  /** The service's versions that are older than this device's, by key. */
  older: ReadonlyMap<string, Version>
  /** Keys of records that changed on the service since the last change that this device had seen. */
  unseen: ReadonlySet<string>
  cursor: number
  epoch: string
  /** The epoch in which the service had what it has lost; undefined if that is unknown, or this one. */
  lostEpoch: string | undefined
}

/** Attempts to pull everything. One fails if the epoch changes meanwhile, and a faulty service might change it each time. */
const mostAttempts = 5

async function pullFromStart(parts: TakeParts, before: number): Promise<Found> {
  for (let attempt = 0; attempt < mostAttempts; attempt++) {
    const found = await pullOneEpoch(parts, before)
    if (found) return found
    // The service was recovered during this pull.
    parts = { ...parts, isSameHistory: false }
  }
  throw new ApiError(200, "The service's epoch does not last")
}

/** Undefined if the service was recovered meanwhile. */
async function pullOneEpoch(parts: TakeParts, before: number): Promise<Found | undefined> {
  const ids = new Set<string>()
  const older = new Map<string, Version>()
  const unseen = new Set<string>()
  const epoch = (parts.isSameHistory && parts.replica.meta.epoch) || ''
  const found: Found = { ids, older, unseen, cursor: 0, epoch, lostEpoch: undefined }
  // The old cursor and epoch stay until everything is here, so that the recovery is noticed again after an interruption.
  const take = ({ changes }: PullResponse) =>
    takePage({ ...parts, older }, changes, 0, { cursor: parts.replica.meta.cursor })
  for await (const page of pagesSince(parts, 0)) {
    if (page.epoch !== (found.epoch || page.epoch)) return undefined
    await take(page)
    for (const id of idsOf(parts, page)) ids.add(id)
    found.cursor = page.last_sync_timestamp
    found.epoch = page.epoch
  }
  const { epoch: known } = parts.replica.meta
  if (known !== found.epoch) found.lostEpoch = known
  if (before >= found.cursor) return found
  for await (const page of pagesSince(parts, before)) {
    if (page.epoch !== found.epoch) return undefined
    for (const id of idsOf(parts, page)) unseen.add(id)
  }
  return found
}

async function* pagesSince(
  { transport, replica, signal }: Connected,
  from: number,
  types = pulledTypes(replica, replica.meta),
): AsyncGenerator<PullResponse> {
  for (let since = from, hasMore = true; hasMore; ) {
    const page = await transport.pull({ since, entity_types: [...types] }, { signal })
    signal.throwIfAborted()
    requireProgress(page, since)
    yield page
    since = page.last_sync_timestamp
    hasMore = page.has_more
  }
}

/** Throws if the cursor is impossible or stands still: the pull from a faulty service would never end. */
function requireProgress({ has_more, last_sync_timestamp: cursor }: PullResponse, since: number): void {
  requireTimes(cursor)
  if (has_more && cursor <= since) throw new ApiError(200, "The service's cursor stands still")
}

/** The keys of the page's records, if their types are stored here. */
function idsOf({ replica }: Connected, { changes }: PullResponse): string[] {
  return changes.map(keyOfChange).filter((key) => isStored(key, replica.meta))
}

/** For a row whose version the service has: its pending edits, except those that overwrite, count as made after the pull. */
function onTopOfAll(row: Row, base: number, cursor: number): Row {
  const seen = ({ overwrites, change }: Waiting) => (overwrites ? Math.min(change.base, base) : cursor)
  return { ...row, waiting: row.waiting.map((one) => ({ ...one, change: { ...one.change, base: seen(one) } })) }
}

/** For a row with pending edits whose version the service has lost: keeps its timestamp, as other devices may know that version. */
function withEdits(row: Row, found: Found, base: number): Row {
  const { again, state } = sentAgain(row, found, base)
  const version = row.version as Version
  const isMadeUnseen = state.overwrites || version.overwritten
  const edits = row.waiting.map(({ change, ...edit }) => {
    return { ...edit, ...state, change: { ...change, ...again, base: Math.min(change.base, again.base) } }
  })
  const waiting = edits.map((one) => (isMadeUnseen && !one.sent ? asReplacement(version, one) : one))
  const lost = mergeUnreadable(row, version, again.base).unreadable
  return { ...asOnService(row, found), waiting, unreadable: unreadableAfter(row, version) ?? lost, editedLost: version }
}

/** For a row without pending edits whose version the service has lost: the version becomes a pending change. */
function withLostVersion(parts: Connected, row: Row, edit: SealedEdit | undefined, found: Found, base: number): Row {
  const { again, state } = sentAgain(row, found, base)
  const waiting = toWaiting(parts, row.id, row.version as Version, edit, again)
  return { ...asOnService(row, found), waiting: [{ ...waiting, ...state }] }
}

/**
 * The fields with which a lost version, or an edit on it, is sent again. `base` is the cursor up to which the device that
 * made the version had seen the service's changes, judging by the version that the service has instead. Devices whose
 * versions it had not seen must be informed (`overwrites`), also a copy of this store (`made_on`).
 */
function sentAgain({ id, version }: Row, { older, unseen, lostEpoch }: Found, cursor: number) {
  const { base: made = cursor, overwritten, isUnlisted, timestamp } = version as Version
  const instead = older.get(id)
  const isMadeOnIt = !instead || unseen.has(id) || certainlyDescends(version as Version, instead)
  const base = isMadeOnIt ? Math.min(cursor, made) : 0
  const recovered = lostEpoch && !isUnlisted && { recovered: { epoch: lostEpoch, timestamp } }
  const again = { base, ...(unseen.has(id) && { made_on: null }), ...(overwritten && { overwritten }), ...recovered }
  return { again, state: base < cursor || unseen.has(id) ? { overwrites: true } : {} }
}

/** The row as the service has it. A held delete is dropped: if the service has lost it, the device that made it sends it again. */
function asOnService(row: Row, { older }: Found): Row {
  const version = older.get(row.id)
  return {
    ...row,
    version: version?.bookmark || version?.operation === 'delete' ? version : null,
    held: null,
    unreadable: null,
  }
}

/** A pending change that sends a lost version again. It counts as sent already, because other devices may know it. */
function toWaiting(
  { userId, deviceId }: Connected,
  id: string,
  { event_id, timestamp, device_id, operation, data_hash, bookmark }: Version,
  edit: SealedEdit | undefined,
  again: Pick<Waiting['change'], 'base' | 'made_on' | 'overwritten' | 'recovered'>,
): Waiting {
  const change = {
    id: event_id,
    user_id: userId,
    entity_type: typeOf(id),
    entity_id: idOf(id),
    timestamp,
    device_id,
    operation,
    ...again,
  }
  if (!edit) return { change, bookmark: null, sent: true }
  // Another client may have serialized the bookmark differently: then the hash differs, and it cannot be the same event.
  const own = edit.sealed.data_hash === data_hash ? {} : { id: uuidv7(), timestamp: timestamp + 1, device_id: deviceId }
  return { change: { ...change, ...edit.sealed, ...own }, bookmark, sent: true }
}

/** Repairs the store: pulls everything, reports what was lost or wrong, and queues what the service lacks. */
export async function mend(parts: Connected): Promise<void> {
  const { replica, emitter } = parts
  const before = new Map(replica.rows)
  const { found, pushed, isRecovered } = await pullAgain({ ...parts, isSameHistory: true })
  const sent = new Set(pushed.map(({ id }) => id))
  const mended = {
    missing: [] as string[],
    outdated: [] as string[],
    deleted: [] as string[],
    sent: [...sent].map(idOf),
  }
  for (const id of found.ids) {
    const [was, is] = [hashOf(before.get(id)), hashOf(replica.rows.get(id))]
    // A change that another device has pushed meanwhile is not a fault of the store.
    if (was === is || found.unseen.has(id) || sent.has(id)) continue
    mended[was === undefined ? 'missing' : is === undefined ? 'deleted' : 'outdated'].push(idOf(id))
  }
  await settleDeletions(parts)
  if (!isRecovered && Object.values(mended).flat().length > 0) emitter.emit('mended', mended)
}

/** The hash of the row's newest version; undefined if that is a delete, or if there is none. */
function hashOf(row: Row | undefined): string | undefined {
  const version = row && newestOf(row)
  return version?.bookmark ? (version.data_hash ?? undefined) : undefined
}
