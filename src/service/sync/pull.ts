import { setImmediate as eventLoopTurn } from 'node:timers/promises'
import { requireLogin } from '../auth/sessions.ts'
import type { Schemas } from '../contract/schemas.ts'
import type { Database, Db } from '../db/engine/database.ts'
import { faultOf } from '../db/engine/probe.ts'
import { type Answer, onceAnswered } from '../db/engine/query.ts'
import { findAhead, listChangePage, partLimits } from '../db/tables/changes.ts'
import { bytesOf } from '../db/tables/ciphertexts.ts'
import {
  type LastSequence,
  type Progress,
  readLastSequence,
  readProgress,
  saveSync,
  updateSync,
} from '../db/tables/devices.ts'
import { typeList } from '../db/tables/records.ts'
import { lockUser } from '../db/tables/users.ts'
import { type Caller, unknownDevice } from './change.ts'
import { toSyncEvent } from './event.ts'
import { continueFrom } from './numbers.ts'

const maxBytes = 2 * 1024 * 1024
/** Bytes of the first part. A longer response needs a slot (http/responses.ts); if it must wait, it is read again. */
const firstBytes = 64 * 1024
const cursorAgeMs = 60_000
/** Changes per query that searches for some types, so that it takes only a few milliseconds. */
const skippedAtOnce = 2000
/** The most changes that a request skips because of their type, as the contract says. On SQLite, that takes 9 ms. */
const mostSkipped = 25_000

type PullResponse = Schemas['PullResponse']

export interface PullParts {
  database: Pick<Database, 'db' | 'write' | 'isUnavailable'>
  clock: () => number
  metrics: { countPull(changes: number): void }
}

/**
 * The changes after `since` in order, at most `limit` and about 2 MiB, in parts. Each part is a valid response up to
 * its point, and the last one is returned. Then `finish` stores the device's cursor. If there are no changes, as in
 * most pulls, the response is not split.
 */
export function pull(parts: PullParts, caller: Caller, wanted: Wanted): Answer<Pulled> {
  const { db } = parts.database
  const { userId, deviceId } = caller
  // Changes after this moment are left to the next pull: a second change of an entity would send the entity twice.
  if (deviceId === unknownDevice)
    return onceAnswered(readLastSequence(db, { userId }), (end) => pullUpTo(parts, caller, wanted, end))
  return onceAnswered(readProgress(db, { userId, deviceId }), (progress) =>
    pullUpTo(parts, caller, wanted, progress, progress),
  )
}

type Wanted = Required<Pick<Schemas['PullRequest'], 'since' | 'limit'>> & Pick<Schemas['PullRequest'], 'entity_types'>

type Pulled = ({ body: PullResponse } | { parts: AsyncGenerator<PullResponse, PullResponse> }) & {
  finish(): Answer<void>
}

function pullUpTo(
  parts: PullParts,
  caller: Caller,
  { since, limit, entity_types }: Wanted,
  end: LastSequence,
  progress?: Progress,
): Pulled {
  const from = continueFrom(since, end.last_sequence)
  const range = { ...end, cursor: from, left: limit, types: entity_types && typeList(entity_types) }
  const finish = () =>
    onceAnswered(progress && keepCursor(parts, caller, progress, range.cursor), () =>
      parts.metrics.countPull(limit - range.left),
    )
  if (from < end.last_sequence) return { parts: readParts(parts.database.db, caller.userId, range), finish }
  return { body: { changes: [], last_sync_timestamp: from, has_more: false, epoch: end.epoch }, finish }
}

interface Range extends LastSequence {
  /** The sequence number up to which changes have been read. */
  cursor: number
  /** How many changes may still be sent. */
  left: number
  /** A `typeList`; undefined for all types. */
  types: string | undefined
}

/** Advances `range` as it reads. */
async function* readParts(db: Db, userId: string, range: Range): AsyncGenerator<PullResponse, PullResponse> {
  const { last_sequence, epoch, left: limit, types } = range
  let [bytesLeft, skipsLeft] = [maxBytes, mostSkipped / skippedAtOnce]
  for (;;) {
    const { cursor, left } = range
    const bytes = left === limit ? firstBytes : partLimits.bytes
    const limits = { rows: Math.min(left + 1, partLimits.rows), bytes: Math.min(bytesLeft, bytes) }
    const isBehind = cursor < last_sequence
    // There is no index by type, so other types are skipped in short queries.
    const ahead = types === undefined ? undefined : { userId, since: cursor, last: last_sequence, rows: skippedAtOnce }
    const upTo = (ahead && isBehind && (await findAhead(db, ahead))?.sequence) || last_sequence
    const rows = isBehind ? await listChangePage(db, userId, cursor, limits, upTo, types) : []
    const bytesRead = bytesOf(rows)
    const sent = rows.slice(0, left)
    const isFull = rows.length === limits.rows || bytesRead >= limits.bytes
    const isSkipped = types !== undefined && !isFull
    range.cursor = isSkipped ? upTo : (sent.at(-1)?.sequence ?? cursor)
    range.left -= sent.length
    bytesLeft -= bytesRead
    skipsLeft -= 1
    const isBeforeEnd = isSkipped && upTo < last_sequence
    const has_more = rows.length > sent.length || bytesLeft <= 0 || (isBeforeEnd && skipsLeft <= 0)
    const isPart = !has_more && (isFull || isBeforeEnd)
    if (isPart && sent.length === 0) {
      await eventLoopTurn()
      continue
    }
    if (!isPart && !has_more && range.left === limit) range.cursor = last_sequence
    const part = {
      changes: sent.map(toSyncEvent),
      last_sync_timestamp: range.cursor,
      has_more: isPart || has_more,
      epoch,
    }
    if (!isPart) return part
    yield part
  }
}

/**
 * Stores the device's cursor if it has moved or `last_sync` is old: most pulls should not write. A full disk is not a
 * reason to refuse a read: the old cursor only means that the device counts as having seen less.
 */
function keepCursor(
  { database, clock }: PullParts,
  { userId, loginId, deviceId }: Caller,
  before: Progress,
  cursor: number,
): Promise<void> | undefined {
  const now = clock()
  const isKnown = before.last_sync !== null
  const isFresh = before.cursor === cursor && Math.abs(now - (before.last_sync ?? 0)) < cursorAgeMs
  if (isFresh) return undefined
  const saved = database.write(async (trx) => {
    // `saveSync` locks the user to add a device. As in a push, that comes before the login's lock: no deadlock.
    if (!isKnown) await lockUser(trx, userId)
    await requireLogin(trx, { userId, loginId })
    // A device that was forgotten meanwhile is added by its next pull.
    const save = isKnown ? updateSync : saveSync
    await save(trx, { user_id: userId, device_id: deviceId, last_sync: now }, cursor)
  }, userId)
  return saved.catch((error) => {
    // `isUnavailable` logs and counts the fault.
    if (!database.isUnavailable(error) || faultOf(error) !== 'full') throw error
  })
}
