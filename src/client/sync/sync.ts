import type { Client } from '../api/client.ts'
import type { TreeNode } from '../bookmark/tree.ts'
import type { EntityType, OpenedExport, PlaintextBookmark } from '../bookmark.ts'
import type { Keys } from '../crypto/keys.ts'
import { assertId } from '../ids.ts'
import { type Clock, systemClock } from '../timing/clock.ts'
import { type RemoveOptions, removeBookmarks, type Turn } from './edits/edit.ts'
import type { ImportOptions, ImportReport, RestoreOptions } from './edits/import.ts'
import type { Place } from './edits/move.ts'
import { type PutOptions, putBookmarks, type Update, updateBookmarks } from './edits/put.ts'
import { listRefused, type Quarantined } from './edits/quarantine.ts'
import type { Named } from './edits/refused.ts'
import { createEngine } from './engine.ts'
import type { SyncExplanation } from './exchange/explain.ts'
import type { OpenWebSocket, Transport } from './exchange/transport.ts'
import { type Deferred, type LoadDeferred, Run, type SignOutOptions } from './life/run.ts'
import type { SearchOptions, SearchQuery } from './search/search.ts'
import type { Conflict, SyncEvents, SyncStatus } from './store/emitter.ts'
import { entityTypes, rowKey } from './store/key.ts'
import type { Replica } from './store/replica.ts'
import { viewOf } from './store/row.ts'
import type { Store } from './store/store.ts'
import { aloneInStore, createTabs, type Tabs } from './store/tabs.ts'
import type { Selection } from './view/selections.ts'

/** The options of `createSync`. */
export interface SyncOptions {
  /** From `createClient`. */
  client: Client
  /** From `createVault`, `openVault` or `deriveKeys`. */
  keys: Keys
  /** The signed-in user's `user_id`. */
  userId: string
  /** The same `deviceId` as the client's. */
  deviceId: string
  /** `indexedDbStore(userId)` in browsers; elsewhere `memoryStore()` or, in Node, `fileStore(path)`. */
  store: Store
  /** The types that the app wants. Of others, only pending edits are stored and synced. Default: `['bookmark']`. */
  types?: readonly EntityType[] | undefined
  /** Default: `createTabs(userId)` if other tabs share the store. */
  tabs?: Tabs | undefined
  /** Default: the platform's WebSocket. In Node, pass one that sends the session cookie. */
  webSocket?: OpenWebSocket | undefined
  clock?: Clock | undefined
  /** Returns a number from 0 up to, but not including, 1. Default: `Math.random`. */
  random?: (() => number) | undefined
  /** Stops the sync when aborted. */
  signal?: AbortSignal | undefined
}

/** The options of `adoptKeys`. */
export interface AdoptKeysOptions {
  /** Called for each batch of at most 500 records. `done` were re-encrypted, of `total` that must be. */
  onProgress?: ((done: number, total: number) => void) | undefined
  signal?: AbortSignal | undefined
}

/**
 * The records of an entity type other than bookmarks. The methods are those of `Sync`, and a record has a bookmark's fields.
 *
 * Methods that edit also throw a RangeError if the sync's `types` lack the type, and a RecordError `malformed` if a record's
 * `source` is not that of the type (`groups`, `history`).
 */
export interface Records
  extends Pick<Sync, 'get' | 'isWaiting' | 'search' | 'put' | 'update' | 'remove' | 'restoreExport'> {
  /** The live records by id. Always returns the same map, which stays up to date. */
  records(): ReadonlyMap<string, Readonly<PlaintextBookmark>>
}

/** Tab groups: each is a folder with a `color`, and its tabs are in it. */
export interface Groups extends Records, Pick<Sync, 'tree' | 'contents' | 'move'> {}

