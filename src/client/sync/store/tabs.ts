import { abortable } from '../../timing/clock.ts'
import type { Conflict, SyncState } from './emitter.ts'

/** What one tab tells the others. */
export type TabMessage =
  | { type: 'rows'; ids: string[]; origin: 'local' | 'remote'; conflicts: Conflict[] }
  | { type: 'state'; state: SyncState }
  | { type: 'hello' }
  | { type: 'signed-out' }

/** The other tabs of the same user, with which the engine takes turns. */
export interface Tabs {
  /**
   * Runs the task while no other tab, and nothing else in this one, runs one under the same name. The signal ends the
   * wait, not the task.
   * - `store`: reads and writes the store
   * - `exchange`: talks with the service
   * - `sync`: leads, that is keeps the realtime channel
   * - `sign-out`: wipes the store and ends the session
   */
  exclusively<T>(
    name: 'store' | 'exchange' | 'sync' | 'sign-out',
    task: () => Promise<T>,
    signal?: AbortSignal,
  ): Promise<T>
  post(message: TabMessage): void
  listen(listener: (message: TabMessage) => void): void
  close(): void
}

/** What `createTabs` takes from the platform, for tests to put their own in its place. */
export interface TabsPlatform {
  locks?: Pick<LockManager, 'request'>
  channel?: Pick<BroadcastChannel, 'postMessage' | 'addEventListener' | 'close'>
}

/**
 * Tabs that share one user's store: one of them talks with the service (a Web Lock decides which, and passes on to the
 * next when it goes), all of them edit, and each hears of the others' changes by BroadcastChannel.
 *
 * @param userId the service's `user_id`
 */
export function createTabs(userId: string, platform: TabsPlatform = {}): Tabs {
  const { locks = navigator.locks, channel = new BroadcastChannel(`ebs-${userId}`) } = platform
  return {
    exclusively: async (name, task, signal) => locks.request(`ebs-${name}-${userId}`, signal ? { signal } : {}, task),
    post: (message) => channel.postMessage(message),
    listen: (listener) =>
      channel.addEventListener('message', (event) => listener((event as MessageEvent<TabMessage>).data)),
    close: () => channel.close(),
  }
}

/** No other tab: turns are taken within this engine alone. */
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
