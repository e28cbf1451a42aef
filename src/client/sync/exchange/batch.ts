import { QuotaExceeded } from '../../../../generated/errors.ts'
import { PushRequest } from '../../../../generated/limits.ts'
import { isEqual } from '../../bookmark/equal.ts'
import type { Keys } from '../../crypto/keys.ts'
import { sealedLength } from '../../crypto/many-records.ts'
import { ApiError, OfflineError } from '../../errors.ts'
import { type Clock, leastWaitMs } from '../../timing/clock.ts'
import { sealOne } from '../edits/edit.ts'
import type { Connected, Engine } from '../engine.ts'
import { keyOfChange, nameOf } from '../store/key.ts'
import type { Draft, Replica } from '../store/replica.ts'
import { isUnknownYet, latestTimestamp, newestOf } from '../store/row.ts'
import { correctedNow, isAhead, nextTick } from '../store/service-clock.ts'
import type { Refusal, Row, Version, Waiting } from '../store/store.ts'
import { isClockTrusted } from './correct-clock.ts'
import { presentId } from './device-copies.ts'
import { keysOf, requireNewest } from './key-marks.ts'
import { bytesOf, passageOf } from './passage.ts'

export const mostChanges = PushRequest.changes.maxItems

/** The next changes to push, at most one per bookmark. Those that failed alone come last, one by one. */
export function nextBatch(parts: Engine): Waiting[] {
  const { replica, userId } = parts
  const passage = passageOf(parts)
  const batch: Waiting[] = []
  let last: Waiting | undefined
  let bytes = 0
  for (const id of replica.waiting) {
    const next = nextOf(replica.rows.get(id))
    if (next?.change.user_id !== userId) continue
    if (passage.hasFailed(next)) {
      last ??= next
      continue
    }
    bytes += bytesOf(next)
    if (batch.length === mostChanges || (batch.length > 0 && bytes > passage.mostBytes)) break
    batch.push(next)
  }
  return batch.length === 0 && last ? [last] : batch
}

/**
 * Marks changes as sent. Must be called before they are sent, because from then on the service may have them. Returns the
 * changes to send, each with `sent`: true if the service may have it, or one before it. If a bookmark was edited since the
 * batch was made, the newer edit is sent instead, unless this device's clock must first be compared with the service's.
 *
 * @throws RecordError `unknown-key`: another tab has newer keys
 */
export async function markSent(parts: Engine, batch: readonly Waiting[]): Promise<Waiting[]> {
  if (batch.length === 0) return []
  const { replica, userId, deviceId, keys, clock } = parts
  return replica.commit(keysOfBatch(batch), 'remote', (draft) => {
    requireNewest(draft.meta, keys)
    const device_id = presentId(draft.meta, deviceId)
    return batch.flatMap(({ change }) => {
      const row = draft.get(keyOfChange(change))
      const next = nextOf(row)
      if (next?.change.user_id !== userId) return []
      if (next.change.id !== change.id && !isClockTrusted(clock, draft.meta)) return []
      const place = row.waiting.indexOf(next)
      // The change replaces the refused ones before it. If one of them was sent, the service may have it nevertheless.
      const earlier = row.waiting.slice(0, place).find((one) => one.sent)
      const sent = next.sent || earlier !== undefined
      const { operation } = place > 0 ? asReplacement((row.waiting[0] as Waiting).change, next).change : next.change
      // The contract's `made_on`: the version that this device knows. Another one under its device id is from a store's copy.
      const known = earlier?.change.id ?? newestOf(row)?.event_id ?? null
      // Not raised if the change overwrites a version: if a copy of the store made that, the service must inform the copy.
      const { made_on = known } = next.overwrites ? next.change : {}
      // The contract's `merged_up_to`. Before the first pull of an added type, none of its versions has been merged.
      const merged_up_to = isUnknownYet(row, draft.meta) ? 0 : draft.meta.cursor
      const now = { ...next, change: { ...next.change, made_on, ...(next.overwrites && { merged_up_to }) } }
      const before = next.sent
        ? now
        : { ...now, sent, change: { ...restamped(draft, row, underNewest(keys, now), clock), device_id, operation } }
      if (place > 0 || !next.sent || !isEqual(next.change, now.change)) {
        draft.set({ ...row, waiting: [{ ...before, sent: true }, ...row.waiting.slice(place + 1)] })
      }
      return before
    })
  })
}

/** An unsent change, encrypted again if the keys were rotated since it was made. */
function underNewest(keys: Keys, { change, bookmark }: Waiting): Waiting['change'] {
  const isOld = bookmark && keysOf(keys.older, change.encrypted_data?.slice(0, 12))
  return isOld ? { ...change, ...sealOne(keys, bookmark, keyOfChange(change)).sealed } : change
}

/** An unsent change, with a new timestamp if it was made while this device's clock was far ahead. */
function restamped(draft: Draft, row: Row, change: Waiting['change'], clock: Clock): Waiting['change'] {
  if (!isAhead(change.timestamp, correctedNow(clock, draft.meta))) return change
  const earlier = row.waiting.map((one) => one.change).filter(({ id }) => id !== change.id)
  const tick = nextTick(clock, draft.meta)
  draft.setMeta({ lastTick: tick })
  return { ...change, timestamp: Math.max(tick, latestTimestamp(row, earlier) + 1) }
}

/**
 * Puts refused changes back as they were before they were sent. With a `refusal`, they wait for a retry, and `error` is
 * emitted unless a later edit follows. Returns how many were still pending.
 */
