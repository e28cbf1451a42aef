import type { Client } from './api.ts'
import type { OpenedExport, PlaintextBookmark } from './bookmark.ts'
import type { Keys } from './keys.ts'
import { type Clock, systemClock } from './sync/clock.ts'
import { approveDeletions, rejectDeletions } from './sync/deletions.ts'
import type { SyncEvents, SyncStatus } from './sync/emitter.ts'
import { createEngine } from './sync/engine.ts'
import { type ImportOptions, type ImportReport, importList } from './sync/import.ts'
import { moveBookmark, type Place, readTree } from './sync/move.ts'
import { type PutOptions, putBookmarks, removeBookmarks } from './sync/queue.ts'
import { type RestoreOptions, restoreList } from './sync/restore.ts'
import { Run } from './sync/run.ts'
import { type SignOutOptions, signOut } from './sync/sign-out.ts'
import type { Store } from './sync/store.ts'
import { aloneInStore, createTabs, type Tabs } from './sync/tabs.ts'
import { clientTransport, type OpenWebSocket, type Transport } from './sync/transport.ts'
import type { TreeNode } from './tree.ts'

export interface SyncOptions {
  /** From `createClient`. */
  client: Client
  /** From `createVault`, `openVault` or `deriveKeys`. */
  keys: Keys
  /** The signed-in person's `user_id`. */
  userId: string
  /** The same as the client's. */
  deviceId: string
  /** `indexedDbStore(userId)` in browsers, `memoryStore()` elsewhere. */
  store: Store
  /** Default: `createTabs(userId)` for a store that other tabs share. */
  tabs?: Tabs | undefined
  /** Default: the platform's WebSocket, which in Node needs to be given the session's cookie. */
  webSocket?: OpenWebSocket | undefined
  clock?: Clock | undefined
  /** From 0 to below 1. Default: `Math.random`. */
  random?: (() => number) | undefined
  /** Stops the sync when it aborts. */
  signal?: AbortSignal | undefined
}

type Bookmarks = PlaintextBookmark | readonly PlaintextBookmark[]

/**
 * A person's bookmarks on this device, in step with their other devices. Methods that edit resolve once the edit would
 * survive a reload, also without a network; it is sent as soon as there is one. Bookmarks that are handed out are not to
 * be changed in place: `put` a changed copy.
 *
 * All methods that return a promise read what is stored first, and reject with the store's error if that fails
 * (StorageFullError among others), or with an AbortError after `stop`.
 */
export interface Sync {
  /** Resolves once what is stored was read, so that `bookmarks` has it; keeps in step until `stop`. Again: signed in again. */
  start(): Promise<void>
  /** Resolves when nothing runs any more, no timer, no socket. Create another to go on. */
  stop(): Promise<void>
  /**
   * Pulls all that is new and pushes all that waits, now; also without `start`.
   *
   * @throws SignedOutError the session is over, or another person's; edits are kept
   * @throws OfflineError, ApiError, StorageFullError, or the signal's reason
   */
  syncNow(options?: { signal?: AbortSignal }): Promise<void>

  /** The live bookmark of this id. */
  get(id: string): Readonly<PlaintextBookmark> | undefined
  /** The live bookmarks by id; the same map, kept up to date. */
  bookmarks(): ReadonlyMap<string, Readonly<PlaintextBookmark>>
  /** The live bookmarks in their folders, as `buildTree` sorts them, alike on every device. */
  tree(): TreeNode[]
  status(): SyncStatus

  /**
   * Up to where changes of other devices were taken (a stamp, Unix ms). Where an edit takes a while, in a form, take it
   * when the form opens and give it to `put`: what another device changed meanwhile is overwritten, but not unnoticed,
   * that device gets a `conflict`.
   */
  seen(): number
  /**
   * Adds bookmarks, or puts these in place of those with the same ids; all or none. Equal ones are no edit.
   *
   * @throws RecordError `invalid-id`, `too-large`
   * @throws StorageFullError nothing was kept
   */
  put(bookmarks: Bookmarks, options?: PutOptions): Promise<void>
  /**
   * Deletes bookmarks; all or none. What was in a deleted folder moves to the top: give its ids as well to delete it.
   *
   * @throws StorageFullError nothing was deleted
   */
  remove(ids: string | readonly string[]): Promise<void>
  /**
   * Puts a bookmark into a folder, before one of the bookmarks there or last. Siblings without a position of their own
   * may get one.
   *
   * @throws RangeError there is no such bookmark or folder, or the folder is inside the bookmark
   * @throws StorageFullError nothing was moved
   */
  move(id: string, place: Place): Promise<void>
  /**
   * Adds many bookmarks at once, such as `readBookmarkFile` returns; all that can be, in one step. Bookmarks that are
   * there stay as they are. One that is too large comes without its icon and what the browser had added.
   *
   * @throws StorageFullError, or the signal's reason: nothing was imported
   */
  importBookmarks(bookmarks: readonly PlaintextBookmark[], options?: ImportOptions): Promise<ImportReport>
  /**
   * Puts the bookmarks of a backup back, as `openExport` opened it: those that are gone; those that are there stay as
   * they are, or with `overwrite` become as they were.
   *
   * @throws as `importBookmarks`
   */
  restoreExport(opened: Pick<OpenedExport, 'bookmarks'>, options?: RestoreOptions): Promise<ImportReport>

