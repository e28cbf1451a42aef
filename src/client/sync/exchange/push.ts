import { compareVersions, isFarAhead } from '../../../protocol/order.ts'
import { isEqual } from '../../bookmark/equal.ts'
import { compare } from '../../bookmark/tree.ts'
import type { PlaintextBookmark } from '../../bookmark.ts'
import { type ApiError, OfflineError } from '../../errors.ts'
import { uuidv7 } from '../../ids.ts'
import { leastWaitMs } from '../../timing/clock.ts'
import { removeBookmarks } from '../edits/edit.ts'
import { retryHeldBack } from '../edits/refused.ts'
import type { Connected } from '../engine.ts'
import { keyOfChange, rowKey } from '../store/key.ts'
import { latestTimestamp, versionOf, viewOf } from '../store/row.ts'
import type { Row, Waiting } from '../store/store.ts'
import {
  intercepted,
  isRefusal,
  isTooLarge,
  isTooSlow,
  keysOfBatch,
  markSent,
  mostChanges,
  nextBatch,
  overQuota,
  passesEmpty,
  Refusals,
  returnBatch,
  toRefusal,
} from './batch.ts'
import { correctClock, isClockTrusted, isTime, type TimeAnswer } from './correct-clock.ts'
import { keyMarkOf } from './key-marks.ts'
import { asOverwriting, settleFirst, wholeConflict } from './merge.ts'
import { passageOf } from './passage.ts'
import { pullAll } from './pull.ts'
import { markReported } from './reported.ts'
import type { Change, PushResponse } from './transport.ts'

/** Edits up to this (ms) after the last check of the clock need no other: an error of less than an hour does little harm. */
const uncheckedMs = 3_600_000

/**
 * Sends the pending changes in batches. A change stays in the queue until a response, or a pull, shows its outcome. So
 * after a lost response, it is sent again as the same event. A refused change stays here (`quarantined`) without holding up
 * others, until 100 in a row are refused: then nothing is sent until an edit, `start` or `syncNow`. After 10 blocked
 * changes in a row, the push ends with an error.
 */
export async function pushAll(parts: Connected): Promise<void> {
  const { outbox, clock } = parts
  if (outbox.isRefused) return
  const { triesAll } = outbox
  const passage = passageOf(parts)
  if (triesAll || passage.untilWide(clock) <= 0) {
    outbox.triesAll = false
    passage.widen(triesAll)
    await retryHeldBack(parts, triesAll ? ['quota', 'intercepted'] : ['intercepted'])
  }
  parts.status.expectChanges(parts.replica.waiting.size - parts.replica.quarantined.size)
  const refusals = new Refusals()
  try {
    for (;;) {
      await compareClocks(parts)
      const batch = nextBatch(parts)
      if (batch.length === 0 || !(await pushBatch(parts, batch, refusals))) return
    }
  } catch (error) {
    if (isRefusal(error)) outbox.isRefused = true
    throw error
  }
}

/**
 * Checks the clock with an empty push before sending edits that a fast clock may have stamped: once accepted, they
 * would win until the time has caught up. Not before the very first push, when there is nothing to win over.
 */
async function compareClocks(parts: Connected): Promise<void> {
  const { replica, transport, clock, signal } = parts
  const { meta, rows, waiting } = replica
  const isFirst = meta.cursor === 0 && !meta.isIncomplete && meta.clockCheckedAt === undefined
  if (isFirst || isClockTrusted(clock, meta)) return
  // The service's time at the last check. Cursors are unsuitable: after a recovery, they may be ahead of its clock.
  const past = (meta.clockCheckedAt ?? 0) + meta.clockOffset
  const isLate = (id: string) => rows.get(id)?.waiting.some(({ change }) => change.timestamp > past + uncheckedMs)
  if (![...waiting].some(isLate)) return
  const sentAt = clock.now()
  const { timestamp: serverTime } = await transport.push({ changes: [] }, { signal })
  const heardAt = clock.now()
  const isInTime = await replica.commit([], 'remote', (draft) => correctClock(draft, { serverTime, sentAt, heardAt }))
  if (!isInTime) await compareClocks(parts)
}

