import type { components } from '../../../../generated/client.ts'
import type { EntityType, PlaintextBookmark } from '../../bookmark.ts'
import type { Conflict } from './emitter.ts'

/** One state of a bookmark, or of a record of another type, in plaintext. */
export interface Version {
  event_id: string
  /** When it was made (Unix ms, by its device's clock, corrected here by `clockOffset`), or 1 ms after the version before. */
  timestamp: number
  device_id: string
  operation: components['schemas']['Operation']
  /** Null for a delete. */
  data_hash: string | null
  /** Null for a delete, or if the content is not kept (`withoutBase`). */
  bookmark: PlaintextBookmark | null
  /** False for a change of this device that the service has not sent back yet. */
  confirmed: boolean
  /** The fields that edits made here have changed since the last version by another device, named as in `Conflict`. */
  changed?: readonly string[] | undefined
  /** The values that those fields had before. Package version 2 did not store them. */
  before?: Partial<PlaintextBookmark> | undefined
  /** The version by another device on which they were made. Its content is this one's, with `before`. */
  editedOn?: Pick<Version, 'event_id' | 'timestamp' | 'device_id' | 'operation' | 'data_hash'> | undefined
  /** True if the edits made here began with an import: only the values in `changed` were set deliberately. */
  yields?: boolean | undefined
  /** True if these edits began on an update that this device made and its store then lost: it may have set any field. */
  madeOnForgotten?: boolean | undefined
  /** For an unconfirmed edit made here: the `base` of the contract's `Change`, this device's cursor when it made the edit. */
  base?: number | undefined
  /** After a key rotation: the prefix of the ciphertext, which names its key. */
  key?: string | undefined
  /** The service's list of versions that this one, or one before it, replaced although its device had not seen them. */
  overwritten?: components['schemas']['SyncEvent']['overwritten'] | undefined
  /** True for an edit made here that may have replaced versions unseen, until the service has sent their list. */
  isUnlisted?: boolean | undefined
  /** The last version before or including this one that a device has sent again. */
  recovered?: components['schemas']['RecoveredVersion'] | undefined
}

/** Why a change was not accepted. */
export interface Refusal {
  /**
   * - `quota`: it would exceed the user's quota; the service stored nothing of it
   * - `refused`: the service calls it malformed or too large, and stored nothing of it
   * - `intercepted`: a proxy or a firewall blocks it, but lets other changes through; the sync tries again
   */
  reason: 'quota' | 'refused' | 'intercepted'
  /** HTTP status; 0 if nothing answered. */
  status: number
  /** The service's text; for `intercepted`, a text of this package. */
  message: string
}

/** A pending change: an edit that the service has not accepted yet, or a version that it has lost and gets again. */
export interface Waiting {
  /** The change to push. If its `user_id` is another user's, it is never sent. */
  change: components['schemas']['Change'] & { user_id: string; base: number }
  /** Null for a delete. */
  bookmark: PlaintextBookmark | null
  /** True once the change was sent, so that the service may have it. */
  sent: boolean
  /** Set if the change was refused. It is sent again only after a retry (`refused.ts`), or as a part of a later edit. */
  refusal?: Refusal
  /** True if another device's version loses fields to the change. `base` stays below that version: its device is informed. */
  overwrites?: boolean | undefined
  /**
   * The bookmark as an import or a restore added it, or as it was when it was deleted before the first pull: other
   * devices may have the same bookmark.
   */
  imported?: PlaintextBookmark | undefined
  /** The id and timestamp of an unsent delete that an import has replaced. Undoing the import deletes again with these. */
  deletion?: Pick<components['schemas']['Change'], 'id' | 'timestamp'> | undefined
  /** True if the change began as an import, whose values yield to other devices'. Only what differs from `imported` is an edit. */
  yields?: boolean | undefined
}

/** A held delete: another device's delete, not applied until its pull has ended or, if there are many, the user approves. */
export interface Held extends Version {
  /** The cursor before the delete arrived. Held deletes are listed by it. */
  base: number
}

/** A version without content: not decryptable, or lost by a recovered service, so that only `waiting` has edits on it. */
export interface Unreadable {
  event_id: string
  timestamp: number
  /** The cursor before the version arrived. */
  base: number
  /** If its key was missing: the ciphertext's prefix, which names the key. With the key, the version is pulled again. */
  key?: string | undefined
}

