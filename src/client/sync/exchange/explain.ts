import type { Engine } from '../engine.ts'
import type { SyncStatus } from '../store/emitter.ts'
import type { ExchangeNote } from './journal.ts'

/** The edits that wait for one reason. */
export interface WaitingEdits {
  /**
   * - `not-sent`: the next exchange sends them
   * - `no-answer`: they were sent, and no response has arrived; the next exchange sends them again
   * - `other-user`: they were made by another user than the sync's, and are never sent
   * - `quota`, `refused`: the service did not take them; `intercepted`: a proxy did not let them through; see `quarantined`
   */
  why: 'not-sent' | 'no-answer' | 'other-user' | 'quota' | 'refused' | 'intercepted'
  count: number
  /** When the oldest edit was made (Unix ms, by the service's clock). */
  oldest: number
}

/** The state of a sync, for a bug report. It has no content and no ids. */
export interface SyncExplanation {
  status: SyncStatus
  /** The sequence number up to which changes have been applied. */
  cursor: number
  /** True if the browser has emptied the store, and not everything was pulled again. */
  isIncomplete: boolean
  /** The service's time minus this device's (ms). */
  clockOffset: number
  bookmarks: number
  /** Records that cannot be decrypted. `held`: other devices' deletes that wait for approval. */
  unreadable: number
  held: number
  waiting: WaitingEdits[]
  /** True if the service seems to refuse every edit: nothing is sent until the next edit, `start` or `syncNow`. */
  isStopped: boolean
  /** The last exchanges of this tab; another tab may have the others. */
  exchanges: readonly ExchangeNote[]
}

export async function explain({ replica, outbox, userId, status, notes }: Engine): Promise<SyncExplanation> {
  const { meta, rows, live, held, waiting: unsent } = replica
  const waiting = new Map<WaitingEdits['why'], WaitingEdits>()
  for (const row of [...unsent].flatMap((id) => rows.get(id) ?? [])) {
    const last = row.waiting.at(-1)
    if (!last) continue
    const isOthers = row.waiting.some(({ change }) => change.user_id !== userId)
    const isSent = row.waiting.some(({ sent }) => sent)
    const why = isOthers ? 'other-user' : (last.refusal?.reason ?? (isSent ? 'no-answer' : 'not-sent'))
    const { count, oldest } = waiting.get(why) ?? { count: 0, oldest: Number.POSITIVE_INFINITY }
    waiting.set(why, { why, count: count + 1, oldest: Math.min(oldest, row.waiting[0]?.change.timestamp ?? oldest) })
  }
  return {
    status: status.read(),
    cursor: meta.cursor,
    isIncomplete: meta.isIncomplete ?? false,
    clockOffset: meta.clockOffset,
    bookmarks: live.size,
    unreadable: replica.unreadable.size,
    held: held.size,
    waiting: [...waiting.values()],
    isStopped: outbox.isRefused,
    exchanges: [...notes],
  }
}