/** Returns false if there was nothing to send and nothing to refuse. */
async function pushBatch(parts: Connected, next: readonly Waiting[], refusals: Refusals): Promise<boolean> {
  const { replica, clock } = parts
  const passage = passageOf(parts)
  const { sendable, hopeless } = refusals.sort(replica, next)
  const overlarge = sendable.filter((one) => passage.isTooLarge(one))
  const decided =
    (await returnBatch(replica, hopeless, overQuota)) + (await returnBatch(replica, overlarge, intercepted(413)))
  if (decided > 0) parts.status.countChanges(decided)
  const batch = await markSent(
    parts,
    sendable.filter((one) => !overlarge.includes(one)),
  )
  // All changes were returned above, or were edited or undone meanwhile: the queue is examined again.
  if (batch.length === 0) return decided > 0 || sendable.length > 0
  const sentAt = clock.now()
  const answer = await send(parts, batch)
  const heardAt = clock.now()
  parts.signal.throwIfAborted()
  if (answer instanceof OfflineError || isTooSlow(answer)) {
    await narrow(parts, batch, answer, refusals)
  } else if (isRefusal(answer)) {
    await split(parts, batch, answer, refusals)
  } else {
    refusals.reset()
    passage.passed(batch)
    parts.status.countChanges(batch.length)
    const rejected = await settle(parts, batch, answer, { serverTime: answer.timestamp, sentAt, heardAt })
    if (rejected.length > 0) await resolveRejected(parts, rejected, answer.timestamp)
    else if (answer.epoch !== replica.meta.epoch) await pullAll(parts)
  }
  return true
}

/** Sends the changes. The service rejects edits made without another device's newer change, which must be merged first. */
async function send(parts: Connected, batch: readonly Waiting[]): Promise<PushResponse | ApiError | OfflineError> {
  const { transport, clock, signal } = parts
  const changes = batch.map(({ change }): Change => ({ ...change, if_unseen: 'reject' }))
  try {
    const answer = await transport.push({ changes }, { signal })
    const settled = new Set([...answer.accepted_ids, ...answer.conflicts.map((one) => one.event_id)])
    // A proxy returned a cached response to another push.
    if (changes.some(({ id }) => !settled.has(id))) throw new OfflineError(undefined, { status: 200 })
    return answer
  } catch (error) {
    if (isRefusal(error) || isTooSlow(error)) return error
    if (!(error instanceof OfflineError)) throw error
    const [first, another] = batch
    const passage = passageOf(parts)
    // If there was no response, the connection may be slow, and the service may have stored the batch.
    const isCut = error.status === undefined
    if (isCut) passage.narrow(batch, clock)
    const isSuspect = !isCut || (first && !another && passage.isHeldBack(first))
    if (isSuspect && (await passesEmpty(parts))) return error
    throw error
  }
}

/** Reacts to a push that failed for its content or size: the next one is smaller; a single change goes last, then waits. */
async function narrow(
  parts: Connected,
  batch: readonly Waiting[],
  error: OfflineError | ApiError,
  refusals: Refusals,
): Promise<void> {
  const { replica, clock, status, signal } = parts
  const passage = passageOf(parts)
  passage.narrow(batch, clock, isTooLarge(error))
  const [first] = batch
  if (batch.length === 1 && first && passage.isHeldBack(first)) {
    // The service may have stored the change, and only the response failed.
    await returnBatch(replica, [{ ...first, sent: true }], intercepted(error.status))
    status.countChanges(1)
    refusals.addIntercepted(error)
  }
  await clock.sleep(leastWaitMs, signal)
}

/** Sends the halves of a refused batch, and their halves, until the change that was refused is alone. */
async function split(parts: Connected, batch: readonly Waiting[], error: ApiError, refusals: Refusals): Promise<void> {
  const { replica } = parts
  const [first] = batch
  if (batch.length === 1 && first) {
    const refusal = toRefusal(error)
    const deletes = refusal.reason === 'quota' ? await deleteOldHistory(parts, first) : []
    if (deletes.length > 0) {
      await returnBatch(replica, batch)
      // The clock may have been set since the edits were made.
      await compareClocks(parts)
      await pushBatch(parts, deletes, refusals)
      return
    }
    await returnBatch(replica, batch, refusal, error)
    parts.status.countChanges(1)
    refusals.add(replica, first, error)
    return
  }
  await returnBatch(replica, batch)
  const half = Math.ceil(batch.length / 2)
  for (const part of [batch.slice(0, half), batch.slice(half)]) await pushBatch(parts, part, refusals)
}

/** The share of the history that is deleted at a time: large enough that this does not happen at each edit. */
const oldShare = 0.1
/** The fewest entries deleted at a time: fewer would hardly make room. */
const fewestOld = 10

/**
 * Makes room in a full account by deleting the oldest history. To make room for a history entry, deletes only older ones. Keeps
 * entries without a visit: removed pages, and the time of the last erase.
 */