/**
 * A user's bookmarks on this device, kept in sync with their other devices. Methods that edit also work offline: they
 * resolve once the edit would survive a reload; from then on, what methods return contains it. After `start`, it is sent as
 * soon as there is a network. Edits are made in the order of their calls, and one that fails does not stop the next;
 * `importBookmarks` and `restoreExport` may overlap with others. Do not modify the bookmarks that methods return: `update`
 * them, or `put` a changed copy.
 *
 * Edits of one bookmark, made at the same time in two tabs or on two devices, are merged field by field. If they set the
 * same field, the later one wins, and the other one is usually kept among the `conflicts` of its device.
 *
 * All methods that return a promise, except `stop`, read the store first. They reject with the store's error if that fails
 * (StorageFullError, for example), with UnsupportedError if the platform lacks a part, or with an AbortError after `stop`.
 * Except for `start`, `put`, `update` and `remove`, they need code that `start` loads: without a network, they reject with
 * OfflineError until it has arrived.
 */
export interface Sync {
  /** This device's id: the option's, or a new one because another store, such as a copy, makes edits under that id. */
  readonly deviceId: string
  /** Resolves once the store has been read into `bookmarks`; syncs until `stop`. Call it again after signing in again. */
  start(): Promise<void>
  /** Resolves once the sync has no timer and no socket any more. To continue, create another sync. */
  stop(): Promise<void>
  /**
   * Pulls everything new and pushes the pending changes now; also works without `start`.
   *
   * @throws SignedOutError the session has ended or belongs to another user; edits are kept
   * @throws OfflineError, ApiError, StorageFullError, RecordError (`unknown-key`: adopt the new keys), or the signal's reason
   */
  syncNow(options?: { signal?: AbortSignal | undefined }): Promise<void>

  /** Tab groups and their tabs, if `types` has `group`. */
  readonly groups: Groups
  /** The browser's history, if `types` has `history`: a record for each address, whose visits are added up. */
  readonly history: Records

  /** The live bookmark with this id. */
  get(id: string): Readonly<PlaintextBookmark> | undefined
  /** The live bookmarks by id. Always returns the same map, which stays up to date. */
  bookmarks(): ReadonlyMap<string, Readonly<PlaintextBookmark>>
  /**
   * The live bookmarks in their folders, as sorted by `buildTree`; the same on every device. Do not modify it: a folder in
   * which nothing has changed is the same object at the next call.
   */
  tree(): TreeNode[]
  /** The ids of the bookmarks in a folder, or at the top level, in the order of `tree`. */
  contents(folderId?: string): readonly string[]
  status(): SyncStatus
  /** True if the bookmark has an edit that the service has not accepted yet, even if that is a delete. */
  isWaiting(id: string): boolean
  /** This device's conflicts from all tabs, until they end; the last 100 of each bookmark. A bookmark's oldest come first. */
  conflicts(): readonly Conflict[]
  /**
   * A value that follows the bookmarks or the status, for a view to show. It remains the same (`===`) until it differs.
   *
   * @param selector computes the value, for example `({ bookmarks }) => bookmarks().size`; must return data of its own
   *   (arrays, plain objects, bookmarks) rather than the map that `bookmarks` returns
   */
  select<T>(selector: (sync: SyncReader) => T): Selection<T>
  /**
   * The bookmarks that contain every word of the text in their title, address, tags, description or the names of the
   * folders around them, best first. Words may be parts of words, in any order; case and accents do not count. `#word`
   * finds those with a tag in which a word begins with it. `{ url }` finds all with this address, `{ tag }` all with this
   * very tag, the newest first. If no bookmark has all words, those are found in which a longer word has a typo.
   *
   * @throws the signal's reason
   */
  search(query: SearchQuery, options?: SearchOptions): Promise<Readonly<PlaintextBookmark>[]>