export async function returnBatch(
  replica: Replica,
  batch: readonly Waiting[],
  refusal?: Refusal,
  error?: Error,
): Promise<number> {
  if (batch.length === 0) return 0
  return replica.commit(keysOfBatch(batch), 'remote', (draft) => {
    let found = 0
    for (const waiting of batch) {
      const row = draft.get(keyOfChange(waiting.change))
      const place = row.waiting.findIndex(({ change }) => change.id === waiting.change.id)
      if (place === -1) continue
      found++
      const behind = row.waiting.slice(place + 1).map((one) => asReplacement(waiting.change, one))
      const returned = refusal ? { ...waiting, refusal } : waiting
      // A later edit replaces a refused change that the service cannot have.
      const isReplaced = behind.length > 0 && !waiting.sent
      draft.set({ ...row, waiting: isReplaced ? behind : [returned, ...row.waiting.slice(place + 1)] })
      if (error && behind.length === 0) draft.errors.push({ error, ...nameOf(row.id) })
    }
    return found
  })
}

/** The edit that replaces a change which the service does not have. If that was a create, an update becomes one, too. */
export function asReplacement({ operation }: Pick<Version, 'operation'>, { change, ...edit }: Waiting): Waiting {
  const isCreate = operation === 'create' && change.operation === 'update'
  return { ...edit, change: isCreate ? { ...change, operation } : change }
}

export function keysOfBatch(batch: readonly Waiting[]): string[] {
  return batch.map(({ change }) => keyOfChange(change))
}

/** The next change to send. Refused changes are left out, but later edits are not. */
function nextOf(row: Row | undefined): Waiting | undefined {
  return row?.waiting.find(({ refusal }) => refusal === undefined)
}

/** After this many refusals in a row, the service probably refuses everything. */
const mostInARow = 100
const [quotaStatus, quotaText] = QuotaExceeded
export const overQuota: Refusal = { reason: 'quota', status: quotaStatus, message: quotaText }
/** After this many changes in a row that a proxy blocked, the edits are hardly the cause. Each attempt takes seconds. */
const mostIntercepted = 10

/** @param status of the response, which is not the service's unless it is 408; 0 without a response */
export function intercepted(status = 0): Refusal {
  return { reason: 'intercepted', status, message: 'Something before the service does not let it through' }
}

/** The service's refusals during one `pushAll`. */
export class Refusals {
  /** Keyed by operation: the least growth in bytes that exceeded the quota. */
  readonly #overQuota = new Map<string, number>()
  #inARow = 0
  #intercepted = 0

  /** Called when the service has not refused a batch. */
  reset(): void {
    this.#inARow = 0
    this.#intercepted = 0
  }

  /** @throws OfflineError or ApiError something seems to block every change, whatever its content */
  addIntercepted(error: OfflineError | ApiError): void {
    if (++this.#intercepted === mostIntercepted) throw error
  }

  /** @throws ApiError the service seems to refuse everything */
  add(replica: Replica, { change }: Waiting, error: ApiError): void {
    const growth = growthOf(replica, change)
    if (isOverQuota(error) && growth !== undefined && growth > 0) {
      this.#overQuota.set(change.operation, Math.min(growth, this.#overQuota.get(change.operation) ?? growth))
    }
    if (++this.#inARow === mostInARow) throw error
  }

  /** Finds changes that add at least as many bytes as one of their operation that exceeded the quota: they are hopeless. */
  sort(replica: Replica, batch: readonly Waiting[]): { sendable: Waiting[]; hopeless: Waiting[] } {
    const isHopeless = ({ change }: Waiting) => {
      const limit = this.#overQuota.get(change.operation)
      return limit !== undefined && (growthOf(replica, change) ?? 0) >= limit
    }
    return { sendable: batch.filter((one) => !isHopeless(one)), hopeless: batch.filter(isHopeless) }
  }
}

/** True if a proxy refused a push for its size; the service's own 413 is an ApiError. */
export function isTooLarge(error: unknown): error is OfflineError {
  return error instanceof OfflineError && error.status === 413
}

/**
 * Tests with an empty push whether the service can be reached: if so, the last push failed because of its content or size.
 * Waits a second before that.
 */
export async function passesEmpty({ transport, clock, signal }: Connected): Promise<boolean> {
  await clock.sleep(leastWaitMs, signal)
  const answer = await transport.push({ changes: [] }, { signal }).catch(() => undefined)
  signal.throwIfAborted()
  // A response that lists changes is a proxy's cached response to another push.
  return answer !== undefined && answer.accepted_ids.length + answer.conflicts.length === 0
}

/** True if a push did not arrive within the service's time limit. */
export function isTooSlow(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status === 408
}

/** True if the service refused the content of a push, and stored nothing of it. */
export function isRefusal(error: unknown): error is ApiError {
  return error instanceof ApiError && (error.status === 400 || error.status === 413)
}

export function toRefusal(error: ApiError): Refusal {
  return { reason: isOverQuota(error) ? 'quota' : 'refused', status: error.status, message: error.message }
}

function isOverQuota({ status, message }: ApiError): boolean {
  return status === quotaStatus && message === quotaText
}

/** The bytes that the change adds to the user's storage; undefined if unknown, because a deleted record keeps its ciphertext. */
function growthOf({ rows }: Replica, change: Waiting['change']): number | undefined {
  const { encrypted_data = '' } = change
  const version = rows.get(keyOfChange(change))?.version
  if (!version) return encrypted_data.length
  return version.bookmark ? encrypted_data.length - sealedLength(version.bookmark) : undefined
}