  /** The user's yes to `status().heldDeletions`: what other devices deleted goes here, too. */
  approveDeletions(): Promise<void>
  /** The user's no: what other devices deleted comes back, on all devices. */
  rejectDeletions(): Promise<void>

  /**
   * Calls the listener at each event; returns what takes it off again.
   *
   * - `change` {ids, origin}: bookmarks were added, look different or are gone, by this device (`local`) or another; also
   *   those that were stored, when they are read
   * - `conflict` {id, mine, theirs}: an edit of this device lost against another device's; `put(mine)`, or `remove(id)`
   *   where it is null, makes it again. Null stands for deleted
   * - `status`: what `status()` returns has changed
   * - `error` {error, id}: RecordError, a bookmark that does not open and was passed over; RollbackError, one that the
   *   service sent in an older version; StorageFullError, ApiError: tried again later. In the tab that talks with the
   *   service
   */
  on<Name extends keyof SyncEvents>(event: Name, listener: (event: SyncEvents[Name]) => void): () => void

  /**
   * Wipes bookmarks, queue and keys (also those given to `createSync`, and what `keepMasterKey` kept) from this device,
   * in all tabs, and ends the session.
   *
   * @throws UnsentChangesError there are edits that were not sent; nothing was done. `discardUnsent` loses them
   * @throws OfflineError, ApiError: all was wiped here, but the session could not be ended
   */
  signOut(options?: SignOutOptions): Promise<void>
}

/** Makes the sync of one person's bookmarks on this device. Nothing is read or sent before a method is called. */
export function createSync({ client, webSocket, ...options }: SyncOptions): Sync {
  return createSyncOver(clientTransport(client, webSocket), options)
}

/** The same over any transport. */
export function createSyncOver(
  transport: Transport,
  { keys, userId, deviceId, store, tabs, clock, random, signal }: Omit<SyncOptions, 'client' | 'webSocket'>,
): Sync {
  const engine = createEngine({
    transport,
    keys,
    userId,
    deviceId,
    store,
    tabs: tabs ?? (store.shared ? createTabs(userId) : aloneInStore()),
    clock: clock ?? systemClock,
    random: random ?? Math.random,
  })
  const run = new Run(engine)
  const { replica, status, emitter } = engine
  if (signal?.aborted) run.stop()
  else signal?.addEventListener('abort', () => run.stop(), { once: true })
  const loaded = async <T>(work: () => Promise<T>): Promise<T> => {
    await run.load()
    return work()
  }
  return {
    start: () => run.start(),
    stop: () => run.stop(),
    syncNow: (options) => run.syncNow(options?.signal),
    get: (id) => replica.live.get(id),
    bookmarks: () => replica.live,
    tree: () => readTree(engine),
    status: () => status.read(),
    seen: () => replica.meta.cursor,
    put: (bookmarks, options) => loaded(() => putBookmarks(engine, [bookmarks].flat(), options)),
    remove: (ids) => loaded(() => removeBookmarks(engine, [ids].flat())),
    move: (id, place) => loaded(() => moveBookmark(engine, id, place)),
    importBookmarks: (bookmarks, options = {}) => loaded(() => importList(engine, bookmarks, options)),
    restoreExport: (opened, options = {}) => loaded(() => restoreList(engine, opened, options)),
    approveDeletions: () => loaded(() => approveDeletions(engine)),
    rejectDeletions: () => loaded(() => rejectDeletions(engine)),
    on: (event, listener) => emitter.on(event, listener),
    signOut: (options = {}) => signOut(engine, run, options),
  }
}
