import type { components } from '../../../../generated/client.ts'
import type { EntityType, PlaintextBookmark } from '../../bookmark.ts'
import type { Conflict } from './emitter.ts'

/** A version of a bookmark, in plaintext. */
export interface Version {
  event_id: string
  /** When it was made (Unix ms, by the clock of the device that made it). */
  timestamp: number
  device_id: string
  operation: components['schemas']['Operation']
  /** Null for a delete. */
  data_hash: string | null
  /** Null for a delete. */
  bookmark: PlaintextBookmark | null
  /** False for a change of this device that the service has accepted but not sent back yet. */
  confirmed: boolean
  /** The fields that an edit made here changed, named as in `Conflict`. */
  changed?: readonly string[] | undefined
  /** The values that those fields had before. Stores of version 2 lack them. */
  before?: Partial<PlaintextBookmark> | undefined
  /** True if the edits made here began with an import: nobody has set the other fields deliberately. */
  yields?: boolean | undefined
  /** True if the edits made here began with one that this device's store has forgotten, and that may have set any field. */
  madeOnForgotten?: boolean | undefined
  /** For an unconfirmed edit made here: the cursor up to which its maker had seen the service's changes. */
  base?: number | undefined
  /** After a key rotation: the prefix of the ciphertext, which names its key. */
  key?: string | undefined
  /** The versions that this version, or one before it, has replaced unseen, as the service reported. */
  overwritten?: components['schemas']['SyncEvent']['overwritten'] | undefined
}

/** Why a change was not accepted. */
export interface Refusal {
  /**
   * - `quota`: it would exceed the user's quota; the service stored nothing of it
   * - `refused`: the service calls it malformed or too large, and stored nothing of it
   * - `intercepted`: a proxy or a firewall before the service lets others through, but not this one; the sync tries again
   */
  reason: 'quota' | 'refused' | 'intercepted'
  /** HTTP status; 0 if nothing answered. */
  status: number
  /** The service's text, if the service has refused the change. */
  message: string
}

/** A change that the service has not confirmed yet. */
export interface Waiting {
  /** The change as it is pushed. If its `user_id` is another user's, it is never sent. */
  change: components['schemas']['Change'] & { user_id: string; base: number }
  /** Null for a delete. */
  bookmark: PlaintextBookmark | null
  /** True once the change was sent, so that the service may have it. */
  sent: boolean
  /** Set if the change was refused. It is not sent again until the user edits or retries it. */
  refusal?: Refusal
  /** True if another device's version lost fields to it: its `base` stays below that version, to inform that device. */
  overwrites?: boolean | undefined
  /**
   * The bookmark as an import or a restore has added it, or as it was when it was deleted before the first pull: other
   * devices may have it, too.
   */
  imported?: PlaintextBookmark | undefined
  /** An unsent delete that an import has replaced: undoing the import makes it again. */
  deletion?: Pick<components['schemas']['Change'], 'id' | 'timestamp'> | undefined
  /** True if the change must not override other devices' values: edits of the user are merged as made on `imported`. */
  yields?: boolean | undefined
}

/** Another device's delete, held until the pull that brought it has ended or the user approves it. */
export interface Held extends Version {
  /** The cursor before the delete arrived. */
  base: number
}

/** A version that could not be decrypted, or that a recovered service has lost and that only later edits are based on. */
export interface Unreadable {
  event_id: string
  timestamp: number
  /** The cursor before the version arrived. */
  base: number
  /** If its key was missing: the ciphertext's prefix, which names the key. With the key, the version is pulled again. */
  key?: string | undefined
}

/** Everything known about one bookmark, or a record of another type. Rows are never changed in place. */
export interface Row {
  /** A bookmark's id. For other types: the type, a tab character and the id. */
  readonly id: string
  /** The newest version that the service is known to have. */
  readonly version: Version | null
  /** Edits made on top of `version`, oldest first: at most one that was sent, and one that was not. */
  readonly waiting: readonly Waiting[]
  readonly held: Held | null
  readonly unreadable: Unreadable | null
  /** Edits that lost, and about which the user has not decided yet, oldest first. */
  readonly conflicts: readonly Conflict[]
  /** When a file with this existing bookmark was last imported here (Unix ms). An earlier delete loses to the import. */
  readonly importedAt?: number | undefined
  /** The fields that edits made here set before another device's version, and that this one still has. */
  readonly ownFields?: readonly string[] | undefined
}

