import type { PlaintextBookmark } from '../../bookmark.ts'

/** An edit of this device that lost to another device's, for the app to show and to offer again. */
export interface Conflict {
  id: string
  /** The version that lost, as it was put here, or null if it was deleted here. */
  mine: PlaintextBookmark | null
  /** The version that replaced it, or null if it was deleted. */
  theirs: PlaintextBookmark | null
}

/**
 * - `online`: connected by WebSocket
 * - `polling`: the WebSocket is refused; changes are pulled every 30 s
 * - `offline`: the service does not respond; the client keeps trying
 * - `paused`: deletes wait for approval (`heldDeletions`), or the device's storage is full; everything else continues
 * - `signed-out`: the session has ended; edits are kept and sent after the next `start`
 */
export type SyncState = 'online' | 'polling' | 'offline' | 'paused' | 'signed-out'

export interface SyncStatus {
  state: SyncState
  /** When the last pull ended (Unix ms, by the service's clock); 0 if there was none. */
  lastSync: number
  /** Number of bookmarks with an edit that the service has not confirmed. */
  waiting: number
  /** How many of them the service refused: see `quarantined`. Undefined if it refused none. */
  quarantined?: number
  /** The number of other devices' deletes that wait for `approveDeletions` or `rejectDeletions`, and of all bookmarks. */
  heldDeletions?: { count: number; of: number }
}

/** What listeners receive, by event. */
export interface SyncEvents {
  /** Ids of bookmarks that were added, changed or deleted. */
  change: { ids: string[]; origin: 'local' | 'remote' }
  conflict: Conflict
  status: SyncStatus
  /** `id` is the bookmark's if the error concerns one: RecordError, RollbackError. */
  error: { error: Error; id?: string }
}

export class Emitter<Events = SyncEvents> {
  readonly #listeners = new Map<keyof Events, Set<(event: never) => void>>()

  /** Returns a function that removes the listener. */
  on<Name extends keyof Events>(name: Name, listener: (event: Events[Name]) => void): () => void {
    const listeners = this.#listeners.get(name) ?? new Set()
    this.#listeners.set(name, listeners.add(listener))
    return () => listeners.delete(listener)
  }

  emit<Name extends keyof Events>(name: Name, event: Events[Name]): void {
    for (const listener of [...(this.#listeners.get(name) ?? [])]) {
      try {
        ;(listener as (event: Events[Name]) => void)(event)
      } catch (error) {
        // An error in an app's listener is reported like an uncaught one, and interrupts nothing here.
        queueMicrotask(() => {
          throw error
        })
      }
    }
  }
}
