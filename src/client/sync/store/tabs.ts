import { requireFeature } from '../../feature.ts'
import { abortable } from '../../timing/clock.ts'
import type { Conflict, SyncProgress, SyncReason, SyncState } from './emitter.ts'

/** The messages that tabs send each other. `hello` asks for the state; `hurry` ends waits for `Retry-After`. */
export type TabMessage =
  | { type: 'rows'; ids: string[]; origin: 'local' | 'remote'; conflicts: Conflict[] }
  | ({ type: 'state' } & TabReport)
  | { type: 'hello' }
  | { type: 'hurry' }
  | { type: 'signed-out' }

/** The state of a tab's exchange with the service: see `SyncStatus`. */
export interface TabReport {
  state: SyncState
  reason?: SyncReason | undefined
  progress?: SyncProgress | undefined
  retryAt?: number | undefined
}

/** The other tabs of the same user, with which the engine takes turns. */
export interface Tabs {
  /**
   * Runs the task while nothing else, in this tab or another, runs one under the same name. The signal ends the wait,
   * not the task.
   * - `store`: reads and writes the store
   * - `exchange`: pulls and pushes changes
   * - `sync`: leads, that is, keeps the realtime channel open and exchanges changes for all tabs
   * - `import`: finds the new bookmarks of a list, and adds them
   * - `sign-out`: wipes the store and ends the session
   */
  exclusively<T>(
    name: 'store' | 'exchange' | 'sync' | 'import' | 'sign-out',
    task: () => Promise<T>,
    signal?: AbortSignal,
  ): Promise<T>
  post(message: TabMessage): void
  listen(listener: (message: TabMessage) => void): void
  close(): void
}

/** The part of the platform that `createTabs` uses: Web Locks and a BroadcastChannel. Tests pass their own. */
export interface TabsPlatform {
  locks?: {
    request<T>(name: string, options: { signal?: AbortSignal | undefined }, task: () => Promise<T>): Promise<Awaited<T>>
  }
  channel?: {
    postMessage(message: unknown): void
    addEventListener(type: 'message', listener: (event: { data: unknown }) => void): void
    close(): void
  }
}

/**
 * Tabs that share one user's store. The tab that holds a Web Lock syncs for all. When it closes, the browser gives the lock
 * to another tab that has called `start`. All of them can edit, and they tell each other about changes by BroadcastChannel.
 *
 * Opens nothing before it is used: an app that is rendered on a server creates a sync there, and never uses it.
 *
 * @param userId the service's `user_id`
 */
export function createTabs(userId: string, { locks = globalThis.navigator?.locks, channel }: TabsPlatform = {}): Tabs {
  const open = () => {
    channel ??= new BroadcastChannel(`ebs-${userId}`)
    return channel
  }
  return {
    exclusively: async (name, task, signal) =>
      requireFeature(locks, 'Web Locks').request(`ebs-${name}-${userId}`, { signal }, task),
    post: (message) => open().postMessage(message),
    listen: (listener) =>
      open().addEventListener('message', (event) => listener((event as MessageEvent<TabMessage>).data)),
    close: () => channel?.close(),
  }
}

/** For a store that no other tab uses: tasks take turns within this engine alone. */
export function aloneInStore(): Tabs {
  const tails = new Map<string, Promise<unknown>>()
  return {
    exclusively(name, task, signal) {
      const before = tails.get(name) ?? Promise.resolve()
      const run = abortable(before, signal).then(task)
      tails.set(name, Promise.allSettled([before, run]))
      return run
    },
    post() {},
    listen() {},
    close() {},
  }
}