  /**
   * The cursor up to which other devices' changes have been applied (a sequence number, Unix ms). Note it before a rewind
   * (`rewindBookmarks`): another rewind to it undoes that one. `put` and `update` take the bookmark that was seen instead.
   */
  seen(): number
  /**
   * Adds bookmarks, or changes those with the same ids in the fields that differ; all or none. An equal bookmark does
   * not count as an edit. A bookmark without a `position` stays where it is, or goes to the end of its folder. Any
   * other field that the object lacks is removed, also those that other clients store and your types do not know:
   * `update` keeps them, and so does a copy (`{ ...sync.get(id), title }`).
   *
   * @throws RecordError `invalid-id`, `too-large`; `malformed`: a field is not what the contract says, or cannot be
   *   stored as JSON
   * @throws RangeError `seen` is not a cursor
   * @throws StorageFullError nothing was stored
   */
  put(bookmarks: PlaintextBookmark | readonly PlaintextBookmark[], options?: PutOptions): Promise<void>
  /**
   * Changes fields of bookmarks; all or none. `update` is a patch, or a function that gets each bookmark and returns its patch,
   * or null to change nothing. The function runs while no other edit does, in any tab, and may be called again.
   *
   * @throws RangeError there is no such bookmark, or `seen` is not a cursor: nothing was changed
   * @throws RecordError `too-large`, `malformed`: nothing was changed
   * @throws StorageFullError nothing was changed
   */
  update(ids: string | readonly string[], update: Update, options?: PutOptions): Promise<void>
  /**
   * Deletes bookmarks; all or none. The contents of a deleted folder move to the top level; to delete them too, pass their
   * ids as well.
   *
   * @throws StorageFullError nothing was deleted
   */
  remove(ids: string | readonly string[], options?: RemoveOptions): Promise<void>
  /**
   * Moves bookmarks into a folder, either before one of the bookmarks there or to the end, in the order of the list; all or
   * none. Siblings without a position may get one.
   *
   * @throws RangeError there is no such bookmark or folder, or the folder is inside one of the bookmarks
   * @throws StorageFullError nothing was moved
   */
  move(ids: string | readonly string[], place: Place): Promise<void>
  /**
   * Adds many bookmarks in one step, such as those from `readBookmarkFile`, except those that fail. They go after the
   * existing ones, in the order of the list. Existing bookmarks stay as they are, but siblings without a position may get
   * one, and texts read in the wrong charset are repaired. Importing a file twice adds nothing twice that is still in its
   * folder: existing folders with the same titles are used again, and of the bookmarks in them those with the same `url`
   * are left out (unless `duplicates` is `keep`). What the list itself contains twice is added twice. Bookmarks of
   * `readBookmarkFile` get other ids, which are the same on every device: if two devices import the same file before they
   * have synced, its bookmarks still exist only once. An app's own ids stay. A bookmark that is too large is imported
   * without its icon, or else without its `attributes` too (`reduced`). A browser's own folders go where an extension has
   * them, unless `into` is given: its toolbar into the folder that is marked as the toolbar, whatever its title, and
   * Firefox's Other Bookmarks to the top level if an extension has made folders.
   *
   * @throws RangeError `into` is not a folder
   * @throws StorageFullError, or the signal's reason: nothing was imported
   */
  importBookmarks(bookmarks: readonly PlaintextBookmark[], options?: ImportOptions): Promise<ImportReport>
  /**
   * Restores the bookmarks of a backup that `openBackup` has opened. Missing bookmarks are added. Existing ones are not
   * changed or, with `overwrite`, are reset to the backup's version, unless they are edited while this runs. The methods of
   * `groups` and `history` do the same with the backup's `groups` and `history`, if it has them.
   *
   * @throws StorageFullError, or the signal's reason: nothing was restored
   */
  restoreExport(opened: Partial<OpenedExport>, options?: RestoreOptions): Promise<ImportReport>