async function deleteOldHistory(parts: Connected, { change, bookmark }: Waiting): Promise<Waiting[]> {
  const { replica } = parts
  const before = (change.entity_type === 'history' && lastVisit(bookmark)) || undefined
  const isOlder = (entry: PlaintextBookmark) => {
    const isKept = lastVisit(entry) === '' || replica.waiting.has(rowKey(entry.id, 'history'))
    return !isKept && (before === undefined || lastVisit(entry) < before)
  }
  const entries = [...replica.lives.history.values()].filter(isOlder)
  entries.sort((one, other) => compare(lastVisit(one), lastVisit(other)))
  const count = Math.max(fewestOld, Math.ceil(entries.length * oldShare))
  const keys = entries.slice(0, Math.min(count, mostChanges)).map(({ id }) => rowKey(id, 'history'))
  await removeBookmarks(parts, false, keys)
  return keys.flatMap((key) => replica.rows.get(key)?.waiting.at(-1) ?? [])
}

function lastVisit(entry: PlaintextBookmark | null): string {
  return entry?.dateVisited ?? entry?.dateAdded ?? ''
}

/** Stores the outcome of a push. Returns the changes that were not accepted. */
async function settle(
  { replica, keys }: Connected,
  batch: readonly Waiting[],
  answer: PushResponse,
  time: TimeAnswer,
): Promise<Waiting[]> {
  const accepted = new Set(answer.accepted_ids)
  await replica.commit(keysOfBatch(batch), 'remote', (draft) => {
    correctClock(draft, time)
    let cursor = draft.meta.cursor === answer.previous_sync_timestamp && answer.last_sync_timestamp
    for (const { change } of batch) {
      const row = draft.get(keyOfChange(change))
      const [first] = row.waiting
      if (accepted.has(change.id) && first?.change.id === change.id)
        draft.set(settleFirst(row, { ...versionOf(first), isUnlisted: first.overwrites, ...keyMarkOf(keys, change) }))
      else cursor = false
    }
    // If the service has stored nothing but this push since the store's cursor, its new cursor needs no pull.
    if (cursor && isTime(cursor)) draft.setMeta({ cursor })
  })
  return batch.filter(({ change }) => !accepted.has(change.id))
}

/**
 * Pulls the winning versions, merges the changes with them, and reports what loses. If that leaves a change as it is, it
 * was rejected for another reason: its time was too far ahead, and it gets the service's; or what it would overwrite cannot
 * be decrypted, and it overwrites that. If it is rejected again, it becomes a conflict.
 */
async function resolveRejected(parts: Connected, rejected: readonly Waiting[], serverTime: number): Promise<void> {
  const { replica } = parts
  await pullAll(parts)
  const unexplained = rejected.filter((one) => isAsBefore(replica.rows.get(keyOfChange(one.change)), one))
  const lost = rejected.filter(
    (one) => !unexplained.includes(one) && hasLost(replica.rows.get(keyOfChange(one.change)), one),
  )
  await replica.commit([], 'remote', (draft) =>
    markReported(
      draft,
      lost.map(({ change }) => change.id),
    ),
  )
  if (unexplained.length === 0) return
  await replica.commit(keysOfBatch(unexplained), 'remote', (draft) => {
    for (const one of unexplained) {
      const row = draft.get(keyOfChange(one.change))
      if (!isAsBefore(row, one)) continue
      const dropped = { ...row, waiting: row.waiting.slice(1) }
      const isMerged = one.change.merged_up_to === draft.meta.cursor
      const next = restamp(row, one, serverTime) ?? (isMerged ? dropped : asOverwriting(row))
      draft.set(next)
      if (next.waiting.length > 0) continue
      draft.addConflict(next, wholeConflict(row, viewOf(next)))
      markReported(draft, [one.change.id])
    }
  })
}

/** True if the change lost. Otherwise the service only wants it merged first, and has not kept it as a losing version. */
function hasLost(row: Row | undefined, rejected: Waiting): boolean {
  const winner = row?.held ?? row?.version
  return winner ? compareVersions(versionOf(rejected), winner) < 0 : false
}

function isAsBefore(row: Row | undefined, rejected: Waiting): boolean {
  return isEqual(row?.waiting[0], { ...rejected, sent: true })
}

/**
 * If the change was rejected because its time was too far ahead: the row with the edit at the service's time, as a new
 * event, because the service stored nothing of it. Otherwise undefined.
 */
function restamp(row: Row, { change }: Waiting, serverTime: number): Row | undefined {
  const last = row.waiting.at(-1)
  if (!last || !isFarAhead(change.timestamp, serverTime)) return undefined
  const timestamp = Math.max(serverTime, latestTimestamp(row, []) + 1)
  // The version that was edited is too far ahead, too, so the service would accept no newer one.
  if (isFarAhead(timestamp, serverTime)) return undefined
  return { ...row, waiting: [{ ...last, change: { ...last.change, id: uuidv7(), timestamp }, sent: false }] }
}
