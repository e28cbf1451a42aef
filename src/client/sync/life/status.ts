import { OfflineError, SignedOutError, StorageFullError } from '../../errors.ts'
import type { Emitter, SyncState, SyncStatus } from '../store/emitter.ts'
import type { Replica } from '../store/replica.ts'
import type { Tabs } from '../store/tabs.ts'

/** The sync's status. Emits `status` only when it differs from the one emitted last. */
export class StatusBoard {
  readonly #replica: Replica
  readonly #emitter: Emitter
  readonly #tabs: Tabs
  #state: SyncState = 'offline'
  #shown: string

  constructor(replica: Replica, emitter: Emitter, tabs: Tabs) {
    this.#replica = replica
    this.#emitter = emitter
    this.#tabs = tabs
    this.#shown = JSON.stringify(this.read())
  }

  get state(): SyncState {
    return this.#state
  }

  read(): SyncStatus {
    const { meta, waiting, quarantined, held, live } = this.#replica
    const refused = quarantined.size > 0 && { quarantined: quarantined.size }
    const status = { lastSync: meta.lastSync, waiting: waiting.size, ...refused }
    if (!meta.guarding || held.size === 0) return { state: this.#state, ...status }
    const state = this.#state === 'signed-out' ? this.#state : 'paused'
    return { state, ...status, heldDeletions: { count: held.size, of: live.size } }
  }

  /** Sets a state that this tab found out. */
  set(state: SyncState): void {
    if (state !== this.#state) this.#tabs.post({ type: 'state', state })
    this.hear(state)
  }

  /** Sets a state that another tab found out. */
  hear(state: SyncState): void {
    this.#state = state
    this.refresh()
  }

  /** Reports why the sync cannot continue. Returns whether trying again can help. */
  fail(error: unknown): boolean {
    if (error instanceof SignedOutError) {
      this.set('signed-out')
      return false
    }
    this.set(error instanceof StorageFullError ? 'paused' : 'offline')
    if (!(error instanceof OfflineError)) {
      this.#emitter.emit('error', { error: error instanceof Error ? error : new Error(String(error)) })
    }
    return true
  }

  /** Must be called after each change of the state or the replica. */
  refresh(): void {
    const status = this.read()
    const text = JSON.stringify(status)
    if (text === this.#shown) return
    this.#shown = text
    this.#emitter.emit('status', status)
  }
}