/** The state of the sync on this device, besides the rows. */
export interface Meta {
  readonly userId: string
  /** A new id each time that an emptied store is filled again, so that other tabs notice it. */
  readonly generation?: string
  /**
   * Since the browser has emptied the store: the event ids of unsent edits that were taken back, by bookmark. A tab
   * that still has such an edit must not store it again.
   */
  readonly withdrawn?: Readonly<Record<string, string>>
  /** The sequence number (Unix ms) up to which the service's changes have been applied. */
  cursor: number
  /** Identifies the service's history that the cursor belongs to; a recovery changes it. Undefined if not known yet. */
  epoch?: string
  /** The entity types that are stored. Undefined: bookmarks alone. */
  types?: readonly EntityType[] | undefined
  /** Types that were added later. Their changes are pulled up to `since`, and not yet up to the cursor. */
  added?: { readonly types: readonly EntityType[]; readonly since: number } | undefined
  /** True if the browser has emptied the store, and not everything was pulled again. The rows are then newer than the cursor. */
  isIncomplete?: boolean
  /** The service's time minus this device's (ms). */
  clockOffset: number
  /** This device's time when it was last compared with the service's (Unix ms). Stores of version 1.1 lack it. */
  clockCheckedAt?: number
  /** The last reading of the clock for an edit (Unix ms), so that readings always increase. */
  lastTick: number
  /**
   * When the store was last compared with the service (Unix ms, this device's time); how much more the service's digest
   * covers than this device stores; and a digest for which pulling everything did not help.
   */
  digest?: { checkedAt: number; gap: string; mended?: string | undefined } | undefined
  /** After a key rotation: the prefix of ciphertexts under the newest key. */
  key?: string
  /** The prefixes of all earlier keys: nothing is sent under them, even if the service offers an old keyring again. */
  replaced?: readonly string[]
  /** Event ids of this device's edits that lost and were reported: the service has yet to settle their conflicts. */
  told?: readonly string[]
  /** The current id, by each id that it has had: it gets a new one after a copy of the store made edits under its id. */
  deviceIds?: Readonly<Record<string, string>>
  /** When the last pull ended (Unix ms); 0 if there was none. */
  lastSync: number
  /** True while deletes are held until the user approves them. */
  guarding: boolean
}

/** The stored rows and meta. In a new store, `meta` is undefined. */
export interface Stored {
  meta: Meta | undefined
  rows: Row[]
}

/** The browser has emptied the store since it was read. */
export class StoreEmptiedError extends Error {
  override readonly name = 'StoreEmptiedError'
}

/**
 * Keeps one user's bookmarks on this device, in plaintext, and the changes that have not been sent yet. All methods
 * throw StorageFullError if there is no room, and those that read or write StoreVersionError if a newer version of the
 * app has changed it, and StoreBlockedError if they have waited in vain for it to be opened: then the engine tries
 * again.
 */
export interface Store {
  /** True if other tabs may use the same store: the engine then takes turns with them. */
  readonly shared: boolean
  /**
   * Called before anything else if there will be rows of other types than bookmarks: earlier versions of this package, which
   * would take them for bookmarks, must not open the store any more.
   */
  holdTypes?(): void
  /** Calls the listener when a newer version of the app takes over the store; only if others may use it meanwhile. */
  onOutdated?(listener: () => void): void
  load(): Promise<Stored>
  /** Reads those of the rows that exist, and the meta. */
  read(ids: readonly string[]): Promise<Stored>
  /**
   * Writes all or nothing; resolves once it would survive a crash. A blank row is removed.
   *
   * @throws StoreEmptiedError the store has lost everything since it was read, and nothing was written; only for stores that
   * a browser may empty
   */
  write(rows: readonly Row[], meta: Meta): Promise<void>
  /** Deletes everything, also what a newer version has stored. The store cannot be used afterwards. */
  wipe(): Promise<void>
  close(): void
}