/** The stored state of one bookmark, or of a record of another type. Rows are never changed in place. */
export interface Row {
  /** A bookmark's id. For other types: the type, a tab character and the id. */
  readonly id: string
  /** The newest readable version that the service is known to have, except for a held delete. */
  readonly version: Version | null
  /** Edits made on top of `version`, oldest first: at most one that was sent, and one that was not. */
  readonly waiting: readonly Waiting[]
  readonly held: Held | null
  readonly unreadable: Unreadable | null
  /** Edits that lost, and about which the user has not decided yet, oldest first. */
  readonly conflicts: readonly Conflict[]
  /** When this bookmark, which existed, was imported here again (Unix ms). Earlier deletes by other devices lose to that. */
  readonly importedAt?: number | undefined
  /** The version on which pending edits were made, if a recovered service has lost it. */
  readonly editedLost?: Version | undefined
  /** The fields that edits made here set, and whose values other devices' later versions have kept. */
  readonly ownFields?: readonly string[] | undefined
}

/** The state of the sync on this device, besides the rows. */
export interface Meta {
  readonly userId: string
  /** A new id each time that the browser has emptied the store and a tab fills it again, so that other tabs notice. */
  readonly generation?: string
  /**
   * Only once the browser has emptied the store: the event ids of pending edits that were discarded after that, by row. A
   * tab that still has such an edit in memory must not store it again.
   */
  readonly withdrawn?: Readonly<Record<string, string>>
  /** The sequence number (Unix ms) up to which the service's changes have been applied. */
  cursor: number
  /** Identifies the history that sequence numbers belong to: it changes if the service is recovered from a backup. */
  epoch?: string
  /** The entity types that are stored. Undefined: bookmarks alone. */
  types?: readonly EntityType[] | undefined
  /** Types that were added later. Their changes are pulled up to `since`, and not yet up to the cursor. */
  added?: { readonly types: readonly EntityType[]; readonly since: number } | undefined
  /** True if the browser has emptied the store, and not everything was pulled again: rows may then be newer than the cursor. */
  isIncomplete?: boolean
  /** The service's time minus this device's (ms). */
  clockOffset: number
  /** This device's time when it was last compared with the service's (Unix ms). Package version 1.1 did not store it. */
  clockCheckedAt?: number
  /** The last reading of the clock for an edit (Unix ms), so that readings increase (until the clock is corrected). */
  lastTick: number
  /**
   * When the store was last compared with the service (Unix ms, this device's time); the service's digest minus the
   * store's; and a digest of the service for which pulling everything did not help.
   */
  digest?: { checkedAt: number; gap: string; mended?: string | undefined } | undefined
  /** After a key rotation: the prefix of ciphertexts under the newest key. */
  key?: string
  /** The prefixes of the earlier keys: nothing is sent under them, even if the service offers an old keyring again. */
  replaced?: readonly string[]
  /** Event ids of this device's edits that lost, and that the user knows of. Their conflicts are to be settled at the service. */
  told?: readonly string[]
  /** The store's current device id, by each earlier one. It gets a new one when a copy of the store edits under its id. */
  deviceIds?: Readonly<Record<string, string>>
  /** When the last pull ended (Unix ms, by the service's clock); 0 if there was none. */
  lastSync: number
  /** True while held deletes wait for the user's approval. */
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
 * Keeps one user's bookmarks on this device, in plaintext, and the changes that the service has not accepted yet. Methods
 * reject with StorageFullError if the disk is full, with StoreVersionError if a newer version of the app has changed the
 * store (but `wipe` does not), and with StoreBlockedError if it did not open in time: the engine then tries again.
 */
export interface Store {
  /** True if other tabs may use the same store: the engine then takes turns with them. */
  readonly shared: boolean
  /**
   * Called before the store is used if there will be rows of other types than bookmarks: earlier versions of this package,
   * which would take them for bookmarks, must not open the store any more.
   */
  holdTypes?(): void
  /** Calls the listener when a newer version of the app takes over the store. Stores that are not shared need not have it. */
  onOutdated?(listener: () => void): void
  load(): Promise<Stored>
  /** Reads those of the rows that exist, and the meta. */
  read(ids: readonly string[]): Promise<Stored>
  /**
   * Writes all or nothing; resolves once it would survive a crash, unless the store is in memory. A blank row is removed.
   *
   * @throws StoreEmptiedError the store has lost everything since it was read, and nothing was written; only for stores that
   * a browser may empty
   */
  write(rows: readonly Row[], meta: Meta): Promise<void>
  /** Deletes everything, also what a newer version has stored. The store must not be used afterwards. */
  wipe(): Promise<void>
  close(): void
}