  /**
   * Ends a conflict. `mine` puts back what lost, as an edit: its `fields`, or the whole bookmark if it was deleted; `theirs`
   * leaves the bookmark as it is. Changes made since `theirs` are merged with `mine`, and values that they lose are a new
   * conflict. Does nothing if the conflict has ended.
   *
   * @param conflict one of `conflicts`, as the user was shown it; or a bookmark's id, for all that it has by now
   * @throws RangeError `choice` is neither `mine` nor `theirs`
   * @throws StorageFullError nothing was changed
   */
  resolve(conflict: Conflict | string, choice: 'mine' | 'theirs'): Promise<void>

  /** The bookmarks of `status().heldDeletions`, in the order in which their deletes arrived. */
  heldDeletions(): Readonly<PlaintextBookmark>[]
  /**
   * Confirms `status().heldDeletions`: applies the other devices' deletes on this device. Pass the ids that the user
   * was shown, or their number (counted from the first), because more may have arrived since.
   *
   * @throws RangeError `shown` is neither ids nor a number
   */
  approveDeletions(shown: number | readonly string[]): Promise<void>
  /**
   * Rejects `status().heldDeletions`: undeletes the bookmarks on all devices, except links that now exist under another id.
   * Deletes that arrive within the next minute are usually held as well, even if they are few.
   */
  rejectDeletions(): Promise<void>

  /**
   * The edits that the service refused or a proxy or firewall blocked, and why. They stay on this device and hold up
   * nothing else, until 100 in a row are refused. A later edit of such a bookmark is sent instead. `start` and `syncNow`
   * retry those that exceeded the quota or were blocked. The sync also retries the blocked ones automatically.
   */
  quarantined(): Quarantined[]
  /** Sends refused edits again. Default: all of them. */
  retryQuarantined(which?: Named | readonly Named[]): Promise<void>
  /** Discards refused edits, given by bookmarks' ids or from `quarantined`. Each record is then as the service last sent it. */
  dropQuarantined(which: Named | readonly Named[]): Promise<void>

  /** Why edits wait, how the last exchanges ended, and so on: for bug reports. The result has no content and no ids. */
  explain(): Promise<SyncExplanation>
  /**
   * Calls the listener at each event; returns a function that removes the listener.
   *
   * - `change` {ids, origin}: this device (`local`) or another one (`remote`) added, changed or deleted bookmarks; also
   *   emitted for stored bookmarks when they are read
   * - `groups`, `history` {ids, origin}: the same for these records
   * - `conflict` {id, fields, mine, theirs}, with `entityType` unless it is a bookmark: an edit of this device lost to
   *   another one, and was added to `conflicts`. Null means deleted. To decide, call `resolve`
   * - `restored` {kept, pushed}: the service was recovered from a backup, and what it lost is sent again from here:
   *   `pushed` versions, `kept` of them bookmarks of which it had none. Emitted in the tab that talks to the service
   * - `mended` {missing, outdated, deleted, sent}: the store differed from the service, and everything was pulled again:
   *   ids of bookmarks that were missing here, had an older version, were still here although deleted, or that the
   *   service lacked and gets again. Emitted in the tab that talks to the service
   * - `status`: the result of `status()` has changed
   * - `error` {error, id}: in the tab that talks to the service: RecordError, a bookmark that could not be decrypted and
   *   was skipped; RollbackError, a bookmark that the service sent in an older version; ApiError with an id, an edit that
   *   the service refused (`quarantined`); StorageFullError, ApiError without an id, or OfflineError if something other
   *   than the service responded: each is retried later; RecordError `unknown-key` without an id, if another device has
   *   rotated the keys: the status has the reason `keys`; SignedOutError, if the session is another user's than `userId`.
   *   In every tab: StoreVersionError, a newer version of the app has changed the store, and this sync has stopped. In
   *   the tab itself: StoreBlockedError, another tab keeps the store from being opened, which is tried again
   */
  on<Name extends keyof SyncEvents>(event: Name, listener: (event: SyncEvents[Name]) => void): () => void

