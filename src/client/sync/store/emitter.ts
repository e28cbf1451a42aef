import type { PlaintextBookmark } from '../../bookmark.ts'

/** A change of an own edit that another device's won against, for the app to show and to offer again. */
export interface Conflict {
  id: string
  /** What was lost: as it was put here, or null when it was removed here. */
  mine: PlaintextBookmark | null
  /** What is there now, or null when it was removed. */
  theirs: PlaintextBookmark | null
}

/**
 * - `online`: live by WebSocket
 * - `polling`: the WebSocket is refused, changes are asked for every 30 s
 * - `offline`: the service does not answer; it is tried again
 * - `paused`: deletes wait for a yes (`heldDeletions`), or the device's storage is full; the rest goes on
 * - `signed-out`: the session is over; edits are kept and sent after the next `start`
 */
export type SyncState = 'online' | 'polling' | 'offline' | 'paused' | 'signed-out'

export interface SyncStatus {
  state: SyncState
  /** When the last pull ended (Unix ms, the service's clock); 0: never. */
  lastSync: number
  /** Bookmarks with an edit that the service has not confirmed. */
  waiting: number
  /** Deletes of other devices that wait for `approveDeletions` or `rejectDeletions`, and of how many bookmarks. */
  heldDeletions?: { count: number; of: number }
}

/** What a listener gets, by event. */
export interface SyncEvents {
  /** Bookmarks that look different now, were added or are gone. */
  change: { ids: string[]; origin: 'local' | 'remote' }
  conflict: Conflict
  status: SyncStatus
  /** `id` is the bookmark's where the error is about one: RecordError, RollbackError. */
  error: { error: Error; id?: string }
}

export class Emitter {
  readonly #listeners = new Map<keyof SyncEvents, Set<(event: never) => void>>()

  /** Returns what takes the listener off again. */
  on<Name extends keyof SyncEvents>(name: Name, listener: (event: SyncEvents[Name]) => void): () => void {
    const listeners = this.#listeners.get(name) ?? new Set()
    this.#listeners.set(name, listeners.add(listener))
    return () => listeners.delete(listener)
  }

  emit<Name extends keyof SyncEvents>(name: Name, event: SyncEvents[Name]): void {
    for (const listener of [...(this.#listeners.get(name) ?? [])]) {
      try {
        ;(listener as (event: SyncEvents[Name]) => void)(event)
      } catch (error) {
        // A fault of the app's listener shows like that of any other event's, and breaks nothing here.
        queueMicrotask(() => {
          throw error
        })
      }
    }
  }
}
