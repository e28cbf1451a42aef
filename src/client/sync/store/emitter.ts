import type { PlaintextBookmark } from '../../bookmark.ts'
import type { RecordName } from './key.ts'

/**
 * An edit, usually of this device, that lost to another edit, for the app to show and to offer again. It is stored until
 * `resolve` ends it, until the bookmark has the lost values again, or until the bookmark has 100 newer conflicts.
 */
export interface Conflict extends RecordName {
  /** Names of the fields that lost; `parentId` stands for folder and position. Empty if either version is a delete. */
  fields: readonly string[]
  /** The version that lost, or null if that was a delete. */
  mine: PlaintextBookmark | null
  /** The version that it lost to, or null if that was a delete. */
  theirs: PlaintextBookmark | null
}

/**
 * - `connecting`: `start` was called, and the first exchange has not ended yet
 * - `syncing`: ten changes or more are being pulled, decrypted or pushed (`progress`); fewer leave the state as it is
 * - `online`: in sync, and connected by WebSocket, or connecting again after it closed
 * - `polling`: in sync, but there is no WebSocket, or not yet; if it is refused, changes are pulled about every 30 s
 * - `offline`: not started, or nothing can be exchanged (`reason`); it keeps trying, except with `keys` and `outdated`
 * - `signed-out`: after `signOut`; or the session has ended or is another user's, and edits are kept for the next `start`
 */
export type SyncState = 'connecting' | 'syncing' | 'online' | 'polling' | 'offline' | 'signed-out'

/**
 * Why something waits. The first seven make the state `offline`; with the others, everything else continues.
 * - `network`: nothing responds: no network, or no service; or there was an error of another kind (`error`)
 * - `service`: it responds, but with an error (`error`): the service is at fault or busy, or what responds is not the service
 * - `limited`: the service's rate limit, or a proxy's, was exceeded (429); `retryAt` may have the time of the next request
 * - `storage`: this device's storage is full, or the browser's storage fails (`error`)
 * - `blocked`: another tab, which has an older version of the app and which the browser has frozen, keeps the store from being
 *   opened (`error`). The sync goes on once that tab is closed
 * - `outdated`: a newer version of the app has changed the store, and this one has stopped: start the newer one
 * - `keys`: another device has rotated the keys: open the vault again and call `adoptKeys`, then `start`. Edits are kept
 * - `deletions`: deletes wait for approval (`heldDeletions`)
 * - `quota`: edits would exceed the user's quota (`quarantined`)
 * - `refused`: the service refused edits, or a proxy or firewall blocked them (`quarantined`)
 */
export type SyncReason =
  | 'network'
  | 'service'
  | 'limited'
  | 'storage'
  | 'blocked'
  | 'outdated'
  | 'keys'
  | 'deletions'
  | 'quota'
  | 'refused'

/** How many changes were decrypted or pushed, of those known so far: `total` rises with each page of a long pull. */
export interface SyncProgress {
  done: number
  total: number
}

/** The state of the sync on this device, and how much waits. */
export interface SyncStatus {
  state: SyncState
  /** The most important one, if there are several. */
  reason?: SyncReason
  /** Set if a `service` or `limited` response had `Retry-After`: about when the next request follows (Unix ms, this device's). */
  retryAt?: number
  /** In the state `syncing`. */
  progress?: SyncProgress
  /** When the last pull ended (Unix ms, by the service's clock); 0 if there was none. */
  lastSync: number
  /** Number of records with an edit that the service has not accepted yet. */
  waiting: number
  /** How many of them the service refused or a proxy blocked: see `quarantined`. Absent if there are none. */
  quarantined?: number
  /** The number of other devices' deletes that wait for `approveDeletions` or `rejectDeletions`, and of all bookmarks. */
  heldDeletions?: { count: number; of: number }
  /** Number of conflicts that nobody has resolved; absent if there are none. */
  conflicts?: number
}

/** The events that listeners receive, by name. */
export interface SyncEvents {
  /** Ids of bookmarks that were added, changed or deleted. */
  change: { ids: string[]; origin: 'local' | 'remote' }
  /** The same for tab groups and their tabs, and for history entries. */
  groups: { ids: string[]; origin: 'local' | 'remote' }
  history: { ids: string[]; origin: 'local' | 'remote' }
  conflict: Conflict
  status: SyncStatus
  /** The service was recovered from a backup: `pushed` versions are sent again, `kept` of them because the record was gone. */
  restored: { kept: number; pushed: number }
  /** A repair of the store: ids of records that were missing, outdated or left over here, or that were sent again. */
  mended: Record<'missing' | 'outdated' | 'deleted' | 'sent', string[]>
  /** `id` is the record's if the error concerns one: RecordError, RollbackError, or ApiError for a refused edit. */
  error: { error: Error } & Partial<RecordName>
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