  /**
   * Switches to the keys of a vault that was opened again, or rotated, and encrypts bookmarks under the newest key that are
   * not yet; nothing else changes about them. First, the keys replace those in the `keys` that were passed to `createSync`;
   * from then on nothing is encrypted under the old ones. If it is interrupted after that, it continues at the next
   * `start`, here or on another device that has the keys.
   *
   * @throws RecordError `unknown-key`: newer keys exist
   * @throws OfflineError, SignedOutError, ApiError (413: the quota is used up), or the signal's reason: the rest remains
   */
  adoptKeys(keys: Keys, options?: AdoptKeysOptions): Promise<void>

  /**
   * Deletes bookmarks, unsettled conflicts, pending changes and keys from this device, in all tabs, and ends the
   * session. This includes the keys passed to `createSync` and the key stored by `keepMasterKey`.
   *
   * @throws UnsentChangesError there are unsent edits, and nothing was deleted; `discardUnsent` discards them
   * @throws StoreVersionError as well: there may be unsent edits, which only a newer version of the app can read
   * @throws OfflineError, ApiError, the signal's reason: everything was deleted here, but the session was not ended
   * @throws the browser's error: the session was ended, but the key stored by `keepMasterKey` may be left
   * @throws AggregateError both failed; `errors` has the browser's error first
   */
  signOut(options?: SignOutOptions): Promise<void>
}

/** The part of a sync that a selector can read. */
export type SyncReader = Pick<
  Sync,
  'get' | 'bookmarks' | 'tree' | 'contents' | 'status' | 'isWaiting' | 'conflicts' | 'groups' | 'history'
>

/** The name of each type's list in an opened backup. */
const listOf = { bookmark: 'bookmarks', group: 'groups', history: 'history' } as const

/** Creates a sync over the client's transport. From now on, the client sends the sync's device id. */
export function createSyncOfClient(loadDeferred: LoadDeferred, { client, webSocket, ...options }: SyncOptions): Sync {
  const connect = ({ clientTransport }: Deferred) => clientTransport(client, options.userId, webSocket)
  const sync = createSyncOver(connect, loadDeferred, options)
  client.as(options.userId).deviceId = () => sync.deviceId
  return sync
}

