import {
  ApiError,
  OfflineError,
  RecordError,
  SignedOutError,
  StoreBlockedError,
  StoreVersionError,
} from '../../errors.ts'
import type { Clock } from '../../timing/clock.ts'
import type { Emitter, SyncProgress, SyncReason, SyncState, SyncStatus } from '../store/emitter.ts'
import type { Replica } from '../store/replica.ts'
import type { TabReport, Tabs } from '../store/tabs.ts'

/** Changes from one progress report to the next. A change takes less than a millisecond, and a report makes all tabs work. */
const changesApart = 500
/** Exchanges of fewer changes do not set the state `syncing`: they are over so soon that it would only flicker. */
const fewest = 10

/** The sync's status, with the progress of an exchange. Emits `status` only when it differs from the one emitted last. */
export class StatusBoard {
  readonly #parts: { replica: Replica; emitter: Emitter; tabs: Tabs; clock: Clock }
  #report: TabReport = { state: 'offline' }
  #shown: string
  /** Progress of an exchange: changes done, changes done at the last report, and all changes known so far. */
  #done = 0
  #reported = 0
  #total = 0

  constructor(parts: { replica: Replica; emitter: Emitter; tabs: Tabs; clock: Clock }) {
    this.#parts = parts
    this.#shown = JSON.stringify(this.read())
  }

  /** The state without the current exchange, so never `syncing`. */
  get state(): SyncState {
    return this.#report.state
  }

  get report(): TabReport {
    return this.#report
  }

  read(): SyncStatus {
    const { meta, waiting, quarantined, held, live, conflicted, rows } = this.#parts.replica
    const conflicts = [...conflicted].reduce((sum, id) => sum + (rows.get(id)?.conflicts.length ?? 0), 0)
    const { state, progress, retryAt } = this.#report
    const reason = this.#reason()
    const isSyncing = progress !== undefined && state !== 'signed-out'
    return {
      state: isSyncing ? 'syncing' : state,
      ...(reason && { reason }),
      ...(retryAt && { retryAt }),
      ...(isSyncing && { progress }),
      lastSync: meta.lastSync,
      waiting: waiting.size,
      ...(conflicts > 0 && { conflicts }),
      ...(quarantined.size > 0 && { quarantined: quarantined.size }),
      ...(meta.guarding && held.size > 0 && { heldDeletions: { count: held.size, of: live.size } }),
    }
  }

  /**
   * Sets a state that this tab has found. Other tabs do not get `outdated` and `blocked`: they find out themselves if it is
   * true of them. An outdated tab stays so, even if its last exchange succeeds.
   */
  set(state: SyncState, reason?: SyncReason, retryAt?: number): void {
    const before = this.#report
    if (before.reason === 'outdated') return
    const progress = state === 'offline' ? undefined : before.progress
    const isNew = state !== before.state || reason !== before.reason || retryAt !== before.retryAt
    this.#change({ state, reason, progress, retryAt }, isNew && reason !== 'outdated' && reason !== 'blocked')
  }

  /** Adds changes that are still to be decrypted or pushed. */
  expectChanges(count: number): void {
    if (count === 0) return
    this.#total += count
    this.#reportProgress()
  }

  countChanges(count: number): void {
    this.#done += count
    this.#total = Math.max(this.#total, this.#done)
    if (this.#done - this.#reported >= changesApart || this.#done === this.#total) this.#reportProgress()
  }

  endExchange(): void {
    if (this.#total === 0) return
    this.#done = 0
    this.#reported = 0
    this.#total = 0
    this.#show(undefined)
  }

  #reportProgress(): void {
    if (this.#total < fewest) return
    this.#reported = this.#done
    this.#show({ done: this.#done, total: this.#total })
  }

  #show(progress: SyncProgress | undefined): void {
    this.#change({ ...this.#report, progress }, progress !== this.#report.progress)
  }

  /** Called when this tab starts. Keeps a state that the tab which talks to the service has reported, except `signed-out`. */
  begin(): void {
    const { state, reason } = this.#report
    if (state === 'signed-out' || (state === 'offline' && !reason)) this.hear({ state: 'connecting' })
  }

  /** Sets a state without reporting it to other tabs. */
  hear(report: TabReport): void {
    this.#change(report, false)
  }

  /** Reports why the sync cannot continue. Returns whether trying again can help. */
  fail(error: unknown): boolean {
    if (error instanceof SignedOutError) {
      this.set('signed-out')
      return false
    }
    const reason = this.stop(error)
    if (!(error instanceof OfflineError) || error.status !== undefined) {
      this.#parts.emitter.emit('error', { error: error instanceof Error ? error : new Error(String(error)) })
    }
    return reason !== 'keys' && reason !== 'outdated'
  }

  /** Shows why nothing can be exchanged, and with `Retry-After` until when. */
  stop(error: unknown): SyncReason {
    const reason = reasonOf(error, this.#parts.replica)
    const waitMs = askedWaitMs(error)
    this.set('offline', reason, waitMs === undefined ? undefined : this.#parts.clock.now() + waitMs)
    return reason
  }

  /** Must be called after each change of the replica. */
  refresh(): void {
    const status = this.read()
    const text = JSON.stringify(status)
    if (text === this.#shown) return
    this.#shown = text
    this.#parts.emitter.emit('status', status)
  }

  #change(report: TabReport, isPosted: boolean): void {
    this.#report = report
    if (isPosted) this.#parts.tabs.post({ type: 'state', ...report })
    this.refresh()
  }

  #reason(): SyncReason | undefined {
    const { meta, held, quarantined, rows } = this.#parts.replica
    if (this.#report.reason || this.#report.state === 'signed-out') return this.#report.reason
    if (meta.guarding && held.size > 0) return 'deletions'
    if (quarantined.size === 0) return undefined
    for (const id of quarantined) if (rows.get(id)?.waiting.at(-1)?.refusal?.reason === 'quota') return 'quota'
    return 'refused'
  }
}

/** The longest `Retry-After` (ms) that is obeyed: the service never sends a sync a longer one, but a proxy might. */
const longestWaitMs = { service: 600_000, proxy: 60_000 }

/** The `Retry-After` (ms) of an error response by the service, or by a proxy. */
export function askedWaitMs(error: unknown): number | undefined {
  const asked = error instanceof ApiError || error instanceof OfflineError ? error.retryAfterMs : undefined
  const longest = longestWaitMs[error instanceof ApiError ? 'service' : 'proxy']
  return asked === undefined ? undefined : Math.min(asked, longest)
}

function reasonOf(error: unknown, { faults }: Replica): SyncReason {
  if (error instanceof RecordError && error.fault === 'unknown-key') return 'keys'
  if (error instanceof StoreVersionError) return 'outdated'
  if (error instanceof StoreBlockedError) return 'blocked'
  const { status } = error as Partial<ApiError>
  if (status !== undefined) return status === 429 ? 'limited' : 'service'
  return faults.has(error as object) ? 'storage' : 'network'
}