/** Creates a sync over any transport. */
export function createSyncOver(
  connect: (deferred: Deferred) => Transport,
  loadDeferred: LoadDeferred,
  { signal, types = ['bookmark'], ...options }: Omit<SyncOptions, 'client' | 'webSocket'>,
): Sync {
  const { userId, deviceId, store } = options
  assertId(userId, 'userId')
  assertId(deviceId, 'deviceId')
  const unknown = types.find((type) => !entityTypes.includes(type))
  if (unknown) throw new RangeError(`There is no entity type ${unknown}`)
  const engine = createEngine({
    ...options,
    types,
    tabs: options.tabs ?? (store.shared ? createTabs(userId) : aloneInStore()),
    clock: options.clock ?? systemClock,
    random: options.random ?? Math.random,
  })
  if (types.some((type) => type !== 'bookmark')) store.holdTypes?.()
  const run = new Run(engine, loadDeferred, connect)
  const { replica, status, emitter, selections, trees } = engine
  if (signal) run.stopAt(signal)
  const requireType = async (type: EntityType) => {
    if (!types.includes(type)) throw new RangeError(`The sync's types lack ${type}`)
    await replica.takeTypes()
  }
  const recordsOf = (type: EntityType): Records => {
    const live = replica.lives[type]
    const keys = (ids: string | readonly string[]) => [ids].flat().map((id) => rowKey(id, type))
    const edit = (work: (turn: Turn) => Promise<void>) =>
      run.edit(async (turn) => {
        await requireType(type)
        await work(turn)
      })
    return {
      get: (id) => live.get(id),
      records: () => live,
      isWaiting: (id) => replica.waiting.has(rowKey(id, type)),
      search: (query, options = {}) => run.search(type, query, options),
      // Copied, because the app may change its own objects meanwhile.
      put(bookmarks, options) {
        const copies = [bookmarks].flat().map((one) => ({ ...one }))
        return edit((turn) => putBookmarks(engine, turn, copies, options, type))
      },
      update(ids, update, options) {
        const copy = typeof update === 'function' ? update : { ...update }
        const list = keys(ids)
        return edit((turn) => updateBookmarks(engine, turn, list, copy, options))
      },
      remove(ids, options) {
        const list = keys(ids)
        return edit((turn) => removeBookmarks(engine, turn, list, options))
      },
      async restoreExport(opened, { overwrite, ...options } = {}) {
        await run.load()
        // The rest of the code may still have to be loaded: what is edited until then must stay.
        const overwritten = overwrite ? new Map(engine.replica.rows) : undefined
        return run.editWith(async ({ restoreList }, connected) => {
          await requireType(type)
          return restoreList(connected, type, opened[listOf[type]] ?? [], options, overwritten)
        }, options)
      },
    }
  }
  const groupsOf = (type: 'bookmark' | 'group'): Groups => ({
    ...recordsOf(type),
    tree: () => trees[type].read(),
    contents: (folderId) => trees[type].contents(folderId).map(({ bookmark }) => bookmark.id),
    move: (ids, place, list = [ids].flat()) =>
      run.editWith(async (deferred) => {
        await requireType(type)
        await deferred.moveBookmarks(engine, list, place, type)
      }),
  })
  const { records: bookmarks, ...own } = groupsOf('bookmark')
  const reader = {
    ...own,
    bookmarks,
    groups: groupsOf('group'),
    history: recordsOf('history'),
    status: () => status.read(),
    conflicts: () => [...replica.conflicted].flatMap((id) => replica.rows.get(id)?.conflicts ?? []),
  }
  return {
    ...reader,
    get deviceId() {
      return engine.deviceId
    },
    start: () => run.start(),
    stop: () => run.stop(),
    syncNow: (options) => run.syncNow(options?.signal),
    select: (selector) => selections.select(() => selector(reader)),
    seen: () => replica.meta.cursor,
    importBookmarks: (bookmarks, options = {}) =>
      run.editWith(async ({ importList }, connected) => {
        await requireType('bookmark')
        return importList(connected, bookmarks, options)
      }, options),
    resolve: (which, choice) => run.editWith((deferred) => deferred.resolveConflicts(engine, which, choice)),
    heldDeletions: () => listHeld(replica),
    // Listed at the call: when the edit runs, more deletes may be held.
    approveDeletions: (shown, held = listHeld(replica)) =>
      run.editWith((deferred) => deferred.approveDeletions(engine, shown, held)),
    rejectDeletions: () => run.editWith((deferred) => deferred.rejectDeletions(engine)),
    quarantined: () => listRefused(replica),
    retryQuarantined: (which) => run.editWith(({ retryRefused }) => retryRefused(engine, which)),
    dropQuarantined: (which) => run.editWith(({ dropRefused }) => dropRefused(engine, which)),
    adoptKeys: (opened, options = {}) =>
      run.editWith(({ adoptKeys }, connected) => adoptKeys(connected, opened, options.onProgress), options),
    explain: () => run.editWith((deferred) => deferred.explain(engine), {}),
    on: (event, listener) => emitter.on(event, listener),
    signOut: (options = {}) => run.signOut(options),
  }
}

/** The bookmarks that the held deletes would remove, in the order in which the deletes arrived. */
function listHeld({ meta, held, rows }: Replica): PlaintextBookmark[] {
  const base = (id: string) => rows.get(id)?.held?.base ?? 0
  const inOrder = meta.guarding ? [...held].sort((one, other) => base(one) - base(other)) : []
  return inOrder.flatMap((id) => viewOf(rows.get(id)).bookmark ?? [])
}
